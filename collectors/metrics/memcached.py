"""What Memcached reports: the numbers that stand in INFO's columns, and those that are its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

from collectors.metrics.catalogue import Kind, Metric
from fleet.engines import Engine

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

# Fields of `stats` and the hot metric that each one fills.
HOT_FIELDS = {
    "bytes": "used_memory",
    "limit_maxbytes": "maxmemory",
    "curr_items": "keys",
    "curr_connections": "connected_clients",
    "max_connections": "maxclients",
    "total_connections": "total_connections_received",
    "bytes_read": "total_net_input_bytes",
    "bytes_written": "total_net_output_bytes",
    "get_hits": "keyspace_hits",
    "get_misses": "keyspace_misses",
    "evictions": "evicted_keys",
    "rusage_user": "used_cpu_user",
    "rusage_system": "used_cpu_sys",
    "uptime": "uptime_in_seconds",
}
# Each of these counts requests of its own; together they stand for the commands run. A `get` of ten keys counts ten.
COMMAND_COUNTERS = (
    "cmd_get",
    "cmd_set",
    "cmd_touch",
    "cmd_flush",
    "delete_hits",
    "delete_misses",
    "incr_hits",
    "incr_misses",
    "decr_hits",
    "decr_misses",
)
# Connections that were refused, and times that the listener was shut because there were too many.
REFUSAL_COUNTERS = ("rejected_connections", "listen_disabled_num")
# What samples of Memcached hold, and what is derived of that.
REPORTED = frozenset(
    {
        *HOT_FIELDS.values(),
        "total_commands_processed",
        "rejected_connections",
        "is_primary",
        "read_after_ms",
        "round_trip_seconds",
        "commands_per_second",
        "connections_received_per_second",
        "rejected_connections_per_second",
        "keyspace_hits_per_second",
        "keyspace_misses_per_second",
        "evicted_keys_per_second",
        "network_input_bytes_per_second",
        "network_output_bytes_per_second",
        "cpu_ratio",
        "hit_ratio",
        "memory_used_ratio",
        "connections_used_ratio",
    }
)


def gauge(name: str, unit: str, section: str, meaning: StrOrPromise) -> Metric:
    return Metric(name, unit, Kind.GAUGE, meaning, section, engines=(Engine.MEMCACHED,))


def counter(name: str, unit: str, section: str, meaning: StrOrPromise) -> Metric:
    return Metric(name, unit, Kind.COUNTER, meaning, section, engines=(Engine.MEMCACHED,))


# Slots of stored arrays, behind those of INFO: add at the end of the whole table, never here.
MEMCACHED_DETAIL: tuple[Metric, ...] = (
    gauge("threads", "threads", "memcached", _("Worker threads that serve connections.")),
    gauge("accepting_conns", "claim", "memcached", _("Whether new connections are accepted.")),
    gauge("connection_structures", "connections", "memcached", _("Connections that there is memory for.")),
    counter("conn_yields", "events", "memcached", _("Times that a connection waited after many requests in a row.")),
    counter("listen_disabled_num", "events", "memcached", _("Times that the listener was shut at the limit.")),
    counter("time_in_listen_disabled_us", "microseconds", "memcached", _("Time during which the listener was shut.")),
    gauge("hash_bytes", "bytes", "memcached", _("Memory of the table that finds items.")),
    gauge("hash_is_expanding", "claim", "memcached", _("Whether that table is being made larger.")),
    counter("cmd_get", "lookups", "memcached", _("Keys looked up.")),
    counter("cmd_set", "commands", "memcached", _("Values stored, by set and its relatives.")),
    counter("cmd_touch", "commands", "memcached", _("Times to live that were renewed.")),
    counter("cmd_flush", "commands", "memcached", _("Calls of flush_all.")),
    counter("cmd_meta", "commands", "memcached", _("Meta commands.")),
    counter("delete_hits", "commands", "memcached", _("Deletions of keys that were there.")),
    counter("delete_misses", "commands", "memcached", _("Deletions of keys that were not there.")),
    counter("incr_hits", "commands", "memcached", _("Increments of keys that were there.")),
    counter("incr_misses", "commands", "memcached", _("Increments of keys that were not there.")),
    counter("decr_hits", "commands", "memcached", _("Decrements of keys that were there.")),
    counter("decr_misses", "commands", "memcached", _("Decrements of keys that were not there.")),
    counter("cas_hits", "commands", "memcached", _("Conditional writes that were made.")),
    counter("cas_misses", "commands", "memcached", _("Conditional writes of keys that were not there.")),
    counter("cas_badval", "commands", "memcached", _("Conditional writes of values that had changed meanwhile.")),
    counter("touch_hits", "commands", "memcached", _("Renewals of keys that were there.")),
    counter("touch_misses", "commands", "memcached", _("Renewals of keys that were not there.")),
    counter("get_expired", "lookups", "memcached", _("Lookups of keys whose time to live had ended.")),
    counter("get_flushed", "lookups", "memcached", _("Lookups of keys that flush_all had removed.")),
    counter("auth_cmds", "commands", "memcached", _("Logins.")),
    counter("auth_errors", "commands", "memcached", _("Logins that failed.")),
    counter("store_too_large", "values", "memcached", _("Values refused because they are larger than an item may be.")),
    counter("store_no_memory", "values", "memcached", _("Values refused because there was no memory for them.")),
    counter("total_items", "items", "memcached", _("Items stored since the start.")),
    counter("reclaimed", "items", "memcached", _("Items stored in the place of expired ones.")),
    counter("expired_unfetched", "items", "memcached", _("Items that expired without ever being read.")),
    counter("evicted_unfetched", "items", "memcached", _("Items evicted without ever being read.")),
    counter("evicted_active", "items", "memcached", _("Items evicted although they were read lately.")),
    counter("crawler_reclaimed", "items", "memcached", _("Expired items removed by the background crawler.")),
    counter("crawler_items_checked", "items", "memcached", _("Items that the background crawler looked at.")),
    counter("lru_crawler_starts", "runs", "memcached", _("Runs of the background crawler.")),
    counter("lrutail_reflocked", "items", "memcached", _("Items in use that were found where the next is evicted.")),
    counter("moves_to_cold", "items", "memcached", _("Items moved to the part that is evicted first.")),
    counter("moves_to_warm", "items", "memcached", _("Items moved to the part that is kept longer.")),
    counter("moves_within_lru", "items", "memcached", _("Items moved to the front of their part.")),
    counter("direct_reclaims", "items", "memcached", _("Evictions that a client had to wait for.")),
    counter("slabs_moved", "pages", "memcached", _("Pages of memory moved from one class to another.")),
    gauge("slab_global_page_pool", "pages", "memcached", _("Pages of memory that no class has now.")),
    gauge("extstore_limit_maxbytes", "bytes", "memcached", _("Size of the store on disk.")),
    gauge("extstore_bytes_used", "bytes", "memcached", _("Bytes used in the store on disk.")),
    gauge("extstore_bytes_fragmented", "bytes", "memcached", _("Bytes of that store that hold nothing any more.")),
    counter("extstore_objects_evicted", "items", "memcached", _("Items evicted from the store on disk.")),
    counter("extstore_objects_read", "items", "memcached", _("Items read from the store on disk.")),
    counter("extstore_objects_written", "items", "memcached", _("Items written to the store on disk.")),
    gauge("extstore_io_queue", "requests", "memcached", _("Requests that wait for the store on disk.")),
    counter("proxy_conn_requests", "requests", "memcached", _("Requests that went through the built-in proxy.")),
    counter("proxy_conn_errors", "requests", "memcached", _("Of those, requests that failed.")),
    gauge("item_size_max", "bytes", "settings", _("The largest item that is taken.")),
    gauge("idle_timeout", "seconds", "settings", _("Idle connections are closed after this time; 0 means never.")),
    gauge("active_slabs", "classes", "slabs", _("Classes of chunks that hold memory.")),
    gauge("total_malloced", "bytes", "slabs", _("Memory given to the classes of chunks.")),
    gauge("slabs_used_bytes", "bytes", "slabs", _("Bytes of the chunks in use, over all classes.")),
    gauge("slabs_mem_requested", "bytes", "slabs", _("Bytes that items need of those chunks; the rest is padding.")),
    gauge("slabs_free_bytes", "bytes", "slabs", _("Bytes of free chunks, over all classes.")),
    gauge("items_age", "seconds", "slabs", _("Age of the oldest item.")),
    gauge(
        "items_age_worst_slab", "seconds", "slabs", _("Age of the oldest item in the class with the fastest turnover.")
    ),
    gauge("items_evicted_time", "seconds", "slabs", _("Time since the last evicted item was used; shortest class.")),
    counter("items_outofmemory", "items", "slabs", _("Items that found no memory in their class.")),
    counter("items_tailrepairs", "repairs", "slabs", _("Repairs of items that were never given back.")),
    counter("worst_slab_evicted", "items", "slabs", _("Evictions of the class that evicts most.")),
    gauge("worst_slab_chunk_size", "bytes", "slabs", _("Size of a chunk in the class that evicts most.")),
    gauge("conns_idle", "connections", "conns", _("Connections without a command for five minutes.")),
    gauge("threads_busy_ratio", "ratio", "cpu", _("CPU time of the last minutes over that of all worker threads.")),
    gauge("conns_longest_idle", "seconds", "conns", _("Time since the last command of the most idle connection.")),
)
