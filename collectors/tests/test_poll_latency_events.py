"""Latency events and slots of real servers as polls keep them, held against the servers' own answers."""

from collections.abc import Callable
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from collectors.models import CommandSupport, LatencyEvent, NodeFact, SlotReading
from collectors.tests.conftest import Poller, status_of
from fleet.models import Cache
from launcher.valkey import Valkey

CacheAt = Callable[..., Cache]
StartServer = Callable[..., Valkey]
ClusterFactory = Callable[..., list[Valkey]]
WATCHES_ITSELF = ("--latency-monitor-threshold", "5", "--enable-debug-command", "yes")


@pytest.fixture(autouse=True)
def at_every_poll(settings: Settings) -> None:
    settings.LATENCY_INTERVAL_SECONDS = settings.DETAIL_INTERVAL_SECONDS = settings.POLL_INTERVAL_SECONDS
    settings.SLOTS_INTERVAL_SECONDS = settings.POLL_INTERVAL_SECONDS


@pytest.fixture(params=["valkey", "redis"])
def server(request: pytest.FixtureRequest) -> Valkey:
    started: Valkey = request.getfixturevalue(f"{request.param}_server")(*WATCHES_ITSELF)
    return started


def hold_up(server: Valkey, milliseconds: int) -> None:
    server.ask("DEBUG", "SLEEP", str(milliseconds / 1000))


def kept() -> dict[int, int]:
    return {int(event.at.timestamp()): event.milliseconds for event in LatencyEvent.objects.filter(event="command")}


def test_it_keeps_what_the_server_recorded(poller: Poller, cache_at: CacheAt, server: Valkey) -> None:
    cache = cache_at(server.url)
    poller.poll(cache)
    for milliseconds in (12, 40, 25):
        hold_up(server, milliseconds)

    for _ in range(2):
        poller.poll(cache)

    own: Any = server.ask("LATENCY", "HISTORY", "command")
    assert kept() == dict(own)
    assert max(kept().values()) >= 40
    assert NodeFact.objects.get(name="latency_monitor_threshold").value == "5"


def test_it_outlives_the_servers_memory(poller: Poller, cache_at: CacheAt, server: Valkey) -> None:
    cache = cache_at(server.url)
    poller.poll(cache)
    hold_up(server, 12)
    poller.poll(cache)
    before = kept()

    server.ask("LATENCY", "RESET")
    poller.poll(cache)

    assert before == kept() != {}


@pytest.mark.parametrize("kind", ["valkey", "redis"])
def test_a_refusal_is_remembered_and_costs_nothing_else(
    kind: str, poller: Poller, cache_at: CacheAt, request: pytest.FixtureRequest
) -> None:
    server: Valkey = request.getfixturevalue(f"{kind}_server")("--latency-monitor-threshold", "1")
    server.ask("ACL", "SETUSER", "default", "-latency", "-config")
    cache = cache_at(server.url)
    for _ in range(3):
        poller.poll(cache)

    refused = set(CommandSupport.objects.filter(state="refused").values_list("command", flat=True))
    assert {"LATENCY LATEST", "CONFIG GET"} <= refused
    assert status_of(cache).failures == 0
    assert not LatencyEvent.objects.exists()
    assert not NodeFact.objects.filter(name="latency_monitor_threshold").exists()


def test_it_keeps_the_heaviest_slots_of_each_primary(
    poller: Poller, cache_at: CacheAt, own_valkey_cluster: ClusterFactory
) -> None:
    nodes = own_valkey_cluster("--cluster-slot-stats-enabled", "yes", shards=1, replicas=1)
    server = nodes[0]
    for number in range(30):
        server.ask("SET", f"{{hot}}{number}", "x" * 100)
    server.ask("SET", "cold", "x")
    cache = cache_at(server.url)
    for _ in range(3):
        poller.poll(cache)

    own: Any = server.ask("CLUSTER", "SLOT-STATS", "ORDERBY", "key-count", "LIMIT", "1", "DESC")
    newest = SlotReading.objects.latest("read_at")
    hot = max(newest.slots, key=lambda row: row[1])
    assert set(SlotReading.objects.values_list("node__role", flat=True)) == {"primary"}
    assert (hot[0], hot[1]) == (own[0][0], 30)
    assert hot[2:] == [own[0][1][index] for index in (3, 5, 7)]


def test_a_server_that_counts_no_time_tells_keys_alone(
    poller: Poller, cache_at: CacheAt, own_valkey_cluster: ClusterFactory
) -> None:
    (server,) = own_valkey_cluster(shards=1, replicas=0)
    server.ask("SET", "a", "x")
    cache = cache_at(server.url)
    for _ in range(3):
        poller.poll(cache)

    assert [row[1:] for row in SlotReading.objects.latest("read_at").slots] == [[1, None, None, None]]
    assert CommandSupport.objects.get(command="CLUSTER SLOT-STATS").state == "allowed"
