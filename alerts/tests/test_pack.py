"""Every rule of the default pack, seen firing and resolving; and a healthy fleet, on which none fires."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from pytest_django.fixtures import Settings

from alerts import pack
from alerts.alert import Alert
from alerts.rule import Rule
from alerts.spec import Spec
from alerts.tests.judged import Fleet, fleet
from collectors import retention, tallies
from collectors.failures import Cause
from collectors.models import NodeFact
from collectors.tallies import ERROR, NodeTallies, Tally
from fleet.models import Topology

pytestmark = pytest.mark.django_db
MINUTE = 60
WEEK = 7 * 86_400
HEALTHY = {
    "cluster_state_ok": True,
    "cluster_slots_ok": 16_384,
    "connected_slaves": 1,
    "master_link_up": True,
    "rdb_last_bgsave_ok": True,
    "loading": False,
    "maxclients": 10_000,
    "connected_clients": 200,
    "mem_fragmentation_ratio": 1.1,
    "blocked_clients": 0,
    "round_trip_seconds": 0.001,
    "replication_lag_seconds": 0.5,
    "mem_clients_normal": 1_000_000,
}
Step = Callable[[int], dict[str, float]]


def always(**hot: float) -> Step:
    return lambda minute: hot


def counting(**per_minute: float) -> Step:
    """Return counters that grow by so much each minute."""
    return lambda minute: {name: int(1_000_000 + minute * step) for name, step in per_minute.items()}


@dataclass(frozen=True)
class Proof:
    """What makes a rule fire: values minute by minute, on the first node or on all, for so many minutes."""

    bad: Step = field(default_factory=lambda: always())
    good: Step = field(default_factory=lambda: always())
    memory: Callable[[int], float] = lambda minute: 0.5
    minutes: int = 8
    policy: str = "noeviction"
    last_week: dict[str, float] | None = None
    errors: str = ""
    is_down: bool = False
    on_all: bool = False


def cpu(share: float) -> Step:
    return counting(used_cpu_user_main_thread=share * MINUTE * 1e6, used_cpu_sys_main_thread=0)


PROOFS = {
    "node-down": Proof(is_down=True, minutes=2),
    "cache-down": Proof(is_down=True, on_all=True, minutes=2),
    "memory-near-limit": Proof(memory=lambda minute: 0.85),
    "memory-full-soon": Proof(memory=lambda minute: 0.6 + minute / 1_000, minutes=30),
    "memory-rush": Proof(memory=lambda minute: 0.6 + minute / 50, minutes=6),
    "memory-uneven": Proof(memory=lambda minute: 0.79, minutes=22),
    "fragmentation": Proof(always(mem_fragmentation_ratio=1.9), memory=lambda minute: 0.6, minutes=36),
    "cpu-busy": Proof(cpu(0.8), cpu(0.1)),
    "cpu-hot-shard": Proof(cpu(0.9), cpu(0.05), minutes=12),
    "connections-near-limit": Proof(always(connected_clients=8_500), minutes=4),
    "connections-rejected": Proof(counting(rejected_connections=30), counting(rejected_connections=0), minutes=3),
    "connection-churn": Proof(
        counting(total_connections_received=120 * MINUTE),
        counting(total_connections_received=20 * MINUTE),
        minutes=22,
        last_week={"total_connections_received": 20 * MINUTE},
    ),
    "clients-blocked": Proof(always(blocked_clients=60), minutes=22, last_week={"blocked_clients": 10}),
    "evictions": Proof(counting(evicted_keys=600), counting(evicted_keys=0), minutes=12),
    "evictions-heavy": Proof(counting(evicted_keys=90_000), counting(evicted_keys=0), minutes=32, policy="allkeys-lru"),
    "hit-ratio-fell": Proof(
        counting(keyspace_hits=3_000, keyspace_misses=7_000),
        counting(keyspace_hits=9_000, keyspace_misses=1_000),
        minutes=32,
        last_week={"keyspace_hits": 9_000, "keyspace_misses": 1_000},
    ),
    "errors-oom": Proof(errors="OOM", minutes=3),
    "errors-misconf": Proof(errors="MISCONF", minutes=3),
    "errors-clusterdown": Proof(errors="CLUSTERDOWN", minutes=4),
    "errors-readonly": Proof(errors="READONLY", minutes=6),
    "errors-auth": Proof(errors="WRONGPASS", minutes=6),
    "slow-answers": Proof(always(round_trip_seconds=0.8), minutes=6),
    "loading": Proof(always(loading=True), minutes=7),
    "cluster-not-ok": Proof(always(cluster_state_ok=False, cluster_slots_ok=10_922), minutes=3, on_all=True),
    "shard-without-replica": Proof(always(connected_slaves=0), minutes=7),
    "replica-link-down": Proof(always(master_link_up=False), minutes=4, on_all=True),
    "replica-lag": Proof(always(replication_lag_seconds=90), minutes=5, on_all=True),
    "resync-loop": Proof(counting(sync_full=1), counting(sync_full=0), minutes=6),
    "save-failed": Proof(always(rdb_last_bgsave_ok=False), minutes=4),
    "client-buffers": Proof(always(mem_clients_normal=2 * 2**30), minutes=12),
}


@pytest.fixture
def watched(db: None, settings: Settings) -> Fleet:
    """A cluster of two shards with replicas, polled once a minute."""
    settings.ALERT_SKEW_SECONDS, settings.RETENTION_RAW_DAYS = 86_400, 30
    pack.install()
    made = fleet(shards=2, replicas=1)
    made.every, made.tick = MINUTE, made.tick // MINUTE * MINUTE - 7_200
    made.cache.topology, made.cache.poll_interval_seconds = Topology.CLUSTER, MINUTE
    made.cache.save()
    return made


def follow_policy(watched: Fleet, policy: str) -> None:
    NodeFact.objects.bulk_create(
        NodeFact(node=node, name="maxmemory_policy", value=policy, since=watched.at) for node in watched.nodes
    )


def live(watched: Fleet, proof: Proof, minutes: int, is_bad: bool, begin: int = 0) -> None:
    """Let minutes pass: the first node, or all, behave as the proof says, the others well."""
    nodes = watched.nodes
    affected = set(nodes if proof.on_all else nodes[:1]) if is_bad else set()
    for minute in range(begin, begin + minutes):
        watched.tick += MINUTE
        down = affected if proof.is_down else set()
        for node in down:
            watched.failed(node, Cause.REFUSED)
        good = HEALTHY | {"memory": 0.5} | proof.good(minute)
        bad = HEALTHY | {"memory": proof.memory(minute)} | proof.bad(minute)
        watched.report({node: bad if node in affected else good for node in nodes if node not in down})
        if proof.errors:
            count(watched, {node.pk: 120 if node in affected else 0 for node in nodes}, proof.errors)
        watched.judge()


def count(watched: Fleet, calls: dict[int, int], error: str) -> None:
    """Store error replies by node; one that had none is counted, too."""
    tallies.write(
        [
            NodeTallies(node_id, watched.at, MINUTE, ERROR, {error: Tally(calls=count)} if count else {})
            for node_id, count in calls.items()
        ]
    )


def remember(watched: Fleet, proof: Proof) -> None:
    """Let last week's same hours have been as the proof says: `blocked_clients` a level, the rest by the minute."""
    now, watched.tick = watched.tick, watched.tick - WEEK - 3_600
    nodes = watched.nodes
    for minute in range(4, 180, 4):
        watched.tick += 4 * MINUTE
        values = {
            name: number if name == "blocked_clients" else int(minute * number)
            for name, number in (proof.last_week or {}).items()
        }
        watched.report(dict.fromkeys(nodes, HEALTHY | values))
    retention.roll_up()
    watched.tick = now


def fired() -> set[str]:
    return set(Alert.objects.exclude(fired_at=None).values_list("rule_key", flat=True))


def test_every_rule_has_its_proof() -> None:
    assert set(PROOFS) == {given["rule"] for given in pack.OF_NODES}


@pytest.mark.parametrize("key", PROOFS)
def test_a_rule_fires_and_resolves(watched: Fleet, key: str) -> None:
    proof = PROOFS[key]
    follow_policy(watched, proof.policy)
    Rule.objects.exclude(key=key).update(is_enabled=False)
    if proof.last_week:
        remember(watched, proof)
    spec = Rule.objects.get(key=key).spec

    live(watched, proof, proof.minutes, is_bad=True)
    at_its_height = set(Alert.objects.values_list("state", flat=True))
    rest = (spec.keep + spec.window_seconds + spec.hold) // MINUTE + 3
    live(watched, proof, rest, is_bad=False, begin=proof.minutes)

    assert "firing" in at_its_height
    assert set(Alert.objects.values_list("state", flat=True)) == {"resolved"}


def test_nothing_fires_on_a_healthy_fleet(watched: Fleet) -> None:
    follow_policy(watched, "allkeys-lru")

    live(watched, Proof(good=cpu(0.2)), 40, is_bad=False)

    assert list(Alert.objects.all()) == []


def test_nothing_fires_through_a_rolling_restart(watched: Fleet) -> None:
    follow_policy(watched, "noeviction")
    live(watched, Proof(), 3, is_bad=False)
    for node in watched.nodes:
        others = {other: HEALTHY for other in watched.nodes if other != node}
        watched.tick += MINUTE
        watched.failed(node, Cause.REFUSED)
        watched.report(others)
        watched.judge()
        watched.tick += MINUTE
        watched.report(others | {node: HEALTHY | {"uptime_in_seconds": 20}})
        watched.judge()

    assert fired() == set()


def test_a_full_cache_that_evicts_is_healthy(watched: Fleet) -> None:
    follow_policy(watched, "allkeys-lru")

    live(watched, Proof(counting(evicted_keys=60), memory=lambda minute: 0.999, on_all=True), 20, is_bad=True)

    assert fired() == set()


def test_a_cache_that_does_not_tell_its_policy_counts_as_one_that_may_refuse(watched: Fleet) -> None:
    live(watched, Proof(memory=lambda minute: 0.95), 8, is_bad=True)

    assert "memory-near-limit" in fired()


def test_installing_twice_changes_nothing(db: None) -> None:
    assert (pack.install(), pack.install()) == (len(pack.PACK), 0)


def test_what_a_person_edited_is_left_alone(db: None) -> None:
    pack.install()
    Rule.objects.filter(key="loading").update(revision=2, text={"rule": "loading"})
    Rule.objects.filter(key="cpu-busy").update(text={"rule": "cpu-busy"})

    assert pack.install() == 1
    assert Rule.objects.get(key="loading").text == {"rule": "loading"}


@pytest.mark.parametrize("spec", pack.specs(), ids=lambda spec: spec.key)
def test_every_rule_says_why_and_what_to_look_at(spec: Spec) -> None:
    assert spec.title
    assert spec.why.endswith((".", "?"))
    assert spec.check.endswith((".", "?"))
