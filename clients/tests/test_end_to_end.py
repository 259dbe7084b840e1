"""Real PHP, a real cluster, the real read path: off is proven, nothing is lost, and who lies is named."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.db import connection
from pytest_django import DjangoDbBlocker

from clients.tests.shop import Host, RunningShardwatch
from collectors import samples
from collectors.tests.cast import noon, reading
from collectors.tests.conftest import Poller
from conftest import ValkeyFactory
from fleet.models import Cache, Node
from launcher import resp
from launcher.valkey import Valkey
from launcher.waiting import until
from switches import changing, client_keys, looks, proof
from switches.models import Installation, Instance, Sighting, Switch
from switches.proof import Proof, Standing, State
from switches.tests.cast import WHY, operator

PATIENCE_SECONDS = 60.0
HOSTS = ("web1", "web2", "web3", "web4")
POLL_SECONDS = 15


@pytest.fixture
def committed(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """The database without a transaction around the test; what was empty before is empty after it."""
    with django_db_blocker.unblock():
        before = set(filled_tables())
        yield
        with connection.cursor() as cursor:
            cursor.execute("SET session_replication_role = replica")
            for table in set(filled_tables()) - before:
                cursor.execute(f'DELETE FROM "{table}"')  # noqa: S608 - names from the catalogue
            cursor.execute("UPDATE switches_installation SET epoch = 1, serial = 1")
        connection.close()


def filled_tables() -> list[str]:
    with connection.cursor() as cursor:
        names = connection.introspection.table_names(cursor)
        cursor.execute(" UNION ALL ".join(f"(SELECT '{name}' FROM \"{name}\" LIMIT 1)" for name in names))  # noqa: S608
        return [name for (name,) in cursor.fetchall()]


@pytest.fixture
def poller(committed: None) -> Iterator[Poller]:
    made = Poller()
    yield made
    made.pool.close()


@pytest.fixture
def shardwatch(committed: None) -> Iterator[RunningShardwatch]:
    server = RunningShardwatch()
    yield server
    server.stop()


@pytest.fixture
def old(poller: Poller, valkey_cluster: list[Valkey]) -> Iterator[Cache]:
    cache = Cache.objects.create(
        name="old", address=valkey_cluster[0].url, topology="cluster", poll_interval_seconds=POLL_SECONDS
    )
    found = cache.nodes.present().exclude(shard=None)
    assert until(lambda: bool(poller.poll(cache)) and found.count() == 6, PATIENCE_SECONDS)
    yield cache
    for server in valkey_cluster[:3]:
        server.ask("FLUSHALL")


@pytest.fixture
def new_server(valkey_server: ValkeyFactory) -> Valkey:
    return valkey_server()


@pytest.fixture
def switch(old: Cache, new_server: Valkey) -> Switch:
    new = Cache.objects.create(
        name="new", address=new_server.url, topology="standalone", poll_interval_seconds=POLL_SECONDS
    )
    given = {"cache_now": old, "cache_next": new, "ttl_seconds": 1}
    return changing.create(operator(), "user-cache", given, WHY)


@pytest.fixture
def hosts(php: str, shardwatch: RunningShardwatch, switch: Switch, tmp_path: Path) -> Iterator[dict[str, Host]]:
    _, key = client_keys.issue(operator(), "shop", [])
    named = {name: Host.start(php, shardwatch.url, key, tmp_path, name) for name in HOSTS}
    named["liar"] = Host.start(php, shardwatch.url, key, tmp_path, "liar", lies=True)
    yield named
    for host in named.values():
        host.kill()


def look(switch: Switch, since: int, more: int = 0) -> Proof:
    """Return what is known after six polls that began so many seconds after noon, each after `more` commands.

    Time is passed; counters and client lists are real.
    """
    cache, ended = switch.cache_now, since + 6 * POLL_SECONDS
    assert cache is not None
    nodes = list(cache.nodes.present())
    Switch.objects.filter(pk=switch.pk).update(stepped_at=noon(since))
    Instance.objects.filter(switch=switch).update(behind_at=None)
    for seconds in range(since, ended, POLL_SECONDS):
        wanted = commands(nodes) + more
        assert eventually(lambda wanted=wanted: commands(nodes) >= wanted)
        samples.write([reading(node, seconds, total_commands_processed=commands([node])) for node in nodes])
    Sighting.objects.filter(switch=switch).update(begun_at=noon(since))
    assert looks.look(switch.pk)
    switch.refresh_from_db()
    return proof.of(switch, noon(ended))


def commands(nodes: list[Node]) -> int:
    told = [str(resp.ask((node.host, node.port), "INFO", "stats")) for node in nodes]
    return sum(int(one.partition("total_commands_processed:")[2].split()[0]) for one in told)


def applied(switch: Switch, *names: str) -> bool:
    """Return whether these instances reported the revision of the day."""
    switch.refresh_from_db()
    readers = proof.of(switch, datetime.now(UTC)).standing(Standing.APPLIED)
    return set(names) <= {reader.name for reader in readers}


def names_at(server: Valkey) -> set[str]:
    """Return which hosts are connected."""
    return set(re.findall(r" name=(web\d|liar) ", str(server.ask("CLIENT", "LIST"))))


def keys_at(servers: list[Valkey]) -> int:
    return sum(int(str(server.ask("DBSIZE"))) for server in servers)


def eventually(claim: object) -> bool:
    assert callable(claim)
    return until(claim, PATIENCE_SECONDS)


def test_off_is_proven_and_a_repoint_loses_nothing(
    hosts: dict[str, Host],
    switch: Switch,
    shardwatch: RunningShardwatch,
    valkey_cluster: list[Valkey],
    new_server: Valkey,
) -> None:
    everybody = (*HOSTS, "liar")
    assert eventually(lambda: applied(switch, *everybody) and keys_at(valkey_cluster[:3]) == 50)

    # Off: everybody says so, and the cache's own counters know who does not mean it.
    switch = changing.turn_off(switch, operator(), WHY)
    assert eventually(lambda: applied(switch, *everybody))
    lied = look(switch, 0, more=400)
    assert (lied.state, lied.is_quiet, [reader.name for reader in lied.liars]) == (State.DRAINING, False, ["liar"])

    assert hosts.pop("liar").stop()["errors"] == []
    proven = look(switch, 300)
    assert (proven.state, proven.is_quiet, proven.connections) == (State.DISABLED, True, 0)

    # Elsewhere, for one host of four first, then for all. The liar is gone, and forgotten sooner than in an hour.
    Instance.objects.filter(name="liar").delete()
    switch = changing.repoint(switch, operator(), WHY, switch.revision)
    switch = changing.turn_on(switch, operator(), WHY, switch.revision, 25)
    assert eventually(lambda: applied(switch, *HOSTS) and len(names_at(new_server)) == 1)
    switch = changing.turn_on(switch, operator(), WHY, switch.revision)
    assert eventually(lambda: names_at(new_server) == set(HOSTS))

    # A dead Shardwatch changes nothing.
    shardwatch.stop()
    new_server.ask("CONFIG", "RESETSTAT")
    assert eventually(lambda: gets(new_server) >= 500)
    assert names_at(new_server) == set(HOSTS)
    assert not any(names_at(server) for server in valkey_cluster[:3])

    ended = [host.stop() for host in hosts.values()]
    assert all(one["requests"] > 100 for one in ended)
    assert [one["errors"] for one in ended] == [[]] * 4


def gets(server: Valkey) -> int:
    found = re.search(r"cmdstat_get:calls=(\d+)", str(server.ask("INFO", "commandstats")))
    return int(found[1]) if found else 0


@pytest.mark.django_db
def test_it_leaves_the_database_as_it_was() -> None:
    assert not Cache.objects.exists()
    assert not Switch.objects.exists()
    assert not Installation.objects.exclude(epoch=1).exists()
