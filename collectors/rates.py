"""How two consecutive samples of a node become rates and ratios, as SQL expressions.

One definition serves latest values, raw charts and rollups. An expression may use the hot columns of a
sample (`x`), the same columns of the sample before (`prev_x`), and `dt`: the seconds between the two
readings, NULL where there is none before or the gap is longer than RATE_GAP_SECONDS, since nobody knows
how an increase was spread over a long gap.
"""

from django.utils.translation import gettext_lazy as _

from collectors.metrics.catalogue import Derived, Kind, Metric
from collectors.metrics.hot import HOT

RATE_GAP_SECONDS = 300
BY_NAME = {metric.name: metric for metric in HOT}


def rate(column: str) -> str:
    """Return SQL for the increase per second of a counter, in the metric's unit.

    A value below the one before means a reset (restart, CONFIG RESETSTAT, wrap): it then counts from
    zero. So it does where the process is younger than the interval, though the value may have overtaken
    the old one meanwhile.
    """
    scale = BY_NAME[column].scale
    grown = (
        f"CASE WHEN {column} < prev_{column} OR uptime_in_seconds < dt THEN {column} ELSE {column} - prev_{column} END"
    )
    return f"CASE WHEN prev_{column} IS NOT NULL THEN ({grown})::float8{f' * {scale!r}' if scale != 1 else ''} / dt END"


def level(metric: Metric) -> str:
    """Return SQL for a gauge as a float, in its unit; claims become 0 and 1."""
    if metric.column == "bool":
        return f"{metric.name}::int::float8"
    return f"{metric.name}::float8"


def value(metric: Metric) -> str:
    """Return SQL for what a chart shows of a hot metric: a gauge's level or a counter's rate."""
    return rate(metric.name) if metric.kind is Kind.COUNTER else level(metric)


def ratio(part: str, whole: str) -> str:
    return f"({part}) / NULLIF({whole}, 0)"


# maxmemory 0 is "no limit"; then the plan's size, which a person gave or else the service publishes (PLAN); else no
# ratio at all.
PLAN = (
    "COALESCE(plan_memory_bytes, service_memory_bytes) AS plan_memory_bytes,"
    " COALESCE(plan_maxclients, service_maxclients) AS plan_maxclients"
)
MEMORY_LIMIT = "COALESCE(NULLIF(maxmemory, 0), plan_memory_bytes)::float8"
CLIENT_LIMIT = "COALESCE(NULLIF(maxclients, 0), plan_maxclients)::float8"
# The server counts clients, replicas and cluster links together against maxclients (networking.c, acceptCommonHandler).
CLIENTS_COUNTED = "(connected_clients + COALESCE(connected_slaves, 0) + COALESCE(cluster_connections, 0))::float8"
HITS, MISSES = rate("keyspace_hits"), rate("keyspace_misses")


def _rate_of(name: str, column: str, meaning: object, over_nodes: str = "primaries") -> Derived:
    return Derived(name, f"{BY_NAME[column].unit}/s", meaning, rate(column), (column,), over_nodes)  # type: ignore[arg-type]


def _less_replication(name: str, whole: str, part: str, meaning: object) -> Derived:
    # GREATEST leaves NULL out: without the condition, traffic that is not known would be none.
    sql = f"CASE WHEN {rate(whole)} IS NOT NULL THEN GREATEST({rate(whole)} - COALESCE({rate(part)}, 0), 0) END"
    return Derived(name, "bytes/s", meaning, sql, (whole, part), "all")  # type: ignore[arg-type]


# Names and order are slots of the stored rollups: append only (collectors/metrics/slots.py).
DERIVED: tuple[Derived, ...] = (
    _rate_of("commands_per_second", "total_commands_processed", _("Commands run per second.")),
    _rate_of("connections_received_per_second", "total_connections_received", _("New connections per second."), "all"),
    _rate_of("rejected_connections_per_second", "rejected_connections", _("Refused connections per second."), "all"),
    _rate_of("keyspace_hits_per_second", "keyspace_hits", _("Lookups per second that found a key.")),
    _rate_of("keyspace_misses_per_second", "keyspace_misses", _("Lookups per second that found no key.")),
    _rate_of("expired_keys_per_second", "expired_keys", _("Keys per second that reached the end of their life.")),
    _rate_of("evicted_keys_per_second", "evicted_keys", _("Keys per second removed because memory was full.")),
    _rate_of("error_replies_per_second", "total_error_replies", _("Error replies per second."), "all"),
    _rate_of("replication_input_bytes_per_second", "total_net_repl_input_bytes", _("Replication bytes read."), "all"),
    _rate_of("replication_output_bytes_per_second", "total_net_repl_output_bytes", _("Replication bytes sent."), "all"),
    _less_replication(
        "network_input_bytes_per_second",
        "total_net_input_bytes",
        "total_net_repl_input_bytes",
        _("Bytes per second from clients, replication left out."),
    ),
    _less_replication(
        "network_output_bytes_per_second",
        "total_net_output_bytes",
        "total_net_repl_output_bytes",
        _("Bytes per second to clients, replication left out."),
    ),
    Derived(
        "cpu_ratio",
        "ratio",
        _("CPU time of all threads as a share of one core; more than 1 with several threads."),
        f"{rate('used_cpu_sys')} + {rate('used_cpu_user')}",
        ("used_cpu_sys", "used_cpu_user"),
        "max",
    ),
    Derived(
        "main_thread_cpu_ratio",
        "ratio",
        _("CPU time of the main thread as a share of one core: at 1 the node can do no more."),
        f"{rate('used_cpu_sys_main_thread')} + {rate('used_cpu_user_main_thread')}",
        ("used_cpu_sys_main_thread", "used_cpu_user_main_thread"),
        "max",
    ),
    Derived(
        "hit_ratio",
        "ratio",
        _("Share of lookups that found a key; none without lookups."),
        ratio(HITS, f"{HITS} + {MISSES}"),
        ("keyspace_hits", "keyspace_misses"),
        "max",
    ),
    Derived(
        "memory_used_ratio",
        "ratio",
        _("Used memory over maxmemory, else over the plan's size; none where there is no limit."),
        ratio("used_memory::float8", MEMORY_LIMIT),
        ("used_memory", "maxmemory"),
        "max",
    ),
    Derived(
        "connections_used_ratio",
        "ratio",
        _("Clients, replicas and cluster links over maxclients."),
        ratio(CLIENTS_COUNTED, CLIENT_LIMIT),
        ("connected_clients", "connected_slaves", "cluster_connections", "maxclients"),
        "max",
    ),
    Derived(
        "keys_without_ttl",
        "keys",
        _("Keys that never expire."),
        "(keys - expires)::float8",
        ("keys", "expires"),
        "primaries",
    ),
)
DERIVED_BY_NAME = {derived.name: derived for derived in DERIVED}
