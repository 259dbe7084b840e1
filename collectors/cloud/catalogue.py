"""What we ask Cloud Monitoring for: one call for each metric type and project, added up by the service itself."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from collectors.cloud.metric_types import MetricType, metric_types, resource_labels
from collectors.cloud.products import Product
from collectors.cloud.service_metrics import POSITION, SERVICE_METRICS

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


@dataclass(frozen=True, slots=True)
class CloudMetric:
    """One metric type as it is asked for, and our name for the answer.

    A value times `scale` is in our `unit`. `position` is the same for one name over all products: the place in the
    stored array. `where` narrows the filter to some of the type's series.
    """

    position: int
    name: str
    type: str
    product: Product
    resource: str
    unit: str
    kind: str
    aligner: str
    reducer: str
    group_by: tuple[str, ...]
    meaning: StrOrPromise
    over: str
    same_as: str
    delay_seconds: int
    scale: float = 1
    where: str = ""

    @property
    def filter(self) -> str:
        """Return the filter of ListTimeSeries."""
        asked = f'metric.type = "{self.type}" AND resource.type = "{self.resource}"'
        return f"{asked} AND {self.where}" if self.where else asked


class How(Enum):
    """How the points of a minute become one, and then the series of a place."""

    LEVEL = ("ALIGN_MEAN", "REDUCE_SUM")
    AVERAGE = ("ALIGN_MEAN", "REDUCE_MEAN")
    HIGHEST = ("ALIGN_MAX", "REDUCE_MAX")
    LOWEST = ("ALIGN_MIN", "REDUCE_MIN")
    RATE = ("ALIGN_RATE", "REDUCE_SUM")
    ANY = ("ALIGN_FRACTION_TRUE", "REDUCE_MAX")
    EVERY = ("ALIGN_FRACTION_TRUE", "REDUCE_MIN")


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the tables below. Nodes make one number for the instance where `per` says so."""

    name: str
    path: str
    how: How
    scale: float = 1
    where: str = ""
    per: str = "node"
    # Nodes of Memcached hold different items, where replicas hold the same ones.
    over: str = ""
    same_as: str = ""


MICRO, MILLI = 1e-6, 1e-3
INSTANCE = "instance"

REDIS_ROWS = (
    Row("service_cpu_utilization", "stats/cpu_utilization", How.RATE, same_as="cpu_ratio"),
    Row("service_main_thread_cpu_ratio", "stats/cpu_utilization_main_thread", How.RATE),
    Row("service_memory_maximum_utilization", "stats/memory/usage_ratio", How.HIGHEST),
    Row("service_system_memory_usage_ratio", "stats/memory/system_memory_usage_ratio", How.HIGHEST),
    Row("service_memory_overload_ratio", "stats/memory/system_memory_overload_duration", How.RATE, MICRO),
    Row("service_used_memory", "stats/memory/usage", How.LEVEL),
    Row("service_maxmemory", "stats/memory/maxmemory", How.HIGHEST),
    Row("service_connected_clients", "clients/connected", How.LEVEL),
    Row("service_blocked_clients", "clients/blocked", How.LEVEL),
    Row("service_connections_received_per_second", "stats/connections/total", How.RATE),
    Row("service_rejected_connections_per_second", "stats/reject_connections_count", How.RATE),
    Row("service_commands_per_second", "commands/calls", How.RATE),
    Row("service_command_time_ratio", "commands/total_time", How.RATE, MICRO),
    Row("service_keys", "keyspace/keys", How.LEVEL),
    Row("service_keys_with_ttl", "keyspace/keys_with_expiration", How.LEVEL),
    Row("service_average_ttl_seconds", "keyspace/avg_ttl", How.AVERAGE, MILLI),
    Row("service_hit_ratio", "stats/cache_hit_ratio", How.LOWEST),
    Row("service_keyspace_hits_per_second", "stats/keyspace_hits", How.RATE),
    Row("service_keyspace_misses_per_second", "stats/keyspace_misses", How.RATE),
    Row("service_evicted_keys_per_second", "stats/evicted_keys", How.RATE),
    Row("service_expired_keys_per_second", "stats/expired_keys", How.RATE),
    # How the label spells its two directions is published nowhere that we could read.
    Row("service_network_bytes_per_second", "stats/network_traffic", How.RATE),
    Row("service_uptime_seconds", "server/uptime", How.LOWEST),
    Row("service_is_primary", "replication/role", How.HIGHEST),
    Row("service_replication_lag_bytes", "replication/offset_diff", How.HIGHEST),
    Row("service_replication_lag_seconds", "replication/master/slaves/lag", How.HIGHEST),
    Row("service_master_repl_offset", "replication/master_repl_offset", How.HIGHEST),
    Row("service_rdb_in_progress", "persistence/rdb/bgsave_in_progress", How.ANY),
    Row("service_rdb_age_seconds", "rdb/snapshot/last_success_age", How.HIGHEST),
    Row("service_rdb_duration_seconds", "rdb/snapshot/last_success_duration", How.HIGHEST),
    Row("service_recovery_in_progress", "rdb/recovery/in_progress", How.ANY),
    Row("service_pubsub_channels", "stats/pubsub/channels", How.HIGHEST),
    Row("service_pubsub_patterns", "stats/pubsub/patterns", How.HIGHEST),
    Row("service_search_used_memory", "search/used_memory_bytes", How.LEVEL),
    Row("service_search_indexes", "search/indexes", How.HIGHEST),
    Row("service_search_queries_per_second", "search/query_requests_count", How.RATE),
)
MAIN_THREAD = 'metric.labels.state = one_of("sys_main_thread", "user_main_thread")'
# Redis Cluster and Valkey have one tree of metrics, under two prefixes.
CLUSTER_ROWS = (
    Row("service_cpu_utilization", "cpu/maximum_utilization", How.HIGHEST),
    Row("service_cpu_average_utilization", "cpu/average_utilization", How.AVERAGE),
    Row("service_main_thread_cpu_ratio", "node/cpu/utilization", How.LEVEL, where=MAIN_THREAD),
    Row("service_memory_maximum_utilization", "memory/maximum_utilization", How.HIGHEST),
    Row("service_memory_average_utilization", "memory/average_utilization", How.AVERAGE),
    Row("service_used_memory", "memory/total_used_memory", How.LEVEL),
    Row("service_memory_size", "memory/size", How.LEVEL),
    Row("service_connected_clients", "clients/total_connected_clients", How.LEVEL),
    Row("service_maximum_connected_clients", "clients/maximum_connected_clients", How.HIGHEST),
    Row("service_blocked_clients", "node/clients/blocked_clients", How.LEVEL, per=INSTANCE),
    Row("service_connections_received_per_second", "stats/total_connections_received_count", How.RATE),
    Row("service_rejected_connections_per_second", "stats/total_rejected_connections_count", How.RATE),
    Row("service_commands_per_second", "commandstats/total_calls_count", How.RATE),
    Row("service_command_time_ratio", "commandstats/total_usec_count", How.RATE, MICRO),
    Row("service_keys", "keyspace/total_keys", How.LEVEL),
    Row("service_keyspace_hits_per_second", "stats/total_keyspace_hits_count", How.RATE),
    Row("service_keyspace_misses_per_second", "stats/total_keyspace_misses_count", How.RATE),
    Row("service_evicted_keys_per_second", "stats/total_evicted_keys_count", How.RATE),
    Row("service_expired_keys_per_second", "stats/total_expired_keys_count", How.RATE),
    Row("service_network_input_bytes_per_second", "stats/total_net_input_bytes_count", How.RATE),
    Row("service_network_output_bytes_per_second", "stats/total_net_output_bytes_count", How.RATE),
    Row("service_uptime_seconds", "node/server/uptime", How.LOWEST),
    Row("service_node_healthy", "node/server/healthy", How.EVERY),
    Row("service_replication_lag_bytes", "replication/maximum_offset_diff", How.HIGHEST),
    Row("service_replication_lag_seconds", "replication/maximum_ack_lag", How.HIGHEST),
    Row("service_rdb_in_progress", "node/persistence/rdb_bgsave_in_progress", How.ANY, per=INSTANCE),
    Row("service_rdb_last_bgsave_ok", "node/persistence/rdb_last_bgsave_status", How.EVERY, per=INSTANCE),
    Row("service_rdb_age_seconds", "node/persistence/rdb_last_save_age", How.HIGHEST, per=INSTANCE),
    Row("service_aof_fsync_lag_seconds", "node/persistence/aof_fsync_lag", How.HIGHEST, per=INSTANCE),
    Row("service_aof_last_write_ok", "node/persistence/aof_last_write_status", How.EVERY, per=INSTANCE),
    Row("service_aof_fsync_errors_per_second", "node/persistence/aof_fsync_errors_count", How.RATE, per=INSTANCE),
    Row("service_backup_ok", "backup/last_backup_status", How.LOWEST),
    Row("service_backup_start_time", "backup/last_backup_start_time", How.HIGHEST),
    Row("service_backup_size", "backup/last_backup_size", How.HIGHEST),
    Row("service_search_used_memory", "search/total_used_memory_bytes", How.LEVEL),
    Row("service_search_indexes", "search/indexes", How.HIGHEST),
    Row("service_search_queries_per_second", "search/query_requests_count", How.RATE),
    Row("service_json_used_memory", "node/json/used_memory", How.LEVEL, per=INSTANCE),
    Row("service_node_connected_clients", "node/clients/connected_clients", How.LEVEL),
    Row("service_node_used_memory", "node/memory/usage", How.LEVEL),
    Row("service_node_memory_utilization", "node/memory/utilization", How.HIGHEST),
    Row("service_node_keys", "node/keyspace/total_keys", How.LEVEL),
    Row("service_node_commands_per_second", "node/commandstats/calls_count", How.RATE),
)
REDIS_CLUSTER_ROWS = (
    *CLUSTER_ROWS,
    Row(
        "service_cross_region_lag_bytes",
        "cross_cluster_replication/secondary_maximum_replication_offset_diff",
        How.HIGHEST,
    ),
    Row("service_cross_region_links", "cross_cluster_replication/secondary_replication_links", How.LEVEL),
)
VALKEY_ROWS = (
    *CLUSTER_ROWS,
    Row(
        "service_cross_region_lag_bytes",
        "cross_instance_replication/secondary_maximum_replication_offset_diff",
        How.HIGHEST,
    ),
    Row("service_cross_region_links", "cross_instance_replication/secondary_replication_links", How.LEVEL),
    Row("service_bloom_used_memory", "node/bloomfilter/used_memory", How.LEVEL, per=INSTANCE),
)
MEMCACHED_ROWS = (
    # Listed as a DELTA, but in truth a level.
    Row("service_cpu_utilization", "node/cpu/utilization", How.AVERAGE),
    Row("service_system_memory_usage_ratio", "node/memory/utilization", How.HIGHEST),
    Row("service_used_memory", "node/cache_memory", How.LEVEL, where='metric.labels.used = "1"', over="sum"),
    Row("service_memory_size", "node/cache_memory", How.LEVEL, over="sum"),
    Row("service_connected_clients", "node/active_connections", How.LEVEL),
    Row("service_commands_per_second", "node/operation_count", How.RATE),
    Row("service_keys", "node/items", How.LEVEL, over="sum"),
    Row("service_hit_ratio", "node/hit_ratio", How.LOWEST),
    Row("service_evicted_keys_per_second", "node/eviction_count", How.RATE),
    Row("service_network_input_bytes_per_second", "node/received_bytes_count", How.RATE),
    Row("service_network_output_bytes_per_second", "node/sent_bytes_count", How.RATE),
    Row("service_uptime_seconds", "node/uptime", How.LOWEST),
)
TABLES = (
    ("redis.googleapis.com", REDIS_ROWS),
    ("redis.googleapis.com/cluster", REDIS_CLUSTER_ROWS),
    ("memorystore.googleapis.com/instance", VALKEY_ROWS),
    ("memcache.googleapis.com", MEMCACHED_ROWS),
)
NODE_LABELS = {"resource.labels.node_id", "resource.labels.shard_id"}
# A node's location is its zone: left in, the nodes of one instance would stay apart.
ZONE = "resource.labels.location"


def group_by(of: MetricType, per: str) -> tuple[str, ...]:
    """Return the labels that tell one place from another: the instance, its node, the node's role."""
    fields = [f"resource.labels.{label}" for label in resource_labels()[of.resource]]
    if per == INSTANCE:
        fields = [field for field in fields if field not in NODE_LABELS and field != ZONE]
    return (*fields, "metric.labels.role") if "role" in of.labels else tuple(fields)


def _metric(prefix: str, row: Row) -> CloudMetric:
    of, ours = metric_types()[f"{prefix}/{row.path}"], SERVICE_METRICS[POSITION[row.name]]
    assert of.kind is not None, f"{of.type} is known by its name alone"
    assert of.delay is not None, f"{of.type} is known by its name alone"
    aligner, reducer = row.how.value
    return CloudMetric(
        position=POSITION[row.name],
        name=row.name,
        type=of.type,
        product=of.product,
        resource=of.resource,
        unit=ours.unit,
        kind=of.kind,
        aligner=aligner,
        reducer=reducer,
        group_by=group_by(of, row.per),
        meaning=ours.meaning,
        over=row.over or ours.over,
        same_as=row.same_as or ours.same_as,
        delay_seconds=of.delay,
        scale=row.scale,
        where=row.where,
    )


COLLECTED: tuple[CloudMetric, ...] = tuple(_metric(prefix, row) for prefix, rows in TABLES for row in rows)
