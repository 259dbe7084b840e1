"""The last sample of each node under redis_exporter's names, so that boards made for it keep working.

Names and types are those of redis_exporter; where it calls a counter a gauge we do so too, since boards
rely on it. What a node does not report is left out. Samples older than three polls are left out as well:
Prometheus then draws a gap.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from collectors import latest
from collectors.latest import NodeLatest
from collectors.metrics.hot import HOT
from collectors.models import NodeFact
from dashboard.exposition.text import Family
from fleet.models import Node

SCALES = {metric.name: metric.scale for metric in HOT} | {"latest_fork_usec": 1e-6}
# Our column, redis_exporter's name and type.
NAMES = (
    ("uptime_in_seconds", "redis_uptime_in_seconds", "gauge"),
    ("connected_clients", "redis_connected_clients", "gauge"),
    ("maxclients", "redis_max_clients", "gauge"),
    ("maxclients", "redis_config_maxclients", "gauge"),
    ("blocked_clients", "redis_blocked_clients", "gauge"),
    ("tracking_clients", "redis_tracking_clients", "gauge"),
    ("pubsub_clients", "redis_pubsub_clients", "gauge"),
    ("client_recent_max_input_buffer", "redis_client_recent_max_input_buffer_bytes", "gauge"),
    ("client_recent_max_output_buffer", "redis_client_recent_max_output_buffer_bytes", "gauge"),
    ("used_memory", "redis_memory_used_bytes", "gauge"),
    ("used_memory_rss", "redis_memory_used_rss_bytes", "gauge"),
    ("used_memory_peak", "redis_memory_used_peak_bytes", "gauge"),
    ("used_memory_dataset", "redis_memory_used_dataset_bytes", "gauge"),
    ("used_memory_overhead", "redis_memory_used_overhead_bytes", "gauge"),
    ("maxmemory", "redis_memory_max_bytes", "gauge"),
    ("mem_fragmentation_ratio", "redis_mem_fragmentation_ratio", "gauge"),
    ("mem_clients_normal", "redis_mem_clients_normal", "gauge"),
    ("mem_not_counted_for_evict", "redis_mem_not_counted_for_eviction_bytes", "gauge"),
    ("total_commands_processed", "redis_commands_processed_total", "counter"),
    ("total_connections_received", "redis_connections_received_total", "counter"),
    ("rejected_connections", "redis_rejected_connections_total", "counter"),
    ("total_net_input_bytes", "redis_net_input_bytes_total", "counter"),
    ("total_net_output_bytes", "redis_net_output_bytes_total", "counter"),
    ("total_net_repl_input_bytes", "redis_net_repl_input_bytes_total", "counter"),
    ("total_net_repl_output_bytes", "redis_net_repl_output_bytes_total", "counter"),
    ("keyspace_hits", "redis_keyspace_hits_total", "counter"),
    ("keyspace_misses", "redis_keyspace_misses_total", "counter"),
    ("expired_keys", "redis_expired_keys_total", "counter"),
    ("evicted_keys", "redis_evicted_keys_total", "counter"),
    ("total_error_replies", "redis_total_error_replies", "untyped"),
    ("used_cpu_sys", "redis_cpu_sys_seconds_total", "counter"),
    ("used_cpu_user", "redis_cpu_user_seconds_total", "counter"),
    ("used_cpu_sys_main_thread", "redis_cpu_sys_main_thread_seconds_total", "counter"),
    ("used_cpu_user_main_thread", "redis_cpu_user_main_thread_seconds_total", "counter"),
    ("keys", "redis_db_keys", "gauge"),
    ("expires", "redis_db_keys_expiring", "gauge"),
    ("master_repl_offset", "redis_master_repl_offset", "gauge"),
    ("connected_slaves", "redis_connected_slaves", "gauge"),
    ("master_link_up", "redis_master_link_up", "gauge"),
    ("master_last_io_seconds_ago", "redis_master_last_io_seconds_ago", "gauge"),
    ("sync_full", "redis_replica_resyncs_full", "gauge"),
    ("sync_partial_ok", "redis_replica_partial_resync_accepted", "gauge"),
    ("sync_partial_err", "redis_replica_partial_resync_denied", "gauge"),
    ("latest_fork_usec", "redis_latest_fork_seconds", "gauge"),
    ("rdb_changes_since_last_save", "redis_rdb_changes_since_last_save", "gauge"),
    ("rdb_last_bgsave_ok", "redis_rdb_last_bgsave_status", "gauge"),
    ("loading", "redis_loading_dump_file", "gauge"),
    ("cluster_state_ok", "redis_cluster_state", "gauge"),
    ("cluster_slots_assigned", "redis_cluster_slots_assigned", "gauge"),
    ("cluster_slots_ok", "redis_cluster_slots_ok", "gauge"),
    ("cluster_slots_fail", "redis_cluster_slots_fail", "gauge"),
    ("cluster_known_nodes", "redis_cluster_known_nodes", "gauge"),
    ("cluster_current_epoch", "redis_cluster_current_epoch", "gauge"),
)
# redis_exporter has these by database; we keep the sum.
OF_ALL_DATABASES = {"redis_db_keys", "redis_db_keys_expiring"}
MEANINGS = {metric.name: metric for metric in HOT}
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
