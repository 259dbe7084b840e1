"""The last sample of each node under redis_exporter's names, so that boards made for it keep working.

Names and types are those of redis_exporter; where it calls a counter a gauge we do so too, since boards
rely on it. What a node does not report is left out. Samples older than three polls are left out as well:
Prometheus then draws a gap.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from collectors import latest, latest_details
from collectors.latest import NodeLatest
from collectors.metrics.detail import DETAIL
from collectors.metrics.exporter_names import NAMES, OF_ALL_DATABASES, RARE_NAMES, SCALES
from collectors.metrics.hot import HOT
from collectors.models import NodeFact
from dashboard.exposition.text import Family
from fleet.models import Node

MEANINGS = {metric.name: metric for metric in (*HOT, *DETAIL)}
INFO_LABELS = ("redis_version", "valkey_version", "redis_mode", "os", "maxmemory_policy", "run_id", "role", "tcp_port")


@dataclass(frozen=True, slots=True)
class Exposed:
    """One node with its labels and its newest sample, None where that is missing or stale."""

    node_id: int
    labels: dict[str, str]
    is_up: bool
    sample: NodeLatest | None


def families(now: datetime) -> Iterator[Family]:
    """Yield the families of /metrics/fleet, as of the last poll of each node."""
    exposed = _exposed(now)
    up = Family("redis_up", "gauge", "Whether the node answered its last poll.")
    for node in exposed:
        up.add(node.labels, node.is_up)
    yield up
    yield _instance_info(exposed)
    for column, name, kind in NAMES:
        family = Family(name, kind, f"{column} of INFO: {MEANINGS[column].meaning}")
        more = {"db": "all"} if name in OF_ALL_DATABASES else {}
        for node in exposed:
            if node.sample is not None and (value := getattr(node.sample, column)) is not None:
                family.add({**node.labels, **more}, value * SCALES[column])
        yield family
    yield from _rare(exposed, now)


def _rare(exposed: list[Exposed], now: datetime) -> Iterator[Family]:
    """Yield what nodes tell every few minutes only, of those that answer now."""
    details = latest_details.read([node.node_id for node in exposed if node.sample], now)
    for name, exported, kind in RARE_NAMES:
        family = Family(exported, kind, f"{name} of INFO, of the last minutes: {MEANINGS[name].meaning}")
        for node in exposed:
            if node.node_id in details:
                family.add(node.labels, details[node.node_id].numbers.get(name))
        yield family


def _exposed(now: datetime) -> list[Exposed]:
    newest = latest.nodes()
    nodes = Node.objects.present().select_related("cache", "shard", "status")
    found = []
    for node in nodes:
        sample, status = newest.get(node.pk), getattr(node, "status", None)
        fresh = timedelta(seconds=3 * node.cache.poll_interval_seconds)
        is_fresh = sample is not None and now - sample.at <= fresh
        found.append(
            Exposed(
                node.pk,
                {
                    "instance": node.address,
                    "cache": node.cache.name,
                    "shard": str(node.shard.number) if node.shard else "",
                    "role": node.role,
                },
                bool(is_fresh and status and status.failing_since is None),
                sample if is_fresh else None,
            )
        )
    return found


def _instance_info(exposed: list[Exposed]) -> Family:
    facts: dict[int, dict[str, str]] = defaultdict(dict)
    known = NodeFact.objects.filter(until=None, name__in=INFO_LABELS).values_list("node_id", "name", "value")
    for node_id, name, value in known:
        facts[node_id][name] = value
    family = Family("redis_instance_info", "gauge", "Text fields of INFO as labels.")
    for node in exposed:
        if node.sample is not None:
            family.add({**node.labels, **{name: facts[node.node_id].get(name, "") for name in INFO_LABELS}}, 1)
    return family
