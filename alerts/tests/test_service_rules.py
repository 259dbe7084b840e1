"""Rules on the figures of Google's services: each of the pack seen firing and resolving, and what silence means."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from alerts import evaluate, incident_chart, measures, pack, scene, story, trial
from alerts.alert import Alert
from alerts.gates import GATES
from alerts.models import Incident
from alerts.packs.service import SERVICE_PACK
from alerts.rule import Rule
from alerts.spec_form import SpecError, read_spec, written
from alerts.tests.judged import rule
from collectors.cloud import rollups
from collectors.cloud.feed import CloudFeed
from collectors.cloud.models import CloudInstance, CloudProject
from collectors.cloud.products import Product
from collectors.tests.cloud_cast import NOON, PROJECT, instance, minutes
from collectors.windows import Read, Reading
from dashboard.alert_rows import AlertRow
from fleet.models import Cache, Node, Reach, Shard

pytestmark = pytest.mark.django_db
STEP = timedelta(minutes=5)
BAD, GOOD = 40, 60


@pytest.fixture(autouse=True)
def any_time(settings: Settings) -> None:
    """Ticks of these tests lie far from the database's clock."""
    settings.ALERT_SKEW_SECONDS = 10**9


def watched(product: Product = Product.REDIS, reach: Reach = Reach.SERVICE, **fields: Any) -> CloudInstance:
    CloudFeed.objects.create(project_id=PROJECT, answered_at=NOON)
    project = CloudProject.objects.create(project_id=PROJECT)
    return instance(project, product, reach=reach, **fields)


def judge(owner: CloudInstance, at: datetime) -> None:
    CloudFeed.objects.update(answered_at=at)
    evaluate.evaluate([owner.cache_id or 0], int(at.timestamp()))


def states() -> list[tuple[str, str]]:
    return list(Alert.objects.order_by("target").values_list("target", "state"))


@dataclass(frozen=True)
class Proof:
    """What makes a rule fire: figures of a role, and what the snapshot says."""

    bad: Mapping[str, float]
    good: Mapping[str, float]
    product: Product = Product.REDIS
    role: str = "primary"
    snapshot: Mapping[str, object] = field(default_factory=dict)


def cluster(bad: Mapping[str, float], good: Mapping[str, float], replicas: int = 0, role: str = "primary") -> Proof:
    return Proof(bad, good, Product.REDIS_CLUSTER, role, {"replica_count": replicas})


CPU, MAIN, SYSTEM = "cpu_utilization", "main_thread_cpu_ratio", "system_memory_usage_ratio"
PROOFS = {
    "service-memory-pressure": Proof({SYSTEM: 0.85}, {SYSTEM: 0.5}),
    "service-writes-refused": Proof({"memory_overload_ratio": 0.1}, {"memory_overload_ratio": 0}),
    "service-memory-full": cluster({"memory_maximum_utilization": 0.9}, {"memory_maximum_utilization": 0.5}),
    "service-cpu-one-replica": cluster({CPU: 0.6}, {CPU: 0.4}, replicas=1),
    "service-cpu-more-replicas": cluster({CPU: 0.95}, {CPU: 0.6}, replicas=2),
    "service-cpu-replicas": cluster({CPU: 0.6}, {CPU: 0.4}, replicas=2, role="replica"),
    "service-main-thread-busy": Proof({MAIN: 0.85}, {MAIN: 0.5}),
    "service-replica-busy": Proof({MAIN: 0.6}, {MAIN: 0.3}, role="replica"),
    "service-connections-rejected": Proof(
        {"rejected_connections_per_second": 2}, {"rejected_connections_per_second": 0}
    ),
    "service-replica-behind": Proof({"replication_lag_bytes": 50e6}, {"replication_lag_bytes": 0}, role="replica"),
    "service-node-unhealthy": cluster({"node_healthy": 0}, {"node_healthy": 1}),
    "service-memcached-memory": Proof({SYSTEM: 0.95}, {SYSTEM: 0.7}, Product.MEMCACHED, ""),
    "service-memcached-cpu": Proof({CPU: 0.9}, {CPU: 0.3}, Product.MEMCACHED, ""),
}


def test_every_rule_of_the_pack_has_its_proof() -> None:
    assert {*PROOFS, "service-silent"} == {given["rule"] for given in SERVICE_PACK}


@pytest.mark.parametrize("key", PROOFS)
def test_a_rule_fires_and_resolves(key: str) -> None:
    proof = PROOFS[key]
    owner = watched(proof.product, snapshot=dict(proof.snapshot))
    Rule.of(next(spec for spec in pack.specs() if spec.key == key)).save()
    for end, figures, count in ((BAD, proof.bad, BAD + 10), (BAD + GOOD, proof.good, GOOD - 5)):
        values: dict[str, Any] = {name: [value] * count for name, value in figures.items()}
        minutes(owner, role=proof.role, end=NOON + timedelta(minutes=end), **values)

    for minute in range(0, BAD + 1, 10):
        judge(owner, NOON + timedelta(minutes=minute))
    at_its_height = states()
    for minute in range(BAD + 10, BAD + GOOD + 1, 10):
        judge(owner, NOON + timedelta(minutes=minute))

    assert [state for _target, state in at_its_height] == ["firing"]
    assert [state for _target, state in states()] == ["resolved"]


def test_each_place_is_judged_by_itself() -> None:
    owner = watched()
    rule("cpu", metric="service_cpu_utilization")
    high = minutes(owner, node="node-1", role="primary", cpu_utilization=[0.95])
    minutes(owner, node="node-0", role="replica", cpu_utilization=[0.1])

    judge(owner, NOON)

    alert = Alert.objects.get()
    assert (alert.target, alert.state, alert.severity, alert.value) == (f"p{high.pk}", "firing", "critical", 0.95)
    assert (alert.node, alert.node_address, alert.labels["role"]) == (None, "node-1", "primary")


CLUSTER_ID = "07c37dfeb235213a872192d90877d0cd55635b91"


def known_node(owner: CloudInstance, identity: str = CLUSTER_ID) -> Node:
    """Make a node of the owner's cache as its cluster tells of it."""
    assert owner.cache
    shard = Shard.objects.create(cache=owner.cache, identity="a", number=3)
    place = {"host": "10.0.0.5", "port": 11001}
    return Node.objects.create(cache=owner.cache, identity=identity, shard=shard, role="primary", **place)


def test_a_node_of_a_cluster_is_named_as_we_know_it() -> None:
    owner = watched(Product.REDIS_CLUSTER)
    node = known_node(owner)
    rule("cpu", metric="service_cpu_utilization")
    minutes(owner, node=CLUSTER_ID, cpu_utilization=[0.95])

    judge(owner, NOON)

    alert = Alert.objects.get()
    assert (alert.node_address, alert.labels["shard"], alert.shard) == ("10.0.0.5:11001", "3", node.shard)
    assert story.place(alert) == "shard 3, 10.0.0.5:11001"
    assert AlertRow(alert).whole_name == ""


@pytest.mark.parametrize("change", [{"identity": "another"}, {"left_at": NOON}])
def test_one_that_we_do_not_know_is_shortened(change: dict[str, Any]) -> None:
    owner = watched(Product.REDIS_CLUSTER)
    known_node(owner)
    Node.objects.update(**change)
    rule("cpu", metric="service_cpu_utilization", title="Busy")
    minutes(owner, node=CLUSTER_ID, cpu_utilization=[0.95])

    judge(owner, NOON)

    alert = Alert.objects.get()
    assert (alert.node_address, "shard" in alert.labels) == (CLUSTER_ID, False)
    assert story.opening([alert], NOON).title == "sessions-redis-cluster: Busy: 07c37dfeb235… 95% (bound 90%)"
    assert AlertRow(alert).whole_name == CLUSTER_ID


def test_its_incident_draws_what_the_service_told_of_it(settings: Settings) -> None:
    settings.RETENTION_RAW_DAYS = 36_500
    owner = watched(Product.REDIS_CLUSTER)
    rule("cpu", metric="service_cpu_utilization")
    minutes(owner, node=CLUSTER_ID, cpu_utilization=[0.5, 0.7, 0.95])
    judge(owner, NOON)
    alert = Alert.objects.select_related("cache", "rule").get()

    picture = incident_chart.of(Incident.objects.get(), [alert], NOON + timedelta(minutes=1))

    assert picture is not None
    assert (picture.about, picture.lowest, picture.highest) == ("07c37dfeb235…", "50%", "95%")


def test_a_cache_is_judged_by_its_highest_place() -> None:
    owner = watched()
    rule("cpu", metric="service_cpu_utilization", judged="cache")
    minutes(owner, role="primary", cpu_utilization=[0.95])
    minutes(owner, role="replica", cpu_utilization=[0.1])

    judge(owner, NOON)

    assert states() == [(f"c{owner.cache_id}", "firing")]


def test_figures_of_nodes_and_of_the_service_are_judged_together_over_a_cache() -> None:
    owner = watched()
    service = {"metric": "service_cpu_utilization", "critical": 0.5}
    text = {"rule": "both", "when": {"any": [service, {"metric": "cpu_ratio", "critical": 0.5}]}, "judged": "cache"}
    Rule.of(read_spec(text)).save()
    minutes(owner, cpu_utilization=[0.95])

    judge(owner, NOON)

    assert states() == [(f"c{owner.cache_id}", "firing")]


@pytest.mark.parametrize("judged", ["node", "shard"])
def test_both_kinds_of_figures_make_no_verdict_of_a_node(judged: str) -> None:
    terms = [{"metric": "service_cpu_utilization", "critical": 1}, {"metric": "cpu_ratio", "critical": 1}]

    with pytest.raises(SpecError, match="judged"):
        read_spec({"rule": "both", "when": {"all": terms}, "judged": judged})


def test_a_rule_on_the_service_is_written_as_it_was_read() -> None:
    text = {"rule": "cpu", "when": {"metric": "service_cpu_utilization", "critical": 0.5}}

    assert written(read_spec(text)) == written(read_spec(written(read_spec(text))))
    assert "over" not in written(read_spec(text))["when"]["all"][0]


def test_a_metric_of_the_service_has_its_unit_and_meaning() -> None:
    found = measures.measure("service_used_memory")

    assert (found.unit, bool(str(found.meaning))) == ("bytes", True)


def test_a_value_counts_until_it_is_older_than_the_service_ever_hides_points() -> None:
    owner = watched()
    rule("cpu", metric="service_cpu_utilization")
    minutes(owner, cpu_utilization=[0.95])

    judge(owner, NOON + timedelta(minutes=8))
    early = states()
    Alert.objects.all().delete()
    judge(owner, NOON + timedelta(minutes=12))

    assert (len(early), states()) == (1, [])


def silent_after(owner: CloudInstance, minutes_of_silence: int, is_answering: bool = True) -> list[tuple[str, str]]:
    """Judge each five minutes of a silence that begins at noon."""
    minutes(owner, uptime_seconds=[100.0] * 5)
    for minute in range(0, minutes_of_silence + 1, 5):
        at = NOON + timedelta(minutes=minute)
        if is_answering:
            judge(owner, at)
        else:
            evaluate.evaluate([owner.cache_id or 0], int(at.timestamp()))
    return states()


def install_silent() -> None:
    Rule.of(next(spec for spec in pack.specs() if spec.key == "service-silent")).save()


def test_silence_is_none_while_the_service_may_hide_points() -> None:
    install_silent()

    assert silent_after(watched(), 5) == []


def test_a_service_that_answers_without_figures_is_told() -> None:
    install_silent()
    owner = watched()

    assert silent_after(owner, 30) == [(f"c{owner.cache_id}", "firing")]
    assert Alert.objects.get().reason == "no_data"


def test_a_service_that_does_not_answer_is_no_silence_of_a_cache() -> None:
    install_silent()

    assert silent_after(watched(), 30, is_answering=False) == []


def test_an_instance_that_was_just_made_is_not_called_silent() -> None:
    install_silent()
    owner = watched(first_seen_at=NOON + timedelta(minutes=20))

    assert silent_after(owner, 30) == []


def test_a_cache_whose_nodes_are_read_is_not_called_silent() -> None:
    install_silent()

    assert silent_after(watched(reach=Reach.NODES), 30) == []


def test_a_node_that_was_replaced_leaves_no_alert_behind() -> None:
    owner = watched()
    rule("cpu", metric="service_cpu_utilization")
    minutes(owner, node="old", cpu_utilization=[0.95])
    judge(owner, NOON)

    later = NOON + timedelta(minutes=40)
    minutes(owner, node="new", cpu_utilization=[0.1], end=later)
    judge(owner, later)

    assert list(Alert.objects.values_list("state", "reason")) == [("resolved", "node_left")]


def test_a_node_that_came_back_in_another_role_leaves_no_alert_behind() -> None:
    owner = watched()
    rule("healthy", metric="service_node_healthy", sign="<", warning=1, critical=0.5)
    minutes(owner, node="a", role="primary", node_healthy=[0.0] * 5)
    judge(owner, NOON)
    assert states()[0][1] == "firing"

    later = NOON + timedelta(minutes=4)
    minutes(owner, node="a", role="replica", node_healthy=[1.0] * 3, end=later)
    judge(owner, later)

    assert list(Alert.objects.values_list("state", "reason")) == [("resolved", "node_left")]


def test_roles_that_are_told_side_by_side_are_all_judged() -> None:
    owner = watched()
    minutes(owner, node="a", role="primary", cpu_utilization=[0.1])
    minutes(owner, node="a", role="replica", cpu_utilization=[0.1], end=NOON + timedelta(minutes=1))
    minutes(owner, role="primary", cpu_utilization=[0.1], end=NOON - timedelta(minutes=5))
    minutes(owner, role="replica", cpu_utilization=[0.1])

    (seen,) = scene.load([owner.cache_id or 0], NOON + timedelta(minutes=1), 0)

    assert len(seen.places) == 4


def test_nodes_of_a_cache_that_nobody_can_reach_are_not_judged() -> None:
    owner = watched()
    assert owner.cache
    owner.cache.nodes.create(identity="a", host="10.0.0.1", port=6379)

    (seen,) = scene.load([owner.cache.pk], NOON, 0)

    assert (seen.nodes, seen.is_remote) == ([], True)


def test_a_cache_without_cloud_monitoring_has_no_places() -> None:
    cache = Cache.objects.create(name="own", address="redis://127.0.0.1:1")

    (seen,) = scene.load([cache.pk], NOON, 0)

    assert (seen.places, seen.service, seen.is_read) == ([], None, False)


GATED = {
    Product.REDIS: {"memorystore-redis"},
    Product.REDIS_CLUSTER: {"memorystore-cluster"},
    Product.VALKEY: {"memorystore-cluster"},
    Product.MEMCACHED: {"memorystore-memcached"},
}


@pytest.mark.parametrize("product", GATED)
def test_a_gate_knows_the_product(product: Product) -> None:
    owner = watched(product)
    minutes(owner, cpu_utilization=[0.1])

    (seen,) = scene.load([owner.cache_id or 0], NOON, 0)

    assert {name for name in GATES if name.startswith("memorystore") and GATES[name][0](seen)} == GATED[product]


@pytest.mark.parametrize("how", list(Read))
def test_every_reading_can_be_taken_of_the_service(how: Read) -> None:
    owner = watched()
    place = minutes(owner, cpu_utilization=[0.1, 0.2, 0.3, None])
    minutes(owner, cpu_utilization=[0.2] * 60, end=NOON - timedelta(days=7) + timedelta(hours=1))
    rollups.roll_up(NOON)
    wanted = Reading("service_cpu_utilization", how, 300, 0.15)

    (seen,) = scene.load([owner.cache_id or 0], NOON, 0)
    found = measures.read([seen], NOON, [wanted], {})[wanted]

    expected = {
        Read.LAST: 0.3,
        Read.AVG: 0.2,
        Read.MIN: 0.1,
        Read.MAX: 0.3,
        Read.SUM: 0.6,
        Read.RATE: 0.2,
        Read.INCREASE: 36,
        Read.SHARE: 2 / 3,
        Read.FORECAST: 0,
        Read.DEVIATION: 1.0,
    }
    assert found == {-place.pk: pytest.approx(expected[how])}


def test_a_rule_on_the_service_can_be_tried_on_the_past(settings: Settings) -> None:
    settings.RETENTION_RAW_DAYS = settings.RETENTION_5M_DAYS = 36_500
    now = timezone.now()
    owner = watched()
    figures = [0.1] * 120 + [0.95] * 60 + [0.1] * 120
    minutes(owner, cpu_utilization=figures, end=now)
    rollups.roll_up(now)
    spec = read_spec({"rule": "cpu", "when": {"metric": "service_cpu_utilization", "critical": 0.9}, "for": "10m"})

    found = trial.run(spec, now, timedelta(hours=6))

    assert (found.nodes, found.of_nodes) == (1, 1)
    assert [episode.severity for episode in found.fired] == ["critical"]
    assert found.fired[0].ended_at
