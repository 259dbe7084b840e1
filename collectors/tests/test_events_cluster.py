"""Events of real clusters and servers, as polls see them happen."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from pytest_django.fixtures import Settings

from collectors import event_watch, events
from collectors.event import Event, Kind, KnownState
from collectors.pool import Pool
from collectors.tests.conftest import Poller
from collectors.tests.test_poll_cluster import settled
from fleet.models import Cache
from launcher import valkey
from launcher.valkey import Valkey
from launcher.waiting import until

CacheAt = Callable[..., Cache]
StartCluster = Callable[..., list[Valkey]]
StartValkey = Callable[..., Valkey]
UNREADABLE = {"run_id": "", "process": "", "uptime": "not a number"}


def watched_cluster(poller: Poller, cache_at: CacheAt, servers: list[Valkey]) -> Cache:
    """Return a cluster of which everything is known, so that only what happens next is an event."""
    cache = cache_at(servers[0].url)
    assert until(lambda: settled(poller, cache, len(servers)), 10)
    poller.poll(cache)
    assert not Event.objects.exists()
    return cache


def happens(poller: Poller, cache: Cache, kind: Kind, seconds: float = 15, **fields: object) -> bool:
    found = Event.objects.filter(cache=cache, kind=kind, **fields)
    return until(lambda: bool(poller.poll(cache)) and found.exists(), seconds, step=0.2)


def on_top(cache: Cache) -> list[str]:
    return sorted(Event.objects.filter(cache=cache).on_top().values_list("kind", flat=True))


def node_id(cache: Cache, server: Valkey) -> int:
    return cache.nodes.get(port=server.port).pk


def test_it_tells_a_failover_on_command_as_one_story(
    poller: Poller, cache_at: CacheAt, own_valkey_cluster: StartCluster
) -> None:
    servers = own_valkey_cluster()
    cache = watched_cluster(poller, cache_at, servers)

    servers[3].ask("CLUSTER", "FAILOVER")

    assert happens(poller, cache, Kind.FAILOVER)
    assert until(lambda: bool(poller.poll(cache)) and cache.nodes.filter(role="primary").count() == 3, 10)
    assert on_top(cache) == [Kind.FAILOVER]
    story = Event.objects.get(kind=Kind.FAILOVER)
    assert (story.data["from"]["id"], story.data["to"]["id"]) == (
        node_id(cache, servers[0]),
        node_id(cache, servers[3]),
    )
    assert not story.data["is_forced"]
    assert {node["role"] for node in story.data["after"]} == {"primary", "replica"}


def test_it_tells_a_failover_after_a_kill_as_one_story(
    poller: Poller, cache_at: CacheAt, own_valkey_cluster: StartCluster
) -> None:
    servers = own_valkey_cluster("--cluster-node-timeout", "1000")
    cache = watched_cluster(poller, cache_at, servers)

    servers[0].kill()

    assert happens(poller, cache, Kind.FAILOVER)
    assert until(lambda: bool(poller.poll(cache)) and cache.nodes.get(port=servers[0].port).role == "", 10)
    assert cache.nodes.filter(role="primary").count() == 3
    story = Event.objects.get(kind=Kind.FAILOVER)
    assert story.data["is_forced"]
    assert story.data["old_answered_at"]
    servers[0].start()
    assert happens(poller, cache, Kind.RESTART, story=story)
    assert until(lambda: bool(poller.poll(cache)) and cache.nodes.get(port=servers[0].port).role == "replica", 10)
    assert on_top(cache) == [Kind.FAILOVER]
    outage = Event.objects.get(kind=Kind.UNREACHABLE)
    assert outage.until
    assert outage.nodes[0]["is_restarted"]
    assert not outage.data["stale_possible"]


def test_it_goes_on_where_another_worker_stopped(poller: Poller, cache_at: CacheAt, valkey_server: StartValkey) -> None:
    server = valkey_server("--maxmemory", "64mb")
    cache = cache_at(server.url)
    poller.poll(cache)
    poller.pool.close()
    poller.pool = Pool()
    server.kill()
    server.start()
    server.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")

    poller.poll(cache)
    poller.poll(cache)

    assert on_top(cache) == [Kind.CONFIG, Kind.RESTART]
    changed = Event.objects.get(kind=Kind.CONFIG)
    assert changed.data["changes"] == {"maxmemory_policy": ["noeviction", "allkeys-lru"]}


def test_it_tells_limits_that_changed(poller: Poller, cache_at: CacheAt, valkey_server: StartValkey) -> None:
    server = valkey_server("--maxmemory", "64mb", "--maxclients", "100")
    cache = cache_at(server.url)
    poller.poll(cache)
    server.ask("CONFIG", "SET", "maxmemory", "32mb")
    server.ask("CONFIG", "SET", "maxclients", "90")

    poller.poll(cache)

    changed = Event.objects.get()
    assert changed.data["changes"] == {"maxmemory": [64 * 2**20, 32 * 2**20], "maxclients": [100, 90]}


def test_a_node_that_was_cut_off_may_serve_stale_data(
    poller: Poller, cache_at: CacheAt, valkey_server: StartValkey, short_timeouts: None
) -> None:
    server = valkey_server()
    cache = cache_at(server.url)
    poller.poll(cache)
    server.pause()
    for _ in range(3):
        poller.poll(cache)
    outage = Event.objects.get()
    assert (outage.kind, outage.until, outage.goes_on) == (Kind.UNREACHABLE, None, True)
    server.resume()

    assert happens(poller, cache, Kind.UNREACHABLE, until__isnull=False)

    outage.refresh_from_db()
    assert outage.data["stale_possible"]
    assert outage.nodes[0]["is_restarted"] is False
    assert outage.count == 1


def test_a_node_that_flaps_makes_one_event(poller: Poller, cache_at: CacheAt, valkey_server: StartValkey) -> None:
    server = valkey_server()
    cache = cache_at(server.url)
    poller.poll(cache)

    for _ in range(4):
        server.kill()
        poller.poll(cache)
        server.start()
        poller.poll(cache)

    assert on_top(cache) == [Kind.RESTART, Kind.UNREACHABLE]
    outage, restart = Event.objects.get(kind=Kind.UNREACHABLE), Event.objects.get(kind=Kind.RESTART)
    assert (outage.count, restart.count) == (4, 4)
    assert outage.until
    assert outage.nodes[0]["times"] == 4


def test_a_scaling_is_one_event(
    poller: Poller, cache_at: CacheAt, own_valkey_cluster: StartCluster, valkey_server: StartValkey, settings: Settings
) -> None:
    settings.TOPOLOGY_INTERVAL_SECONDS = 1
    servers = own_valkey_cluster(shards=3, replicas=0)
    cache = watched_cluster(poller, cache_at, servers)
    new = valkey_server(*valkey.CLUSTER_OPTIONS)
    new.ask("CLUSTER", "MEET", "127.0.0.1", str(servers[0].port))
    everybody = [new, *servers]
    assert until(lambda: all("cluster_known_nodes:4" in str(one.ask("CLUSTER", "INFO")) for one in everybody), 10)
    assert happens(poller, cache, Kind.JOINED)

    move_slots(new, servers, range(3))

    assert happens(poller, cache, Kind.SLOTS)
    assert on_top(cache) == [Kind.SCALING]
    scaling = Event.objects.get(kind=Kind.SCALING)
    parts = dict(scaling.parts.values_list("kind", "data__slots"))
    assert parts == {Kind.JOINED: None, Kind.SLOTS: 3}
    assert scaling.goes_on
    assert (scaling.data["joined"], scaling.data["nodes_before"], scaling.data["nodes_after"]) == (1, 3, 4)
    end_quiet_time(scaling)
    assert happens(poller, cache, Kind.SCALING, until__isnull=False)
    scaling.refresh_from_db()
    assert scaling.data["even_at"]


def move_slots(new: Valkey, servers: list[Valkey], slots: range) -> None:
    identity = str(new.ask("CLUSTER", "MYID"))
    for slot in slots:
        for server in [new, *servers]:
            server.ask("CLUSTER", "SETSLOT", str(slot), "NODE", identity)


def end_quiet_time(scaling: Event) -> None:
    """Let the last step of a scaling lie so far back that no more are to be expected."""
    scaling.refresh_from_db()
    scaling.data["changed_at"] -= 600
    scaling.at -= timedelta(seconds=600)
    scaling.save()


def test_it_never_costs_a_sample(
    poller: Poller, cache_at: CacheAt, valkey_server: StartValkey, caplog: pytest.LogCaptureFixture
) -> None:
    server = valkey_server()
    cache = cache_at(server.url)
    poller.poll(cache)
    state = cache.known_state.state
    state["nodes"][0] |= UNREADABLE
    KnownState.objects.update(state=state)
    server.kill()
    server.start()

    poller.poll(cache)

    assert "cannot be written now" in caplog.text
    assert poller.sample(cache.nodes.get(), "is_primary") == (True,)
    assert not Event.objects.exists()


def test_what_could_not_be_written_is_told_later(
    poller: Poller, cache_at: CacheAt, valkey_server: StartValkey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_watch, "RETRY_SECONDS", 0)
    server = valkey_server("--maxmemory", "64mb")
    cache = cache_at(server.url)
    poller.poll(cache)
    good = cache.known_state.state
    KnownState.objects.update(state={**good, "nodes": [good["nodes"][0] | UNREADABLE]})
    server.ask("CONFIG", "SET", "maxmemory", "32mb")
    poller.poll(cache)
    KnownState.objects.update(state=good)

    poller.poll(cache)

    assert Event.objects.get().data["changes"] == {"maxmemory": [64 * 2**20, 32 * 2**20]}


def test_a_cache_with_another_address_begins_anew(
    poller: Poller, cache_at: CacheAt, valkey_server: StartValkey
) -> None:
    cache = cache_at(valkey_server().url)
    poller.poll(cache)
    other = valkey_server()

    Cache.objects.update(address=other.url)
    events.begin_anew(cache)
    poller.poll(cache)

    assert cache.nodes.present().filter(port=other.port).exists()
    assert not Event.objects.exists()


def test_it_says_nothing_of_a_cache_that_never_answered(poller: Poller, cache_at: CacheAt) -> None:
    cache = cache_at("redis://127.0.0.1:9")

    for _ in range(3):
        poller.poll(cache)

    assert not Event.objects.exists()
