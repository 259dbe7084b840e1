"""The rules on servers with classes of chunks, seen firing and resolving; and those on all caches, on a Memcached."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from alerts import pack
from alerts.alert import Alert
from alerts.gates import GATES
from alerts.packs.slabs import SLAB_PACK
from alerts.rule import Rule
from alerts.scene import Watched
from alerts.tests.judged import Fleet, fleet
from collectors import samples
from collectors.metrics.hot import HOT_NAMES
from collectors.models import NodeFact
from fleet.engines import Engine
from fleet.models import Topology

pytestmark = pytest.mark.django_db
# As often as numbers of classes are read.
EVERY = 300
Numbers = dict[str, float]
HEALTHY: Numbers = {"accepting_conns": 1, "threads_busy_ratio": 0.2, "threads": 4}
COUNTERS = ("conn_yields", "items_outofmemory", "direct_reclaims", "store_too_large")


@dataclass(frozen=True)
class Proof:
    """What makes a rule fire: levels, and what counters grow by each time; and for how many times."""

    bad: Numbers
    growth: Numbers
    times: int = 6


PROOFS = {
    "listener-shut": Proof({"accepting_conns": 0}, {}),
    "threads-busy": Proof({"threads_busy_ratio": 0.85}, {}),
    "connections-yield": Proof({}, {"conn_yields": 1_500}),
    "class-without-memory": Proof({}, {"items_outofmemory": 150}),
    "direct-reclaims": Proof({}, {"direct_reclaims": 3_000}, times=10),
    "values-too-large": Proof({}, {"store_too_large": 10}),
}


@pytest.fixture
def watched(db: None, settings: Settings) -> Fleet:
    """Two Memcached servers that clients shard over."""
    settings.ALERT_SKEW_SECONDS, settings.RETENTION_RAW_DAYS = 86_400, 30
    pack.install()
    made = fleet(shards=2)
    made.every, made.tick = EVERY, made.tick // EVERY * EVERY - 9_000
    made.cache.engine, made.cache.topology = Engine.MEMCACHED, Topology.SHARDED
    made.cache.poll_interval_seconds = EVERY
    made.cache.save()
    NodeFact.objects.bulk_create(
        NodeFact(node=node, name="maxmemory_policy", value="allkeys-lru", since=made.at) for node in made.nodes
    )
    return made


def live(watched: Fleet, times: int, numbers: Callable[[int], Numbers], hot: Numbers | None = None) -> None:
    """Let time pass: the first node reports these numbers, the other one healthy ones."""
    first, other = watched.nodes
    healthy = HEALTHY | dict.fromkeys(COUNTERS, 1_000.0)
    for time in range(times):
        watched.tick += EVERY
        watched.report({first: {"memory": 0.9} | (hot or {}), other: {"memory": 0.9}})
        given = {first: healthy | numbers(time), other: healthy}
        nothing: list[Any] = [None] * len(HOT_NAMES)
        samples.write([samples.NodeReading(node.pk, watched.tick, nothing, rare) for node, rare in given.items()])
        watched.judge()


def fired() -> set[str]:
    return set(Alert.objects.exclude(fired_at=None).values_list("rule_key", flat=True))


def test_every_rule_has_its_proof() -> None:
    assert set(PROOFS) == {given["rule"] for given in SLAB_PACK}


@pytest.mark.parametrize("key", PROOFS)
def test_a_rule_fires_and_resolves(watched: Fleet, key: str) -> None:
    proof = PROOFS[key]
    Rule.objects.exclude(key=key).update(is_enabled=False)
    highest = {name: 1_000.0 + step * (proof.times - 1) for name, step in proof.growth.items()}

    live(watched, proof.times, lambda t: proof.bad | {name: 1_000.0 + s * t for name, s in proof.growth.items()})
    at_its_height = fired()
    live(watched, 10, lambda _time: highest)

    assert at_its_height == {key}
    assert set(Alert.objects.values_list("state", flat=True)) == {"resolved"}


def test_nothing_fires_on_a_healthy_pool_that_is_full(watched: Fleet) -> None:
    live(watched, 8, lambda _time: {}, {"memory": 0.98})

    assert fired() == set()


def test_common_rules_hold_for_it_too(watched: Fleet) -> None:
    live(watched, 4, lambda _time: {}, {"connected_clients": 1_000, "maxclients": 1_024})

    assert "connections-near-limit" in fired()


@pytest.mark.parametrize(("engine", "expected"), [(Engine.MEMCACHED, True), (Engine.VALKEY, False), ("", False)])
def test_only_servers_with_classes_are_judged_by_them(engine: str, expected: bool) -> None:
    gate, _words = GATES["slabs"]

    assert gate(Watched(1, "game", {}, Topology.SHARDED, 15, engine=engine)) is expected
