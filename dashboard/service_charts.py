"""Charts of the service's own figures: one table, cut to what the product of a cache reports."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from django.utils.translation import gettext_lazy as _

from collectors.cloud.catalogue import COLLECTED
from collectors.cloud.latest import newest_of
from dashboard.charts import Chart, Line
from dashboard.watched import Watched


def only(metric: str, over: str, label: object, kind: str = "main") -> Line:
    return Line(f"service_{metric}", over, label, kind)  # type: ignore[arg-type]


SERVICE_CHARTS: tuple[Chart, ...] = (
    Chart(
        "service-memory-share",
        _("Memory, share of the limit"),
        "share",
        (
            only("memory_maximum_utilization", "max", _("fullest node")),
            only("memory_average_utilization", "max", _("mean of nodes"), "more"),
            only("system_memory_usage_ratio", "max", _("of the whole machine"), "more"),
        ),
        (
            ("service_memory_maximum_utilization", _("share of the limit")),
            ("service_system_memory_usage_ratio", _("share of the machine")),
        ),
        about=_("How full the data's memory is, and the machine's: above 80% of the machine, writes may be refused."),
    ),
    Chart(
        "service-memory",
        _("Memory"),
        "bytes",
        (
            only("used_memory", "max", _("used")),
            only("maxmemory", "max", _("maxmemory"), "limit"),
            only("memory_size", "max", _("bought"), "limit"),
        ),
        (("service_used_memory", _("used")),),
        about=_("Memory that the service counts as used, and its limits."),
    ),
    Chart(
        "service-cpu",
        _("CPU"),
        "share",
        (
            only("cpu_utilization", "max", _("busiest node")),
            only("main_thread_cpu_ratio", "max", _("main thread, busiest node"), "more"),
        ),
        (("service_cpu_utilization", _("all threads")), ("service_main_thread_cpu_ratio", _("main thread"))),
        about=_("How busy the nodes are, as the service measures it."),
    ),
    Chart(
        "service-commands",
        _("Commands per second"),
        "count/s",
        (only("commands_per_second", "sum", _("all nodes")),),
        (("service_commands_per_second", _("commands")),),
        about=_("Commands that all nodes run each second, replicas included."),
    ),
    Chart(
        "service-connections",
        _("Connections"),
        "count",
        (
            only("connected_clients", "sum", _("all nodes")),
            only("maximum_connected_clients", "max", _("fullest node"), "more"),
            only("blocked_clients", "sum", _("waiting in a blocking call"), "more"),
        ),
        (("service_connected_clients", _("connections")),),
        about=_("Connections that clients hold open."),
    ),
    Chart(
        "service-connection-rates",
        _("New and rejected connections"),
        "count/s",
        (
            only("connections_received_per_second", "sum", _("new")),
            only("rejected_connections_per_second", "sum", _("rejected"), "alarm"),
        ),
        (
            ("service_connections_received_per_second", _("new")),
            ("service_rejected_connections_per_second", _("rejected")),
        ),
        about=_("New and rejected connections per second."),
    ),
    Chart(
        "service-hits",
        _("Lookups"),
        "count/s",
        (
            only("keyspace_hits_per_second", "sum", _("found")),
            only("keyspace_misses_per_second", "sum", _("missed"), "more"),
        ),
        (("service_keyspace_hits_per_second", _("found")), ("service_keyspace_misses_per_second", _("missed"))),
        about=_("Lookups per second that found a key, and those that found none."),
    ),
    Chart(
        "service-keys",
        _("Keys"),
        "count",
        (only("keys", "max", _("all keys")), only("keys_with_ttl", "max", _("with a time to live"), "more")),
        (("service_keys", _("all keys")), ("service_keys_with_ttl", _("with a time to live"))),
        about=_("Keys as the service counts them."),
    ),
    Chart(
        "service-evictions",
        _("Evicted and expired keys"),
        "count/s",
        (
            only("expired_keys_per_second", "sum", _("expired")),
            only("evicted_keys_per_second", "sum", _("evicted"), "alarm"),
        ),
        (("service_evicted_keys_per_second", _("evicted")), ("service_expired_keys_per_second", _("expired"))),
        about=_("Keys removed because their time to live ended, and keys removed because memory was full."),
    ),
    Chart(
        "service-network",
        _("Network traffic"),
        "bytes/s",
        (
            only("network_output_bytes_per_second", "sum", _("out")),
            only("network_input_bytes_per_second", "sum", _("in"), "more"),
            only("network_bytes_per_second", "sum", _("in and out"), "more"),
        ),
        (
            ("service_network_output_bytes_per_second", _("out")),
            ("service_network_input_bytes_per_second", _("in")),
            ("service_network_bytes_per_second", _("in and out")),
        ),
        about=_("Bytes per second that the nodes send and receive."),
    ),
    Chart(
        "service-replication",
        _("Replication lag"),
        "bytes",
        (only("replication_lag_bytes", "max", _("farthest replica")),),
        (("service_replication_lag_bytes", _("bytes behind")),),
        about=_("Bytes by which the farthest replica is behind; a failover would lose them."),
    ),
)


@dataclass(frozen=True, slots=True)
class ServiceCharts:
    """The charts of one cache, and of when their newest point is; None where there is none yet."""

    charts: tuple[Chart, ...]
    newest_at: datetime | None


def of(watched: Watched) -> ServiceCharts | None:
    """Return the charts of a cache that Cloud Monitoring is read for, None for all others."""
    if watched.service is None or watched.feed is None:
        return None
    product = watched.service.instance.product
    types = {metric.name: metric.type for metric in COLLECTED if metric.product == product}
    cut = (_cut(chart, types) for chart in SERVICE_CHARTS)
    return ServiceCharts(tuple(chart for chart in cut if chart), newest_of(watched.cache.pk, watched.now))


def _cut(chart: Chart, types: dict[str, str]) -> Chart | None:
    """Return a chart with the lines that there are, None where there is none; it names Google's metric types."""
    lines = tuple(line for line in chart.lines if line.metric in types)
    by_node = tuple(choice for choice in chart.by_node if choice[0] in types)
    if not (lines and by_node):
        return None
    named = tuple(dict.fromkeys(types[line.metric] for line in lines))
    return replace(chart, lines=lines, by_node=by_node, told_by=named)
