"""All further numbers of INFO, CLUSTER INFO and Memcached's stats, kept every DETAIL_INTERVAL_SECONDS.

Values are stored as an array whose slots are this table's order: add at the end, never move or remove.
Fields that say ok or err, up or down, yes or no count as 1 and 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

from collectors.metrics.catalogue import Kind, Metric
from collectors.metrics.memcached import MEMCACHED_DETAIL

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


def gauge(name: str, unit: str, section: str, meaning: StrOrPromise, since: str = "") -> Metric:
    return Metric(name, unit, Kind.GAUGE, meaning, section, since)


def counter(name: str, unit: str, section: str, meaning: StrOrPromise, since: str = "") -> Metric:
    return Metric(name, unit, Kind.COUNTER, meaning, section, since)


def messages(type_name: str, meaning: StrOrPromise) -> tuple[Metric, Metric]:
    """Return the two counters of one kind of message on the cluster bus."""
    name = f"cluster_stats_messages_{type_name}"
    return (
        counter(f"{name}_sent", "messages", "cluster", meaning),
        counter(f"{name}_received", "messages", "cluster", meaning),
    )


DETAIL: tuple[Metric, ...] = (
    gauge("server_time_usec", "microseconds", "server", _("The server's own clock."), "6.0"),
    gauge("hz", "hertz", "server", _("How often a second the server runs its background work now.")),
    gauge("configured_hz", "hertz", "server", _("How often a second background work is configured to run."), "5.0"),
    gauge("lru_clock", "ticks", "server", _("Clock that ages keys for eviction.")),
    gauge(
        "io_threads_active", "threads", "server", _("I/O threads that work now; older servers say only 0 or 1."), "6.0"
    ),
    gauge("shutdown_in_milliseconds", "milliseconds", "server", _("Time left before a shutdown in progress."), "7.0"),
    gauge("watching_clients", "connections", "clients", _("Clients that watch keys for a transaction."), "7.4"),
    gauge("clients_in_timeout_table", "connections", "clients", _("Clients waiting with a timeout."), "6.0"),
    gauge("total_watched_keys", "keys", "clients", _("Keys watched for transactions."), "7.4"),
    gauge("total_blocking_keys", "keys", "clients", _("Keys that blocked clients wait for."), "7.2"),
    gauge("total_blocking_keys_on_nokey", "keys", "clients", _("Of those, keys whose removal wakes a client."), "7.2"),
    gauge(
        "client_longest_output_list", "replies", "clients", _("Longest list of waiting replies of a client; until 4.0.")
    ),
    gauge("client_biggest_input_buf", "bytes", "clients", _("Largest input buffer of a client; until 4.0.")),
    gauge("paused_timeout_milliseconds", "milliseconds", "clients", _("Time left of a pause of clients."), "9.0"),
    gauge("used_memory_startup", "bytes", "memory", _("Memory that the server used when it had just started.")),
    gauge("used_memory_peak_perc", "percent", "memory", _("Used memory as a share of its peak.")),
    gauge("used_memory_dataset_perc", "percent", "memory", _("The data's share of the memory gained since the start.")),
    gauge("allocator_allocated", "bytes", "memory", _("Bytes that the allocator handed out."), "4.0"),
    gauge("allocator_active", "bytes", "memory", _("Bytes in the allocator's pages in use."), "4.0"),
    gauge("allocator_resident", "bytes", "memory", _("Bytes that the allocator holds in memory."), "4.0"),
    gauge("allocator_muzzy", "bytes", "memory", _("Bytes that the system may take back from the allocator."), "7.4"),
    gauge("total_system_memory", "bytes", "memory", _("Memory of the machine.")),
    gauge("used_memory_lua", "bytes", "memory", _("Memory of the Lua engine for EVAL; the older name.")),
    gauge("used_memory_vm_eval", "bytes", "memory", _("Memory of the script engine for EVAL."), "7.0"),
    gauge("used_memory_scripts_eval", "bytes", "memory", _("Overhead of scripts run by EVAL."), "7.0"),
    gauge("used_memory_vm_functions", "bytes", "memory", _("Memory of the script engine for functions."), "7.0"),
    gauge("used_memory_vm_total", "bytes", "memory", _("Memory of both script engines."), "7.0"),
    gauge("used_memory_functions", "bytes", "memory", _("Overhead of functions."), "7.0"),
    gauge("used_memory_scripts", "bytes", "memory", _("Overhead of scripts and functions."), "7.0"),
    gauge("number_of_cached_scripts", "scripts", "memory", _("Scripts that the server keeps for EVALSHA."), "5.0"),
    gauge("number_of_functions", "functions", "memory", _("Functions that are loaded."), "7.0"),
    gauge("number_of_libraries", "libraries", "memory", _("Function libraries that are loaded."), "7.0"),
    gauge("maxmemory_reservation", "bytes", "memory", _("Memory set aside; reported by Azure only.")),
    gauge(
        "maxmemory_desired_reservation", "bytes", "memory", _("Memory asked to be set aside; reported by Azure only.")
    ),
    gauge(
        "maxfragmentationmemory_reservation",
        "bytes",
        "memory",
        _("Memory set aside for fragmentation; reported by Azure only."),
    ),
    gauge(
        "maxfragmentationmemory_desired_reservation",
        "bytes",
        "memory",
        _("Memory asked to be set aside for fragmentation; reported by Azure only."),
    ),
    gauge(
        "allocator_frag_ratio", "ratio", "memory", _("Active over allocated bytes: fragmentation inside pages."), "4.0"
    ),
    gauge("allocator_frag_bytes", "bytes", "memory", _("Active less allocated bytes."), "4.0"),
    gauge("allocator_rss_ratio", "ratio", "memory", _("Resident over active bytes of the allocator."), "4.0"),
    gauge("allocator_rss_bytes", "bytes", "memory", _("Resident less active bytes of the allocator."), "4.0"),
    gauge(
        "rss_overhead_ratio", "ratio", "memory", _("Resident memory of the process over that of the allocator."), "4.0"
    ),
    gauge("rss_overhead_bytes", "bytes", "memory", _("Resident memory that is not the allocator's."), "4.0"),
    gauge("mem_fragmentation_bytes", "bytes", "memory", _("Resident memory less used memory."), "4.0"),
    gauge("mem_replication_backlog", "bytes", "memory", _("Memory of the replication backlog.")),
    gauge("mem_total_replication_buffers", "bytes", "memory", _("Memory of all replication buffers."), "7.0"),
    gauge("mem_replicas_repl_buffer", "bytes", "memory", _("Memory of replication buffers kept for a copy."), "8.0"),
    gauge("mem_clients_slaves", "bytes", "memory", _("Memory of buffers for replicas."), "5.0"),
    gauge("mem_cluster_links", "bytes", "memory", _("Memory of links on the cluster bus."), "7.0"),
    gauge("mem_cluster_slot_import", "bytes", "memory", _("Memory of slots that are moving in."), "9.0"),
    gauge("mem_cluster_slot_export", "bytes", "memory", _("Memory of slots that are moving out."), "9.0"),
    gauge("mem_aof_buffer", "bytes", "memory", _("Memory of the append-only file's buffers.")),
    gauge(
        "mem_overhead_db_hashtable_rehashing",
        "bytes",
        "memory",
        _("Memory of hash tables that are being resized."),
        "7.4",
    ),
    gauge("active_defrag_running", "percent", "memory", _("Effort of active defragmentation; 0 means that it rests.")),
    gauge("lazyfree_pending_objects", "objects", "memory", _("Objects waiting to be freed in the background."), "4.0"),
    counter("lazyfreed_objects", "objects", "memory", _("Objects freed in the background."), "6.2"),
    gauge(
        "async_loading", "claim", "persistence", _("Whether a replica loads new data while it serves the old."), "7.0"
    ),
    gauge("loading_start_time", "seconds", "persistence", _("When the load in progress began, as a Unix time.")),
    gauge("loading_total_bytes", "bytes", "persistence", _("Size of the file that is being loaded.")),
    gauge("loading_loaded_bytes", "bytes", "persistence", _("Bytes of it that are loaded.")),
    gauge("loading_loaded_perc", "percent", "persistence", _("Share of it that is loaded.")),
    gauge("loading_eta_seconds", "seconds", "persistence", _("Time until the load ends, as the server guesses.")),
    gauge("current_cow_peak", "bytes", "persistence", _("Most memory copied on write during the present fork."), "7.0"),
    gauge("current_cow_size", "bytes", "persistence", _("Memory copied on write by the present fork."), "6.2"),
    gauge("current_cow_size_age", "seconds", "persistence", _("Age of that figure."), "6.2"),
    gauge("current_fork_perc", "percent", "persistence", _("Progress of the present fork."), "6.2"),
    gauge("current_save_keys_processed", "keys", "persistence", _("Keys written by the present save."), "6.2"),
    gauge("current_save_keys_total", "keys", "persistence", _("Keys when the present save began."), "6.2"),
    gauge("rdb_bgsave_in_progress", "claim", "persistence", _("Whether a snapshot is being written.")),
    gauge("rdb_last_save_time", "seconds", "persistence", _("When the last snapshot succeeded, as a Unix time.")),
    gauge(
        "rdb_last_bgsave_time_sec",
        "seconds",
        "persistence",
        _("Time that the last snapshot took; -1 before the first."),
    ),
    gauge(
        "rdb_current_bgsave_time_sec", "seconds", "persistence", _("Age of the snapshot in progress; -1 where none.")
    ),
    counter("rdb_saves", "saves", "persistence", _("Snapshots written."), "7.0"),
    gauge("rdb_last_cow_size", "bytes", "persistence", _("Memory copied on write during the last snapshot."), "4.0"),
    gauge("rdb_last_load_keys_expired", "keys", "persistence", _("Expired keys left out by the last load."), "7.0"),
    gauge("rdb_last_load_keys_loaded", "keys", "persistence", _("Keys read by the last load."), "7.0"),
    gauge("aof_enabled", "claim", "persistence", _("Whether the append-only file is on.")),
    gauge("aof_rewrite_in_progress", "claim", "persistence", _("Whether the append-only file is being rewritten.")),
    gauge("aof_rewrite_scheduled", "claim", "persistence", _("Whether a rewrite waits for the snapshot to end.")),
    gauge(
        "aof_last_rewrite_time_sec",
        "seconds",
        "persistence",
        _("Time that the last rewrite took; -1 before the first."),
    ),
    gauge(
        "aof_current_rewrite_time_sec", "seconds", "persistence", _("Age of the rewrite in progress; -1 where none.")
    ),
    gauge("aof_last_bgrewrite_status", "claim", "persistence", _("Whether the last rewrite succeeded.")),
    counter("aof_rewrites", "rewrites", "persistence", _("Rewrites of the append-only file."), "7.0"),
    gauge("aof_rewrites_consecutive_failures", "failures", "persistence", _("Rewrites that failed in a row."), "7.0"),
    gauge(
        "aof_last_write_status", "claim", "persistence", _("Whether the last write to the append-only file succeeded.")
    ),
    gauge("aof_last_cow_size", "bytes", "persistence", _("Memory copied on write during the last rewrite."), "4.0"),
    gauge("aof_current_size", "bytes", "persistence", _("Size of the append-only file.")),
    gauge("aof_base_size", "bytes", "persistence", _("Its size after the last rewrite or the start.")),
    gauge(
        "aof_pending_rewrite", "claim", "persistence", _("Whether a rewrite waits for the snapshot to end; older name.")
    ),
    gauge("aof_buffer_length", "bytes", "persistence", _("Bytes waiting to be written to the append-only file.")),
    gauge("aof_rewrite_buffer_length", "bytes", "persistence", _("Bytes that a rewrite still has to add; until 6.2.")),
    gauge("aof_pending_bio_fsync", "jobs", "persistence", _("Waiting requests to flush the file to disk.")),
    counter("aof_delayed_fsync", "events", "persistence", _("Writes held up by a slow flush to disk.")),
    gauge("module_fork_in_progress", "claim", "persistence", _("Whether a module runs a fork."), "6.0"),
    gauge(
        "module_fork_last_cow_size", "bytes", "persistence", _("Memory copied on write by a module's last fork."), "6.0"
    ),
    gauge("slot_migration_fork_in_progress", "claim", "persistence", _("Whether a fork sends slots away."), "9.0"),
    gauge("instantaneous_input_kbps", "kilobytes/s", "stats", _("The server's own short average of bytes read.")),
    gauge("instantaneous_output_kbps", "kilobytes/s", "stats", _("The server's own short average of bytes written.")),
    gauge("instantaneous_input_repl_kbps", "kilobytes/s", "stats", _("The same for reading replication."), "7.0"),
    gauge("instantaneous_output_repl_kbps", "kilobytes/s", "stats", _("The same for writing replication."), "7.0"),
    counter("total_net_cluster_slot_import_bytes", "bytes", "stats", _("Bytes read for slots moving in."), "9.0"),
    counter("total_net_cluster_slot_export_bytes", "bytes", "stats", _("Bytes written for slots moving out."), "9.0"),
    counter(
        "expired_subkeys",
        "fields",
        "stats",
        _("Hash fields removed at the end of their time to live; in Redis."),
        "7.4",
    ),
    counter(
        "expired_fields",
        "fields",
        "stats",
        _("Hash fields removed at the end of their time to live; in Valkey."),
        "9.0",
    ),
    gauge("expired_stale_perc", "percent", "stats", _("Share of keys that have expired but are still stored."), "5.0"),
    counter("expired_time_cap_reached_count", "events", "stats", _("Times that expiring keys ran out of time."), "5.0"),
    counter("expire_cycle_cpu_milliseconds", "milliseconds", "stats", _("CPU time spent on expiring keys."), "6.0"),
    counter("evicted_clients", "connections", "stats", _("Clients closed because of maxmemory-clients."), "7.0"),
    counter("evicted_scripts", "scripts", "stats", _("Scripts removed from the cache."), "7.4"),
    counter("total_eviction_exceeded_time", "milliseconds", "stats", _("Time spent above maxmemory."), "7.0"),
    gauge(
        "current_eviction_exceeded_time", "milliseconds", "stats", _("Time since memory went above maxmemory."), "7.0"
    ),
    gauge("pubsub_channels", "channels", "stats", _("Channels that have subscribers.")),
    gauge("pubsub_patterns", "patterns", "stats", _("Patterns that have subscribers.")),
    gauge("pubsubshard_channels", "channels", "stats", _("Shard channels that have subscribers."), "7.0"),
    counter("total_forks", "forks", "stats", _("Forks since the start."), "6.2"),
    gauge("migrate_cached_sockets", "sockets", "stats", _("Connections kept open for MIGRATE.")),
    gauge("slave_expires_tracked_keys", "keys", "stats", _("Keys that a writable replica expires by itself.")),
    counter("active_defrag_hits", "values", "stats", _("Values moved by active defragmentation."), "4.0"),
    counter("active_defrag_misses", "values", "stats", _("Values looked at and left in place by it."), "4.0"),
    counter("active_defrag_key_hits", "keys", "stats", _("Keys defragmented."), "4.0"),
    counter("active_defrag_key_misses", "keys", "stats", _("Keys that needed no defragmentation."), "4.0"),
    counter("total_active_defrag_time", "milliseconds", "stats", _("Time with fragmentation above its limit."), "7.0"),
    gauge(
        "current_active_defrag_time",
        "milliseconds",
        "stats",
        _("Time since fragmentation rose above its limit."),
        "7.0",
    ),
    gauge("tracking_total_keys", "keys", "stats", _("Keys tracked for client-side caching."), "6.0"),
    gauge("tracking_total_items", "items", "stats", _("Pairs of client and key tracked."), "6.0"),
    gauge("tracking_total_prefixes", "prefixes", "stats", _("Prefixes tracked in broadcast mode."), "6.0"),
    counter("unexpected_error_replies", "replies", "stats", _("Errors from loading data or from a primary."), "6.2"),
    counter("dump_payload_sanitizations", "checks", "stats", _("Deep checks of restored values."), "6.2"),
    counter("total_reads_processed", "events", "stats", _("Read events handled."), "6.0"),
    counter("total_writes_processed", "events", "stats", _("Write events handled."), "6.0"),
    counter("io_threaded_reads_processed", "events", "stats", _("Read events handled by I/O threads."), "6.0"),
    counter("io_threaded_writes_processed", "events", "stats", _("Write events handled by I/O threads."), "6.0"),
    counter("io_threaded_freed_objects", "objects", "stats", _("Objects freed by I/O threads."), "8.0"),
    counter("io_threaded_accept_processed", "events", "stats", _("Connections accepted by I/O threads."), "8.1"),
    counter("io_threaded_poll_processed", "events", "stats", _("Polls of sockets by I/O threads."), "8.0"),
    counter("io_threaded_total_prefetch_batches", "batches", "stats", _("Batches of keys fetched ahead."), "8.0"),
    counter("io_threaded_total_prefetch_entries", "keys", "stats", _("Keys fetched ahead."), "8.0"),
    counter(
        "client_query_buffer_limit_disconnections",
        "connections",
        "stats",
        _("Clients closed because their input buffer grew too large."),
        "7.4",
    ),
    counter(
        "client_output_buffer_limit_disconnections",
        "connections",
        "stats",
        _("Clients closed because their output buffer grew too large."),
        "7.4",
    ),
    counter(
        "reply_buffer_shrinks", "events", "stats", _("Times that a client's reply buffer was made smaller."), "7.0"
    ),
    counter("reply_buffer_expands", "events", "stats", _("Times that a client's reply buffer was made larger."), "7.0"),
    counter("eventloop_cycles", "cycles", "stats", _("Rounds of the event loop."), "7.2"),
    counter("eventloop_duration_sum", "microseconds", "stats", _("Time spent in the event loop."), "7.2"),
    counter(
        "eventloop_duration_cmd_sum", "microseconds", "stats", _("Time of the event loop spent on commands."), "7.2"
    ),
    gauge("instantaneous_eventloop_cycles_per_sec", "cycles/s", "stats", _("The event loop's rounds a second."), "7.2"),
    gauge(
        "instantaneous_eventloop_duration_usec", "microseconds", "stats", _("Time of a round of the event loop."), "7.2"
    ),
    counter("acl_access_denied_auth", "events", "stats", _("Failed logins."), "6.2"),
    counter("acl_access_denied_cmd", "events", "stats", _("Commands refused to a user."), "6.2"),
    counter("acl_access_denied_key", "events", "stats", _("Keys refused to a user."), "6.2"),
    counter("acl_access_denied_channel", "events", "stats", _("Channels refused to a user."), "6.2"),
    counter("acl_access_denied_tls_cert", "events", "stats", _("Logins by certificate that failed."), "9.0"),
    counter("acl_access_denied_db", "events", "stats", _("Databases refused to a user."), "9.0"),
    gauge("master_sync_in_progress", "claim", "replication", _("Whether the replica receives a full copy.")),
    gauge("slave_read_repl_offset", "bytes", "replication", _("Position that the replica has read."), "7.0"),
    gauge("slave_repl_offset", "bytes", "replication", _("Position that the replica has applied.")),
    gauge(
        "master_sync_total_bytes",
        "bytes",
        "replication",
        _("Size of the copy being received; 0 where not known."),
        "6.2",
    ),
    gauge("master_sync_read_bytes", "bytes", "replication", _("Bytes of the copy received."), "6.2"),
    gauge("master_sync_left_bytes", "bytes", "replication", _("Bytes of the copy still missing.")),
    gauge("master_sync_perc", "percent", "replication", _("Share of the copy received."), "6.2"),
    gauge("master_sync_last_io_seconds_ago", "seconds", "replication", _("Time since the copy last moved.")),
    gauge("master_link_down_since_seconds", "seconds", "replication", _("Time since the link to the primary broke.")),
    gauge("slave_priority", "rank", "replication", _("Preference for promotion; 0 means never.")),
    gauge("slave_read_only", "claim", "replication", _("Whether the replica refuses writes.")),
    gauge("replica_announced", "claim", "replication", _("Whether the replica is shown to Sentinel."), "6.2"),
    gauge("replicas_waiting_psync", "replicas", "replication", _("Replicas that wait for a partial copy."), "8.0"),
    gauge("min_slaves_good_slaves", "replicas", "replication", _("Replicas near enough to count for writes.")),
    gauge("second_repl_offset", "bytes", "replication", _("Up to where the former primary's history is valid.")),
    gauge("repl_backlog_active", "claim", "replication", _("Whether the replication backlog is kept.")),
    gauge("repl_backlog_size", "bytes", "replication", _("Size of the replication backlog.")),
    gauge("repl_backlog_first_byte_offset", "bytes", "replication", _("First position in the backlog.")),
    gauge("repl_backlog_histlen", "bytes", "replication", _("Bytes in the backlog.")),
    counter("used_cpu_sys_children", "seconds", "cpu", _("System CPU time of forks.")),
    counter("used_cpu_user_children", "seconds", "cpu", _("User CPU time of forks.")),
    counter("used_active_time_main_thread", "seconds", "cpu", _("Time that the main thread was not idle."), "9.0"),
    counter(
        "used_active_time_io_threads", "seconds", "cpu", _("Time that I/O threads were not idle, all together."), "9.0"
    ),
    gauge("avg_ttl", "milliseconds", "keyspace", _("Mean time to live of keys that have one.")),
    gauge("subexpiry", "keys", "keyspace", _("Hashes that have fields with a time to live."), "7.4"),
    gauge("cached_keys", "keys", "keyspace", _("Keys held in memory in front of a disk store; KeyDB only.")),
    gauge("databases", "databases", "keyspace", _("Databases that hold keys.")),
    gauge("cluster_slots_pfail", "slots", "cluster", _("Slots whose primary may have failed.")),
    gauge("cluster_size", "shards", "cluster", _("Primaries that hold slots.")),
    gauge("cluster_my_epoch", "epochs", "cluster", _("Version of this node's own slots.")),
    gauge("cluster_nodes_pfail", "nodes", "cluster", _("Nodes that may have failed."), "9.0"),
    gauge("cluster_nodes_fail", "nodes", "cluster", _("Nodes that have failed."), "9.0"),
    gauge("cluster_voting_nodes_pfail", "nodes", "cluster", _("Primaries that may have failed."), "9.0"),
    gauge("cluster_voting_nodes_fail", "nodes", "cluster", _("Primaries that have failed."), "9.0"),
    counter("cluster_stats_messages_sent", "messages", "cluster", _("Messages sent on the cluster bus.")),
    counter("cluster_stats_messages_received", "messages", "cluster", _("Messages received on the cluster bus.")),
    *messages("ping", _("Checks of another node.")),
    *messages("pong", _("Answers to checks.")),
    *messages("meet", _("Invitations into the cluster.")),
    *messages("fail", _("News that a node has failed.")),
    *messages("publish", _("Published messages passed on.")),
    *messages("publishshard", _("Published messages passed on inside a shard.")),
    *messages("auth-req", _("Requests for a vote in a failover.")),
    *messages("auth-ack", _("Votes in a failover.")),
    *messages("update", _("News about who holds slots.")),
    *messages("mfstart", _("Beginnings of a manual failover.")),
    *messages("module", _("Messages of modules.")),
    counter("cluster_stats_bytes_sent", "bytes", "cluster", _("Bytes sent on the cluster bus."), "9.0"),
    counter("cluster_stats_bytes_received", "bytes", "cluster", _("Bytes received on the cluster bus."), "9.0"),
    counter(
        "total_cluster_links_buffer_limit_exceeded",
        "events",
        "cluster",
        _("Links of the bus closed because their buffer grew too large."),
        "7.0",
    ),
    *MEMCACHED_DETAIL,
)

DETAIL_NAMES: tuple[str, ...] = tuple(metric.name for metric in DETAIL)
DETAIL_INDEX: dict[str, int] = {name: index for index, name in enumerate(DETAIL_NAMES)}

# Text and rarely changing fields, stored when they change.
FACTS: tuple[str, ...] = (
    "redis_version",
    "valkey_version",
    "server_name",
    "redis_mode",
    "server_mode",
    "os",
    "arch_bits",
    "multiplexing_api",
    "process_id",
    "run_id",
    "tcp_port",
    "availability_zone",
    "maxmemory_policy",
    "mem_allocator",
    "role",
    "master_host",
    "master_port",
    "master_replid",
    "master_replid2",
    "master_failover_state",
    "cluster_enabled",
    "memcached_version",
)
