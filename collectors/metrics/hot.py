"""The numbers that charts, rules and findings read: kept at every poll, one column each.

The order is the order of the columns: eight bytes first, so that rows carry no padding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

from collectors.metrics.catalogue import Column, Kind, Metric

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

MICRO = 1e-6


def gauge(name: str, unit: str, section: str, column: Column, meaning: StrOrPromise, since: str = "") -> Metric:
    return Metric(name, unit, Kind.GAUGE, meaning, section, since, column)


def counter(name: str, unit: str, section: str, column: Column, meaning: StrOrPromise, since: str = "") -> Metric:
    return Metric(name, unit, Kind.COUNTER, meaning, section, since, column)


def cpu(name: str, meaning: StrOrPromise, since: str = "") -> Metric:
    """CPU seconds, which INFO gives with six decimals: kept exactly, as whole microseconds."""
    return Metric(name, "seconds", Kind.COUNTER, meaning, "cpu", since, Column.INT8, MICRO)


INT8, INT4, INT2, BOOL, FLOAT4 = Column.INT8, Column.INT4, Column.INT2, Column.BOOL, Column.FLOAT4

HOT: tuple[Metric, ...] = (
    gauge("used_memory", "bytes", "memory", INT8, _("Memory that the allocator gave to the server.")),
    gauge("used_memory_rss", "bytes", "memory", INT8, _("Memory that the operating system gave to the process.")),
    gauge("used_memory_peak", "bytes", "memory", INT8, _("The most memory used since the server started.")),
    gauge("used_memory_dataset", "bytes", "memory", INT8, _("Memory of the data: used memory less the overhead.")),
    gauge("used_memory_overhead", "bytes", "memory", INT8, _("Memory of buffers and internal tables.")),
    gauge("maxmemory", "bytes", "memory", INT8, _("Limit of used memory; 0 means that the server sets none.")),
    gauge("mem_clients_normal", "bytes", "memory", INT8, _("Memory of ordinary clients' buffers."), "5.0"),
    gauge("mem_not_counted_for_evict", "bytes", "memory", INT8, _("Memory that eviction does not count.")),
    gauge("keys", "keys", "keyspace", INT8, _("Keys in all databases.")),
    gauge("expires", "keys", "keyspace", INT8, _("Keys that have a time to live.")),
    gauge("master_repl_offset", "bytes", "replication", INT8, _("Position in the replication stream.")),
    gauge("replication_lag_bytes", "bytes", "replication", INT8, _("Bytes by which a replica is behind its primary.")),
    gauge("rdb_changes_since_last_save", "changes", "persistence", INT8, _("Changes since the last snapshot.")),
    gauge("client_recent_max_output_buffer", "bytes", "clients", INT8, _("Largest output buffer of a client lately.")),
    gauge("client_recent_max_input_buffer", "bytes", "clients", INT8, _("Largest input buffer of a client lately.")),
    gauge(
        "cluster_current_epoch", "epochs", "cluster", INT8, _("Version of the cluster's layout; a failover raises it.")
    ),
    counter("total_commands_processed", "commands", "stats", INT8, _("Commands run by the server.")),
    counter("total_connections_received", "connections", "stats", INT8, _("Connections accepted.")),
    counter("rejected_connections", "connections", "stats", INT8, _("Connections refused because of maxclients.")),
    counter("total_net_input_bytes", "bytes", "stats", INT8, _("Bytes read from the network, replication included.")),
    counter("total_net_output_bytes", "bytes", "stats", INT8, _("Bytes written to the network, replication included.")),
    counter("total_net_repl_input_bytes", "bytes", "stats", INT8, _("Bytes read for replication."), "7.0"),
    counter("total_net_repl_output_bytes", "bytes", "stats", INT8, _("Bytes written for replication."), "7.0"),
    counter("keyspace_hits", "lookups", "stats", INT8, _("Lookups that found a key.")),
    counter("keyspace_misses", "lookups", "stats", INT8, _("Lookups that found no key.")),
    counter("expired_keys", "keys", "stats", INT8, _("Keys removed at the end of their time to live.")),
    counter("evicted_keys", "keys", "stats", INT8, _("Keys removed because memory was full.")),
    counter("total_error_replies", "replies", "stats", INT8, _("Error replies sent to clients."), "6.2"),
    cpu("used_cpu_sys", _("System CPU time of all threads of the server.")),
    cpu("used_cpu_user", _("User CPU time of all threads of the server.")),
    cpu("used_cpu_sys_main_thread", _("System CPU time of the main thread."), "6.2"),
    cpu("used_cpu_user_main_thread", _("User CPU time of the main thread."), "6.2"),
    gauge("connected_clients", "connections", "clients", INT4, _("Client connections, without replicas.")),
    gauge("maxclients", "connections", "clients", INT4, _("Limit of clients, replicas and cluster links together.")),
    gauge("cluster_connections", "connections", "clients", INT4, _("Links of the cluster bus."), "7.0"),
    gauge("blocked_clients", "connections", "clients", INT4, _("Clients waiting in a blocking call.")),
    gauge("tracking_clients", "connections", "clients", INT4, _("Clients with server-assisted caching."), "6.0"),
    gauge("pubsub_clients", "connections", "clients", INT4, _("Clients in publish/subscribe mode."), "7.4"),
    gauge("uptime_in_seconds", "seconds", "server", INT4, _("Time since the server started.")),
    gauge("instantaneous_ops_per_sec", "commands/s", "stats", INT4, _("The server's own short average of commands.")),
    gauge("master_last_io_seconds_ago", "seconds", "replication", INT4, _("Time since the primary was last heard.")),
    gauge("latest_fork_usec", "microseconds", "stats", INT4, _("Time that the last fork blocked the server.")),
    counter("sync_full", "syncs", "stats", INT4, _("Full copies sent to replicas.")),
    counter("sync_partial_ok", "syncs", "stats", INT4, _("Partial copies granted to replicas.")),
    counter("sync_partial_err", "syncs", "stats", INT4, _("Partial copies denied to replicas.")),
    gauge("read_after_ms", "milliseconds", "poll", INT4, _("Delay from the poll's scheduled time to its answer.")),
    gauge("round_trip_seconds", "seconds", "poll", FLOAT4, _("Time that the node took to answer our poll.")),
    gauge("mem_fragmentation_ratio", "ratio", "memory", FLOAT4, _("Resident memory over used memory.")),
    gauge("replication_lag_seconds", "seconds", "replication", FLOAT4, _("Time since the replica acknowledged.")),
    gauge("connected_slaves", "replicas", "replication", INT2, _("Replicas connected to this primary.")),
    gauge("cluster_slots_ok", "slots", "cluster", INT2, _("Slots whose primary answers.")),
    gauge("cluster_slots_assigned", "slots", "cluster", INT2, _("Slots that have a primary.")),
    gauge("cluster_slots_fail", "slots", "cluster", INT2, _("Slots whose primary has failed.")),
    gauge("cluster_known_nodes", "nodes", "cluster", INT2, _("Nodes in this node's view of the cluster.")),
    gauge("is_primary", "claim", "replication", BOOL, _("Whether the node is a primary.")),
    gauge("master_link_up", "claim", "replication", BOOL, _("Whether the replica's link to its primary is up.")),
    gauge("cluster_state_ok", "claim", "cluster", BOOL, _("Whether the node calls its cluster healthy.")),
    gauge("loading", "claim", "persistence", BOOL, _("Whether the server is loading data and answers nothing.")),
    gauge("rdb_last_bgsave_ok", "claim", "persistence", BOOL, _("Whether the last snapshot succeeded.")),
)

HOT_NAMES: tuple[str, ...] = tuple(metric.name for metric in HOT)
HOT_INDEX: dict[str, int] = {name: index for index, name in enumerate(HOT_NAMES)}
