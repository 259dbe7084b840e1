import json
from pathlib import Path
from typing import Any

import pytest

from collectors.cloud.catalogue import COLLECTED, CloudMetric, group_by
from collectors.cloud.metric_types import MetricType, metric_types, resource_labels
from collectors.cloud.products import Product
from collectors.cloud.service_metrics import POSITION, SERVICE_METRICS
from collectors.metrics.lookup import NAMES, shown

FACTS = Path(__file__).resolve().parents[3] / "shared" / "facts" / "cloud_monitoring_metrics.json"
# What the API's description allows for each kind of number.
ALIGNERS = {
    ("GAUGE", "INT64"): {"ALIGN_MEAN", "ALIGN_MAX", "ALIGN_MIN"},
    ("GAUGE", "DOUBLE"): {"ALIGN_MEAN", "ALIGN_MAX", "ALIGN_MIN"},
    ("DELTA", "INT64"): {"ALIGN_RATE", "ALIGN_MEAN"},
    ("DELTA", "DOUBLE"): {"ALIGN_RATE", "ALIGN_MEAN"},
    ("GAUGE", "BOOL"): {"ALIGN_FRACTION_TRUE"},
}
# The base unit that a published unit has after our scale and, for a DELTA, after ALIGN_RATE.
BASE_UNITS = {"By": "bytes", "s": "seconds", "ms": "seconds", "10^2.%": "ratio", "s{CPU}": "ratio"}
SCALES = {"ms": 1e-3, "us": 1e-6}
SIDEWAYS = {"service_search_used_memory": "Google lists its unit as 1"}


def each_product() -> pytest.MarkDecorator:
    of_product = [[metric for metric in COLLECTED if metric.product == product] for product in Product]
    return pytest.mark.parametrize("metrics", of_product, ids=Product.values)


def by_name(product: Product, name: str) -> CloudMetric:
    return next(metric for metric in COLLECTED if (metric.product, metric.name) == (product, name))


def published() -> dict[str, Any]:
    if not FACTS.exists():
        pytest.skip("Google's list of metric types lies beside the checkout of those who maintain it")
    facts: dict[str, Any] = json.loads(FACTS.read_text(encoding="utf-8"))
    return facts


def test_it_ships_every_published_metric_type_unchanged() -> None:
    facts = published()

    told = {
        row["metric_type"]: MetricType(
            row["metric_type"],
            row["resource_type"],
            row["metric_kind"],
            row["value_type"],
            row["unit"],
            tuple(label["name"] for label in row["metric_labels"]),
            row["visibility_delay_max_s"],
        )
        for row in facts["metrics"]
    }

    assert metric_types() == told
    assert len(told) == facts["meta"]["counts"]["total"]


def test_it_ships_the_labels_of_every_resource() -> None:
    facts = published()

    assert resource_labels() == {name: tuple(of["labels"]) for name, of in facts["resource_types"].items()}


def test_it_knows_the_product_of_every_metric_type() -> None:
    facts = published()

    for row in facts["metrics"]:
        assert metric_types()[row["metric_type"]].product == row["product"].replace("_", "-")


@pytest.mark.parametrize(
    ("product", "least"), [("redis", 35), ("redis-cluster", 40), ("valkey", 40), ("memcached", 12)]
)
def test_it_collects_enough_of_each_product(product: str, least: int) -> None:
    assert sum(metric.product == product for metric in COLLECTED) >= least


@each_product()
def test_it_asks_for_a_type_as_it_is_published(metrics: list[CloudMetric]) -> None:
    for metric in metrics:
        of = metric_types()[metric.type]

        assert (metric.resource, metric.kind, metric.delay_seconds) == (of.resource, of.kind, of.delay)
        assert metric.aligner in ALIGNERS[metric.kind, str(of.value_type)]


@each_product()
def test_it_turns_the_published_unit_into_ours(metrics: list[CloudMetric]) -> None:
    for metric in metrics:
        unit = str(metric_types()[metric.type].unit)

        assert metric.scale == SCALES.get(unit, 1)
        if unit in BASE_UNITS and metric.name not in SIDEWAYS:
            base = BASE_UNITS[unit]
            per_second = metric.aligner == "ALIGN_RATE" and base != "ratio"
            assert metric.unit == (f"{base}/s" if per_second else base)


@each_product()
def test_it_counts_what_only_grows_per_second(metrics: list[CloudMetric]) -> None:
    for metric in metrics:
        is_rate = metric.unit.endswith("/s") or metric_types()[metric.type].unit in {"s{CPU}", "us"}

        assert (metric.aligner == "ALIGN_RATE") == is_rate


@each_product()
def test_it_groups_by_labels_that_the_type_has(metrics: list[CloudMetric]) -> None:
    for metric in metrics:
        of = metric_types()[metric.type]
        known = {f"resource.labels.{label}" for label in resource_labels()[of.resource]}
        known |= {f"metric.labels.{label}" for label in of.labels}

        assert set(metric.group_by) <= known


@each_product()
def test_it_keeps_projects_instances_and_roles_apart(metrics: list[CloudMetric]) -> None:
    for metric in metrics:
        ids = {field.rsplit(".", 1)[-1] for field in metric.group_by}

        assert ids & {"project_id", "resource_container"}
        assert ids & {"instance_id", "cluster_id"}
        assert ("role" in ids) == ("role" in metric_types()[metric.type].labels)


@each_product()
def test_it_never_asks_for_one_instance(metrics: list[CloudMetric]) -> None:
    for metric in metrics:
        assert "resource.labels" not in metric.filter
        assert metric.filter.startswith(f'metric.type = "{metric.type}" AND resource.type = "{metric.resource}"')


def test_it_adds_the_nodes_of_an_instance_up_over_zones() -> None:
    of = metric_types()["redis.googleapis.com/cluster/node/clients/blocked_clients"]

    fields = group_by(of, "instance")

    assert fields == (
        "resource.labels.resource_container",
        "resource.labels.cluster_id",
        "resource.labels.cluster_uid",
        "metric.labels.role",
    )


def test_it_narrows_a_type_whose_series_count_the_same_time_twice() -> None:
    metric = by_name(Product.VALKEY, "service_main_thread_cpu_ratio")

    assert metric.filter.endswith(' AND metric.labels.state = one_of("sys_main_thread", "user_main_thread")')


def test_it_gives_each_product_a_name_once() -> None:
    assert len({(metric.product, metric.name) for metric in COLLECTED}) == len(COLLECTED)


def test_it_gives_a_name_one_place_and_one_unit_over_all_products() -> None:
    for metric in COLLECTED:
        assert metric.position == POSITION[metric.name]
        assert metric.unit == SERVICE_METRICS[metric.position].unit


def test_it_uses_every_name_and_none_that_the_nodes_have() -> None:
    names = [metric.name for metric in SERVICE_METRICS]

    assert len(set(names)) == len(names) < 150
    assert set(names) == {metric.name for metric in COLLECTED}
    assert not set(names) & set(NAMES)


def test_it_compares_only_with_metrics_that_exist_in_the_same_unit() -> None:
    for metric in COLLECTED:
        assert not metric.same_as or shown(metric.same_as).unit == metric.unit


@each_product()
def test_it_gives_a_metric_of_the_nodes_one_counterpart(metrics: list[CloudMetric]) -> None:
    counterparts = [metric.same_as for metric in metrics if metric.same_as]

    assert len(set(counterparts)) == len(counterparts)
    assert {"used_memory", "connected_clients", "commands_per_second", "keys"} <= set(counterparts)


def test_it_adds_up_nodes_that_hold_different_items() -> None:
    assert by_name(Product.MEMCACHED, "service_keys").over == "sum"
    assert by_name(Product.REDIS, "service_keys").over == "max"


def test_it_leaves_out_types_of_which_only_the_name_is_known() -> None:
    bare = {of.type for of in metric_types().values() if of.kind is None}

    assert len(bare) == 12
    assert not bare & {metric.type for metric in COLLECTED}
