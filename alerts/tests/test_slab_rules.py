"""The rules on servers with classes of chunks, seen firing and resolving; and those on all caches, on a Memcached."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from alerts import pack
from alerts.alert import Alert
from alerts.gates import GATES
from alerts.packs.slabs import SLAB_PACK
from alerts.rule import Rule
from alerts.scene import Watched
from alerts.tests.scripted_memcached import Pool
from collectors.tests.conftest import Poller
from collectors.tests.conftest import poller as poller
from fleet.engines import Engine
from fleet.models import Topology

pytestmark = pytest.mark.django_db
# As often as numbers of classes are read.
EVERY = 300
Numbers = dict[str, float]
COUNTERS = ("conn_yields", "items_outofmemory", "direct_reclaims", "store_too_large")
HEALTHY: Numbers = {"accepting_conns": 1, "threads_busy_ratio": 0.2, "memory": 0.9} | dict.fromkeys(COUNTERS, 1_000.0)


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
def watched(poller: Poller, settings: Settings) -> Iterator[Pool]:
    """Two Memcached servers that clients shard over."""
    settings.ALERT_SKEW_SECONDS, settings.RETENTION_RAW_DAYS = 86_400, 30
    pack.install()
    made = Pool.of(2, poller, EVERY, int(timezone.now().timestamp()) // EVERY * EVERY - 4 * 3_600)
    made.pass_time([HEALTHY] * 2)
    yield made
    made.close()


def live(watched: Pool, times: int, numbers: Callable[[int], Numbers]) -> None:
    """Let time pass: the first server reports these numbers, the other one healthy ones."""
    for time in range(times):
        watched.pass_time([HEALTHY | numbers(time), HEALTHY])


def fired() -> set[str]:
    return set(Alert.objects.exclude(fired_at=None).values_list("rule_key", flat=True))


def test_every_rule_has_its_proof() -> None:
    assert set(PROOFS) == {given["rule"] for given in SLAB_PACK}


@pytest.mark.parametrize("key", PROOFS)
def test_a_rule_fires_and_resolves(watched: Pool, key: str) -> None:
    proof = PROOFS[key]
    Rule.objects.exclude(key=key).update(is_enabled=False)
    highest = {name: 1_000.0 + step * (proof.times - 1) for name, step in proof.growth.items()}

    live(watched, proof.times, lambda t: proof.bad | {name: 1_000.0 + s * t for name, s in proof.growth.items()})
    at_its_height = fired()
    live(watched, 10, lambda _time: highest)

    assert at_its_height == {key}
    assert set(Alert.objects.values_list("state", flat=True)) == {"resolved"}


def test_nothing_fires_on_a_healthy_pool_that_is_full(watched: Pool) -> None:
    live(watched, 8, lambda _time: {"memory": 0.98})

    assert fired() == set()


def test_common_rules_hold_for_it_too(watched: Pool) -> None:
    live(watched, 4, lambda _time: {"connected_clients": 1_000, "maxclients": 1_024})

    assert "connections-near-limit" in fired()


@pytest.mark.parametrize(("engine", "expected"), [(Engine.MEMCACHED, True), (Engine.VALKEY, False), ("", False)])
def test_only_servers_with_classes_are_judged_by_them(engine: str, expected: bool) -> None:
    gate, _words = GATES["slabs"]

    assert gate(Watched(1, "game", {}, Topology.SHARDED, 15, engine=engine)) is expected
