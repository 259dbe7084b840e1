"""How the numbers that a server tells become points of Cloud Monitoring's metric types."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from demo.cloud.reading import Reading

Labels = Mapping[str, str]
Found = Iterable[tuple[Labels, float]]
# A reading, the one before (None at first, when counters tell nothing yet), to values with their labels.
Measure = Callable[[Reading, Reading | None], Found]

BARE: Labels = {}
# What the system keeps beside the cache: maxmemory is this share of a node's memory.
MAXMEMORY_SHARE = 0.8


def level(name: str, scale: float = 1) -> Measure:
    def measure(now: Reading, _: Reading | None) -> Found:
        if name in now.info:
            yield BARE, now.number(name) * scale

    return measure


def growth(name: str, scale: float = 1, **labels: str) -> Measure:
    def measure(now: Reading, before: Reading | None) -> Found:
        if before and name in now.info:
            yield labels, now.grown(before, name) * scale

    return measure


def all_of(*measures: Measure) -> Measure:
    def measure(now: Reading, before: Reading | None) -> Found:
        for one in measures:
            yield from one(now, before)

    return measure


def claim(name: str, wanted: object) -> Measure:
    """Return 1 while a field says so, else 0."""

    def measure(now: Reading, _: Reading | None) -> Found:
        if name in now.info:
            yield BARE, float(now.info[name] == wanted)

    return measure


def ratio(part: str, *whole: str) -> Measure:
    """Return the share of one counter's growth in that of several; nothing while none grew."""

    def measure(now: Reading, before: Reading | None) -> Found:
        if before and (grown := sum(now.grown(before, name) for name in whole)):
            yield BARE, now.grown(before, part) / grown

    return measure


def share(part: str, whole: str, scale: float = 1) -> Measure:
    """Return one level over another; nothing where that is zero."""

    def measure(now: Reading, _: Reading | None) -> Found:
        if now.number(whole):
            yield BARE, now.number(part) * scale / now.number(whole)

    return measure


def nothing(_: Reading, __: Reading | None) -> Found:
    """Return the count of what never happens here."""
    return [(BARE, 0.0)]


def constant(value: float) -> Measure:
    return lambda _, __: [(BARE, value)]


def per_command(part: str, label: str) -> Measure:
    """Return by how much calls or microseconds of each command grew."""

    def measure(now: Reading, before: Reading | None) -> Found:
        for name, told in now.info.items():
            if before and name.startswith("cmdstat_"):
                then = before.info.get(name, {}).get(part, 0)
                grown = told[part] - then if told[part] >= then else told[part]
                yield {label: name.removeprefix("cmdstat_").replace("|", " ")}, grown

    return measure


def databases(reading: Reading) -> Iterable[tuple[str, Mapping[str, Any]]]:
    return ((name, told) for name, told in reading.info.items() if name[:2] == "db" and name[2:].isdigit())


def per_database(part: str) -> Measure:
    return lambda now, _: [({"db": name}, float(told[part])) for name, told in databases(now)]


def over_databases(part: str) -> Measure:
    return lambda now, _: [(BARE, float(sum(told[part] for _, told in databases(now))))]


def replicas(reading: Reading) -> Iterable[tuple[str, Mapping[str, Any]]]:
    return ((name, told) for name, told in reading.info.items() if name[:5] == "slave" and name[5:].isdigit())


def per_replica(part: str) -> Measure:
    return lambda now, _: [({"slave": name}, float(told[part])) for name, told in replicas(now)]


def farthest(now: Reading, _: Reading | None) -> Found:
    """Return how many bytes the farthest replica of a primary lacks."""
    behind = [now.number("master_repl_offset") - told["offset"] for _, told in replicas(now)]
    return [(BARE, max(behind))] if behind else []


def latest(now: Reading, _: Reading | None) -> Found:
    """Return for how many seconds the slowest replica of a primary has not acknowledged."""
    lags = [float(told["lag"]) for _, told in replicas(now)]
    return [(BARE, max(lags))] if lags else []


def since(name: str) -> Measure:
    """Return the seconds that passed since a moment in Unix time."""

    def measure(now: Reading, _: Reading | None) -> Found:
        if now.number(name):
            yield BARE, max(0.0, now.at - now.number(name))

    return measure


CPU_STATES = {
    "sys": "used_cpu_sys",
    "sys_children": "used_cpu_sys_children",
    "sys_main_thread": "used_cpu_sys_main_thread",
    "user": "used_cpu_user",
    "user_children": "used_cpu_user_children",
    "user_main_thread": "used_cpu_user_main_thread",
}


def cpu_by_state(now: Reading, before: Reading | None) -> Found:
    if before and now.at > before.at:
        for state, name in CPU_STATES.items():
            yield {"state": state}, now.grown(before, name) / (now.at - before.at)


def cpu_share(*names: str) -> Measure:
    """Return CPU seconds per second of time."""

    def measure(now: Reading, before: Reading | None) -> Found:
        if before and now.at > before.at:
            yield BARE, sum(now.grown(before, name) for name in names) / (now.at - before.at)

    return measure


def cpu_seconds(end: str = "") -> Measure:
    both = {"system": "used_cpu_sys", "user": "used_cpu_user"}
    return all_of(*(growth(name + end, space=space, relationship="parent") for space, name in both.items()))


REDIS: Mapping[str, Measure] = {
    "clients/blocked": level("blocked_clients"),
    "clients/connected": level("connected_clients"),
    "commands/calls": per_command("calls", "cmd"),
    "commands/total_time": per_command("usec", "cmd"),
    "keyspace/avg_ttl": per_database("avg_ttl"),
    "keyspace/keys": per_database("keys"),
    "keyspace/keys_with_expiration": per_database("expires"),
    "persistence/rdb/bgsave_in_progress": level("rdb_bgsave_in_progress"),
    "rdb/recovery/in_progress": level("loading"),
    "rdb/snapshot/last_success_age": since("rdb_last_save_time"),
    "rdb/snapshot/last_success_duration": level("rdb_last_bgsave_time_sec"),
    "replication/master/slaves/lag": per_replica("lag"),
    "replication/master/slaves/offset": per_replica("offset"),
    "replication/master_repl_offset": level("master_repl_offset"),
    "replication/offset_diff": farthest,
    "replication/role": claim("role", "master"),
    "server/uptime": level("uptime_in_seconds"),
    "stats/cache_hit_ratio": ratio("keyspace_hits", "keyspace_hits", "keyspace_misses"),
    "stats/connections/total": growth("total_connections_received"),
    "stats/cpu_utilization": cpu_seconds(),
    "stats/cpu_utilization_main_thread": cpu_seconds("_main_thread"),
    "stats/evicted_keys": growth("evicted_keys"),
    "stats/expired_keys": growth("expired_keys"),
    "stats/keyspace_hits": growth("keyspace_hits"),
    "stats/keyspace_misses": growth("keyspace_misses"),
    "stats/memory/maxmemory": level("maxmemory"),
    "stats/memory/system_memory_overload_duration": nothing,
    "stats/memory/system_memory_usage_ratio": share("used_memory", "maxmemory", MAXMEMORY_SHARE),
    "stats/memory/usage": level("used_memory"),
    "stats/memory/usage_ratio": share("used_memory", "maxmemory"),
    "stats/network_traffic": all_of(
        growth("total_net_input_bytes", direction="in"), growth("total_net_output_bytes", direction="out")
    ),
    "stats/pubsub/channels": level("pubsub_channels"),
    "stats/pubsub/patterns": level("pubsub_patterns"),
    "stats/reject_connections_count": growth("rejected_connections"),
}
# Both cluster products; what begins with # is only there to be added up below.
NODE: Mapping[str, Measure] = {
    "#cpu": cpu_share("used_cpu_sys_main_thread", "used_cpu_user_main_thread"),
    "#maxmemory": level("maxmemory"),
    "#offset_diff": farthest,
    "#ack_lag": latest,
    "node/clients/blocked_clients": level("blocked_clients"),
    "node/clients/connected_clients": level("connected_clients"),
    "node/commandstats/calls_count": per_command("calls", "command"),
    "node/commandstats/usec_count": per_command("usec", "command"),
    "node/cpu/utilization": cpu_by_state,
    "node/keyspace/total_keys": over_databases("keys"),
    "node/memory/usage": level("used_memory"),
    "node/memory/utilization": share("used_memory", "maxmemory"),
    "node/persistence/rdb_bgsave_in_progress": level("rdb_bgsave_in_progress"),
    "node/persistence/rdb_last_bgsave_status": claim("rdb_last_bgsave_status", "ok"),
    "node/persistence/rdb_last_save_age": since("rdb_last_save_time"),
    "node/replication/offset": level("master_repl_offset"),
    "node/server/healthy": constant(1),
    "node/server/uptime": level("uptime_in_seconds"),
    "node/stats/connections_received_count": growth("total_connections_received"),
    "node/stats/evicted_keys_count": growth("evicted_keys"),
    "node/stats/expired_keys_count": growth("expired_keys"),
    "node/stats/keyspace_hits_count": growth("keyspace_hits"),
    "node/stats/keyspace_misses_count": growth("keyspace_misses"),
    "node/stats/net_input_bytes_count": growth("total_net_input_bytes"),
    "node/stats/net_output_bytes_count": growth("total_net_output_bytes"),
    "node/stats/rejected_connections_count": growth("rejected_connections"),
}
OPERATIONS = (
    *(("get", answer, f"get_{answer}") for answer in ("hits", "misses")),
    *(("delete", answer, f"delete_{answer}") for answer in ("hits", "misses")),
    ("set", "stored", "cmd_set"),
)
MEMCACHED: Mapping[str, Measure] = {
    "node/active_connections": level("curr_connections"),
    "node/cache_memory": lambda now, _: [
        ({"used": "1"}, now.number("bytes")),
        ({"used": "0"}, now.number("limit_maxbytes") - now.number("bytes")),
    ],
    "node/cpu/usage_time": all_of(growth("rusage_user", mode="user"), growth("rusage_system", mode="kernel")),
    "node/cpu/utilization": cpu_share("rusage_user", "rusage_system"),
    "node/eviction_count": growth("evictions"),
    "node/hit_ratio": ratio("get_hits", "get_hits", "get_misses"),
    "node/items": level("curr_items"),
    "node/memory/utilization": share("bytes", "limit_maxbytes", MAXMEMORY_SHARE),
    "node/operation_count": all_of(
        *(growth(name, command=command, response_type=answer) for command, answer, name in OPERATIONS)
    ),
    "node/received_bytes_count": growth("bytes_read"),
    "node/sent_bytes_count": growth("bytes_written"),
    "node/uptime": level("uptime"),
}
