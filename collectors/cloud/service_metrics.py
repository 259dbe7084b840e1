"""Our names for the numbers that Google's services report of their caches: one name over all products that have it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


@dataclass(frozen=True, slots=True)
class ServiceMetric:
    """One number. `over` tells how the places of a cache (nodes, roles) make one: sum, max, min or mean.

    `same_as` names the metric that we read from the nodes and that tells the same, "" where there is none.
    """

    name: str
    unit: str
    over: str
    meaning: StrOrPromise
    same_as: str = ""


# The place in this list is the place in the stored arrays: append only.
SERVICE_METRICS: tuple[ServiceMetric, ...] = (
    ServiceMetric(
        "service_cpu_utilization", "ratio", "max", _("CPU use, of the busiest node where there are several.")
    ),
    ServiceMetric("service_cpu_average_utilization", "ratio", "max", _("CPU use, the mean over the nodes.")),
    ServiceMetric(
        "service_main_thread_cpu_ratio",
        "ratio",
        "max",
        _("CPU time of the main thread as a share of one core."),
        "main_thread_cpu_ratio",
    ),
    ServiceMetric(
        "service_memory_maximum_utilization",
        "ratio",
        "max",
        _("Used memory over its limit, of the fullest node where there are several."),
        "memory_used_ratio",
    ),
    ServiceMetric(
        "service_memory_average_utilization", "ratio", "max", _("Used memory over its limit, mean of nodes.")
    ),
    ServiceMetric(
        "service_system_memory_usage_ratio",
        "ratio",
        "max",
        _("Memory in use over all memory of the machine: above 0.8 writes may soon be refused."),
    ),
    ServiceMetric(
        "service_memory_overload_ratio",
        "ratio",
        "max",
        _("Share of the time in which writes were refused because the machine's memory was full."),
    ),
    ServiceMetric("service_used_memory", "bytes", "max", _("Memory that the service counts as used."), "used_memory"),
    ServiceMetric("service_maxmemory", "bytes", "max", _("Limit of used memory that is in force."), "maxmemory"),
    ServiceMetric("service_memory_size", "bytes", "max", _("Memory that was bought for the data.")),
    ServiceMetric(
        "service_connected_clients", "connections", "sum", _("Client connections to all nodes."), "connected_clients"
    ),
    ServiceMetric("service_maximum_connected_clients", "connections", "max", _("Connections to the busiest node.")),
    ServiceMetric(
        "service_blocked_clients", "connections", "sum", _("Clients waiting in a blocking call."), "blocked_clients"
    ),
    ServiceMetric(
        "service_connections_received_per_second",
        "connections/s",
        "sum",
        _("New connections per second."),
        "connections_received_per_second",
    ),
    ServiceMetric(
        "service_rejected_connections_per_second",
        "connections/s",
        "sum",
        _("Connections refused per second because of the limit."),
        "rejected_connections_per_second",
    ),
    ServiceMetric(
        "service_commands_per_second",
        "commands/s",
        "sum",
        _("Commands run per second, on all nodes."),
        "commands_per_second",
    ),
    ServiceMetric(
        "service_command_time_ratio",
        "ratio",
        "sum",
        _("Time spent in commands per second of time, added up over the nodes."),
    ),
    ServiceMetric("service_keys", "keys", "max", _("Keys, as the service counts them."), "keys"),
    ServiceMetric("service_keys_with_ttl", "keys", "max", _("Keys that have a time to live."), "expires"),
    ServiceMetric("service_average_ttl_seconds", "seconds", "max", _("Mean time to live of the keys that have one.")),
    ServiceMetric("service_hit_ratio", "ratio", "min", _("Share of lookups that found a key."), "hit_ratio"),
    ServiceMetric(
        "service_keyspace_hits_per_second",
        "lookups/s",
        "sum",
        _("Lookups per second that found a key."),
        "keyspace_hits_per_second",
    ),
    ServiceMetric(
        "service_keyspace_misses_per_second",
        "lookups/s",
        "sum",
        _("Lookups per second that found no key."),
        "keyspace_misses_per_second",
    ),
    ServiceMetric(
        "service_evicted_keys_per_second",
        "keys/s",
        "sum",
        _("Keys per second removed because memory was full."),
        "evicted_keys_per_second",
    ),
    ServiceMetric(
        "service_expired_keys_per_second",
        "keys/s",
        "sum",
        _("Keys per second that reached the end of their life."),
        "expired_keys_per_second",
    ),
    ServiceMetric("service_network_bytes_per_second", "bytes/s", "sum", _("Bytes per second, in and out together.")),
    ServiceMetric("service_network_input_bytes_per_second", "bytes/s", "sum", _("Bytes per second that came in.")),
    ServiceMetric("service_network_output_bytes_per_second", "bytes/s", "sum", _("Bytes per second that went out.")),
    ServiceMetric(
        "service_uptime_seconds", "seconds", "min", _("Time since a node started; a fall means that it restarted.")
    ),
    ServiceMetric("service_node_healthy", "claim", "min", _("Whether the service calls a node up and serving.")),
    ServiceMetric("service_is_primary", "claim", "max", _("Whether a node is the primary."), "is_primary"),
    ServiceMetric(
        "service_replication_lag_bytes",
        "bytes",
        "max",
        _("Bytes by which the farthest replica is behind."),
        "replication_lag_bytes",
    ),
    ServiceMetric(
        "service_replication_lag_seconds", "seconds", "max", _("Time by which the farthest replica is late.")
    ),
    ServiceMetric(
        "service_master_repl_offset", "bytes", "max", _("Position in the replication stream."), "master_repl_offset"
    ),
    ServiceMetric("service_rdb_in_progress", "claim", "max", _("Whether a snapshot is being written.")),
    ServiceMetric(
        "service_rdb_last_bgsave_ok", "claim", "min", _("Whether the last snapshot succeeded."), "rdb_last_bgsave_ok"
    ),
    ServiceMetric("service_rdb_age_seconds", "seconds", "max", _("Time since the last good snapshot.")),
    ServiceMetric("service_rdb_duration_seconds", "seconds", "max", _("Time that the last good snapshot took.")),
    ServiceMetric("service_recovery_in_progress", "claim", "max", _("Whether data is being restored.")),
    ServiceMetric("service_aof_fsync_lag_seconds", "seconds", "max", _("Time by which the log on disk is behind.")),
    ServiceMetric("service_aof_last_write_ok", "claim", "min", _("Whether the last write of the log succeeded.")),
    ServiceMetric("service_aof_fsync_errors_per_second", "errors/s", "sum", _("Failed writes of the log to disk.")),
    ServiceMetric("service_backup_ok", "claim", "min", _("Whether the last backup succeeded.")),
    ServiceMetric("service_backup_start_time", "seconds", "max", _("When the last backup began, in Unix time.")),
    ServiceMetric("service_backup_size", "bytes", "max", _("Size of the last backup.")),
    ServiceMetric(
        "service_cross_region_lag_bytes",
        "bytes",
        "max",
        _("Bytes by which the farthest copy in another region is behind."),
    ),
    ServiceMetric("service_cross_region_links", "links", "sum", _("Replication links to other regions that are up.")),
    ServiceMetric("service_pubsub_channels", "channels", "max", _("Channels that somebody subscribes to.")),
    ServiceMetric("service_pubsub_patterns", "patterns", "max", _("Patterns that somebody subscribes to.")),
    ServiceMetric("service_search_used_memory", "bytes", "sum", _("Memory of vector search.")),
    ServiceMetric("service_search_indexes", "indexes", "max", _("Vector indexes.")),
    ServiceMetric("service_search_queries_per_second", "commands/s", "sum", _("Vector searches per second.")),
    ServiceMetric("service_json_used_memory", "bytes", "sum", _("Memory of JSON documents.")),
    ServiceMetric("service_bloom_used_memory", "bytes", "sum", _("Memory of Bloom filters.")),
    ServiceMetric("service_node_connected_clients", "connections", "max", _("Client connections to a node.")),
    ServiceMetric("service_node_used_memory", "bytes", "max", _("Memory that a node uses.")),
    ServiceMetric(
        "service_node_memory_utilization",
        "ratio",
        "max",
        _("Used memory of a node over its limit."),
    ),
    ServiceMetric("service_node_keys", "keys", "max", _("Keys on a node.")),
    ServiceMetric(
        "service_node_commands_per_second",
        "commands/s",
        "max",
        _("Commands that a node runs per second."),
    ),
)
POSITION = {metric.name: position for position, metric in enumerate(SERVICE_METRICS)}
