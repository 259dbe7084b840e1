"""The metric types of Cloud Monitoring as Google lists them: what each one counts, in which unit, by which labels."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from collectors.cloud.products import Product

PRODUCTS = {
    "redis_instance": Product.REDIS,
    "redis.googleapis.com/Cluster": Product.REDIS_CLUSTER,
    "redis.googleapis.com/ClusterNode": Product.REDIS_CLUSTER,
    "memorystore.googleapis.com/Instance": Product.VALKEY,
    "memorystore.googleapis.com/InstanceNode": Product.VALKEY,
    "memcache_node": Product.MEMCACHED,
}


@dataclass(frozen=True, slots=True)
class MetricType:
    """One metric type. `kind`, `value_type`, `unit` and `delay` are None where nothing but the name is published.

    `kind` is GAUGE or DELTA: no product here reports a CUMULATIVE one. `delay` is for how many seconds a new point may
    stay hidden.
    """

    type: str
    resource: str
    kind: str | None
    value_type: str | None
    unit: str | None
    labels: tuple[str, ...]
    delay: int | None

    @property
    def product(self) -> Product:
        return PRODUCTS[self.resource]


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(Path(__file__).with_name("metric_types.json").read_text(encoding="utf-8"))
    return table


@cache
def metric_types() -> dict[str, MetricType]:
    """Return all metric types by their full name."""
    rows = [MetricType(**{**row, "labels": tuple(row["labels"])}) for row in _table()["types"]]
    return {row.type: row for row in rows}


@cache
def resource_labels() -> dict[str, tuple[str, ...]]:
    """Return the labels of each monitored resource type."""
    return {name: tuple(labels) for name, labels in _table()["resources"].items()}
