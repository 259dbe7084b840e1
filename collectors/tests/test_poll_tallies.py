"""Counts by command and error as polls of real servers leave them, held against the servers' own words."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from pytest_django.fixtures import Settings

from collectors import tallies, tally_queries
from collectors.models import CommandSupport
from collectors.tallies import COMMAND, ERROR
from collectors.tally_queries import Scope, Totals
from collectors.tests import peers
from collectors.tests.conftest import Poller
from collectors.tests.peers import Peer, Script
from fleet.models import Cache
from launcher.resp import ReplyError
from launcher.valkey import Valkey

CacheAt = Callable[..., Cache]
StartServer = Callable[..., Valkey]


@pytest.fixture(autouse=True)
def at_every_poll(settings: Settings) -> None:
    settings.COMMANDS_INTERVAL_SECONDS = settings.LATENCY_INTERVAL_SECONDS = settings.POLL_INTERVAL_SECONDS


@pytest.fixture(params=["valkey", "redis"])
def server(request: pytest.FixtureRequest) -> Valkey:
    """A Valkey of today, and Debian's Redis 7.0."""
    started: Valkey = request.getfixturevalue(f"{request.param}_server")()
    return started


def totals(cache: Cache, poller: Poller, kind: str = COMMAND) -> dict[str, Totals]:
    at = datetime.fromtimestamp(poller.tick, UTC)
    ids = list(cache.nodes.values_list("pk", flat=True))
    found = tally_queries.summary(Scope(ids, kind, at - timedelta(hours=1), at + timedelta(seconds=1)))
    return {one.name: one for one in found.totals}


def own_count(server: Valkey, command: str, field: str) -> int:
    """Return what the server says of a command."""
    found = re.search(rf"cmdstat_{re.escape(command)}:.*?\b{field}=(\d+)", str(server.ask("INFO", "commandstats")))
    return int(found[1]) if found else 0


def refused(server: Valkey, *words: str) -> None:
    with pytest.raises(ReplyError):
        server.ask(*words)


def test_it_counts_what_the_server_counts(poller: Poller, cache_at: CacheAt, server: Valkey) -> None:
    cache = cache_at(server.url)
    server.ask("SET", "k", "before the first poll")
    poller.poll(cache)
    for number in range(50):
        server.ask("SET", f"k{number}", "x" * 100)
        server.ask("GET", f"k{number}")
    server.ask("LPUSH", "list", "1")
    refused(server, "GET", "list")
    refused(server, "SET")

    poller.poll(cache)

    found = totals(cache, poller)
    assert (found["set"].calls, found["set"].rejected) == (50, 1)
    assert (found["get"].calls, found["get"].failed) == (own_count(server, "get", "calls"), 1)
    assert found["get"].usec == own_count(server, "get", "usec")
    assert sum(found["set"].buckets) == 50
    median = found["get"].percentile_usec(0.5)
    assert median is not None
    assert 0 < median < 1000


def test_it_counts_errors_by_type(poller: Poller, cache_at: CacheAt, server: Valkey) -> None:
    cache = cache_at(server.url)
    server.ask("LPUSH", "list", "1")
    refused(server, "GET", "list")
    poller.poll(cache)
    for _ in range(3):
        refused(server, "GET", "list")
    refused(server, "NOSUCH")
    refused(server, "EVAL", "return redis.error_reply('OWN <b>trouble</b>')", "0")

    poller.poll(cache)

    counted = {name: one.calls for name, one in totals(cache, poller, ERROR).items()}
    assert counted == {"WRONGTYPE": 3, "ERR": 1, "OWN": 1}


def test_it_counts_from_zero_after_a_reset(poller: Poller, cache_at: CacheAt, server: Valkey) -> None:
    cache = cache_at(server.url)
    for _ in range(20):
        server.ask("SET", "k", "x")
    poller.poll(cache)
    server.ask("CONFIG", "RESETSTAT")
    for _ in range(7):
        server.ask("SET", "k", "x")

    poller.poll(cache)

    found = totals(cache, poller)
    assert (found["set"].calls, sum(found["set"].buckets)) == (7, 7)


def test_a_reset_of_latency_events_harms_nothing(poller: Poller, cache_at: CacheAt, server: Valkey) -> None:
    cache = cache_at(server.url)
    server.ask("SET", "k", "x")
    poller.poll(cache)
    server.ask("LATENCY", "RESET")
    server.ask("SET", "k", "x")

    poller.poll(cache)

    assert sum(totals(cache, poller)["set"].buckets) == 1


def test_a_restart_is_no_interval(poller: Poller, cache_at: CacheAt, valkey_server: StartServer) -> None:
    server = valkey_server()
    cache = cache_at(server.url)
    poller.poll(cache)
    server.kill()
    server.start()
    # More than before the restart: counters alone would not show it.
    for _ in range(40):
        server.ask("PING")
        server.ask("INFO")
    poller.poll(cache)
    server.ask("PING")

    poller.poll(cache)

    assert totals(cache, poller)["ping"].calls == 1


@pytest.mark.parametrize("way", ["acl", "renamed"])
def test_without_latency_the_mean_remains(
    way: str, poller: Poller, cache_at: CacheAt, redis_server: StartServer
) -> None:
    server = redis_server(*(("--rename-command", "LATENCY", "") if way == "renamed" else ()))
    if way == "acl":
        server.ask("ACL", "SETUSER", "default", "-latency")
    cache = cache_at(server.url)
    for _ in range(3):
        server.ask("SET", "k", "x")
        poller.poll(cache)

    found = totals(cache, poller)["set"]

    assert found.usec_per_call is not None
    assert not found.has_histogram
    assert CommandSupport.objects.get(command="LATENCY HISTOGRAM").state == "refused"
    assert own_count(server, "latency|histogram", "calls") == 0


def test_it_notes_the_role_of_the_time(poller: Poller, cache_at: CacheAt, valkey_server: StartServer) -> None:
    primary = valkey_server()
    replica = valkey_server("--replicaof", f"127.0.0.1 {primary.port}")
    cache = cache_at(primary.url)
    for _ in range(4):
        poller.poll(cache)

    node = cache.nodes.get(port=replica.port)
    at = datetime.fromtimestamp(poller.tick, UTC)
    scope = Scope([node.pk], COMMAND, at - timedelta(hours=1), at + timedelta(seconds=1))

    assert tally_queries.summary(replace(scope, roles=(False,))).totals
    assert not tally_queries.summary(replace(scope, roles=(True,))).totals


def commandstats(calls: int) -> bytes:
    return peers.bulk(b"".join(b"cmdstat_made-up-%d:calls=%d,usec=%d\r\n" % (n, calls, calls * n) for n in range(500)))


def test_it_bounds_a_server_with_500_unknown_commands(
    poller: Poller, cache_at: CacheAt, peer: Callable[[Script], Peer]
) -> None:
    replies = {"INFO commandstats": commandstats(1), "INFO": peers.INFO, "CLIENT": peers.OK}
    cache = cache_at(peer(peers.answers(replies)).url)
    poller.poll(cache)
    replies["INFO commandstats"] = commandstats(3)

    poller.poll(cache)

    found = totals(cache, poller)
    assert len(found) <= tallies.NAMES_A_NODE
    assert sum(one.calls for one in found.values()) == 1_000


def test_samples_are_kept_when_counts_cannot_be(
    poller: Poller, cache_at: CacheAt, valkey_server: StartServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = cache_at(valkey_server().url)
    poller.poll(cache)
    monkeypatch.setattr(tallies, "INSERT", tallies.INSERT.replace("INSERT INTO tally_1m", "INSERT INTO tally_gone"))

    poller.poll(cache)

    assert poller.sample(cache.nodes.get(), "is_primary") == (True,)
