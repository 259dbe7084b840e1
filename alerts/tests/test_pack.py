"""Every rule of the default pack for nodes, seen firing and resolving on scripted servers; and a healthy fleet."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from alerts import pack
from alerts.alert import Alert
from alerts.rule import Rule
from alerts.spec import Spec
from alerts.tests.judged import Fleet
from alerts.tests.scripted import Cluster
from collectors import retention
from collectors.tests.conftest import Poller
from collectors.tests.conftest import poller as poller
from demo.making import SENTENCES
from launcher.checkout import ROOT

pytestmark = pytest.mark.django_db
MINUTE = 60
WEEK = 7 * 86_400
SOON_MINUTES = 12
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
    "slow-answers": Proof(always(round_trip_seconds=0.15), minutes=6),
    "loading": Proof(always(loading=True), minutes=7),
    "cluster-not-ok": Proof(always(cluster_state_ok=False, cluster_slots_ok=10_922), minutes=3, on_all=True),
    "shard-without-replica": Proof(always(connected_slaves=0), minutes=7),
    "replica-link-down": Proof(always(master_link_up=False), minutes=4, on_all=True),
    "replica-lag": Proof(always(replication_lag_seconds=90), minutes=5, on_all=True),
    "resync-loop": Proof(counting(sync_full=1), counting(sync_full=0), minutes=6),
    "save-failed": Proof(always(rdb_last_bgsave_ok=False), minutes=4),
    "append-failed": Proof(
        always(aof_enabled=True, aof_last_write_status=False),
        always(aof_enabled=True, aof_last_write_status=True),
        minutes=6,
    ),
    "client-buffers": Proof(always(mem_clients_normal=2 * 2**30), minutes=12),
}


@pytest.fixture
def watched(poller: Poller, settings: Settings) -> Iterator[Cluster]:
    """A cluster of two shards with replicas, polled once a minute from four hours ago on."""
    settings.ALERT_SKEW_SECONDS, settings.RETENTION_RAW_DAYS = 86_400, 30
    pack.install()
    tick = int(timezone.now().timestamp()) // MINUTE * MINUTE - 4 * 3_600
    made = Cluster.of(2, poller, MINUTE, tick)
    yield made
    made.close()


def settle(watched: Cluster, proof: Proof) -> None:
    """Let the nodes be found, as they are before anything goes wrong."""
    for server in watched.servers:
        server.policy = proof.policy
    first, *others = [HEALTHY | proof.good(-1)] * len(watched.servers)
    watched.pass_time([first | {"memory": proof.memory(-1)}, *others])


def live(watched: Cluster, proof: Proof, minutes: int, is_bad: bool, begin: int = 0) -> None:
    """Let minutes pass, poll by poll: the first server, or all, behave as the proof says, the others well."""
    affected = (watched.servers if proof.on_all else watched.servers[:1]) if is_bad else []
    for server in affected if proof.is_down else ():
        server.stop()
    for minute in range(begin, begin + minutes, watched.every // MINUTE):
        good = HEALTHY | {"memory": 0.5} | proof.good(minute)
        bad = HEALTHY | {"memory": proof.memory(minute)} | proof.bad(minute)
        for server in affected if proof.errors else ():
            server.errors[proof.errors] = server.errors.get(proof.errors, 0) + 120
        watched.pass_time([bad if server in affected else good for server in watched.servers])


def remember(watched: Cluster, proof: Proof) -> None:
    """Let last week's same hours have been as the proof says: `blocked_clients` a level, the rest by the minute."""
    past = Fleet(watched.cache, tick=watched.tick - WEEK - 3_600)
    for minute in range(4, 180, 4):
        past.tick += 4 * MINUTE
        values = {
            name: number if name == "blocked_clients" else int(minute * number)
            for name, number in (proof.last_week or {}).items()
        }
        past.report(dict.fromkeys(past.nodes, HEALTHY | values))
    # The days since then have no samples.
    retention.roll_up(past.at + timedelta(hours=1))


def fired() -> set[str]:
    return set(Alert.objects.exclude(fired_at=None).values_list("rule_key", flat=True))


def test_every_rule_has_its_proof() -> None:
    assert set(PROOFS) == {given["rule"] for given in pack.OF_NODES}


@pytest.mark.parametrize("key", PROOFS)
def test_a_rule_fires_and_resolves(watched: Cluster, key: str) -> None:
    proof = PROOFS[key]
    settle(watched, proof)
    Rule.objects.exclude(key=key).update(is_enabled=False)
    if proof.last_week:
        remember(watched, proof)
    spec = Rule.objects.get(key=key).spec

    # What takes long to be seen is seen by half as many polls, and so is that it is over.
    if proof.minutes > SOON_MINUTES:
        watched.every = 2 * MINUTE
    live(watched, proof, proof.minutes, is_bad=True)
    at_its_height = set(Alert.objects.values_list("state", flat=True))
    watched.every = 2 * MINUTE
    rest = (spec.keep + spec.window_seconds + spec.hold) // MINUTE + 6
    for server in watched.servers:
        server.be_there()
    live(watched, proof, rest, is_bad=False, begin=proof.minutes)

    assert "firing" in at_its_height
    assert set(Alert.objects.values_list("state", flat=True)) == {"resolved"}


def test_an_append_only_file_that_is_off_cannot_fail(watched: Cluster) -> None:
    was_off = Proof(always(aof_enabled=False, aof_last_write_status=False))
    settle(watched, was_off)

    live(watched, was_off, 6, is_bad=True)

    assert fired() == set()


def test_nothing_fires_on_a_healthy_fleet(watched: Cluster) -> None:
    well = Proof(good=cpu(0.2), policy="allkeys-lru")
    settle(watched, well)

    live(watched, well, 40, is_bad=False)

    assert list(Alert.objects.all()) == []


def test_nothing_fires_through_a_rolling_restart(watched: Cluster) -> None:
    settle(watched, Proof())
    live(watched, Proof(), 3, is_bad=False)
    for server in watched.servers:
        server.stop()
        watched.pass_time([HEALTHY] * 4)
        server.be_there()
        watched.pass_time([HEALTHY] * 4)

    assert fired() == set()


def test_a_full_cache_that_evicts_is_healthy(watched: Cluster) -> None:
    full = Proof(counting(evicted_keys=60), memory=lambda minute: 0.999, on_all=True, policy="allkeys-lru")
    settle(watched, full)

    live(watched, full, 20, is_bad=True)

    assert fired() == set()


def test_a_cache_that_does_not_tell_its_policy_counts_as_one_that_may_refuse(watched: Cluster) -> None:
    full = Proof(memory=lambda minute: 0.95, policy="")
    settle(watched, full)

    live(watched, full, 8, is_bad=True)

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


def documented() -> str:
    return (ROOT / "docs" / "default-rules.md").read_text()


def test_the_documentation_says_of_every_rule_how_to_see_it() -> None:
    named = re.findall(r"^\| (`.+?) \|", documented(), re.MULTILINE)

    assert sorted(re.findall(r"`([a-z-]+)`", ", ".join(named))) == sorted(given["rule"] for given in pack.PACK)


def test_the_troubles_that_it_names_are_those_of_the_demo() -> None:
    assert set(re.findall(r"`demo_trouble ([a-z-]+)`", documented())) <= set(SENTENCES)
