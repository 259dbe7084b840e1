"""The newest values of each node and cache: written with the samples, read by pages.

Pages that show many caches read one row a cache, whatever the number of nodes behind it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import connection

from collectors import rates
from collectors.cursors import raw_cursor
from collectors.metrics.hot import HOT, HOT_NAMES

# Minutes that a sparkline shows.
SPARK_POINTS = 60
DERIVED_NAMES = tuple(derived.name for derived in rates.DERIVED)
NODE_COLUMNS = ("node_id", "at", *HOT_NAMES, *DERIVED_NAMES)
# Counters and what the formulas ask of the sample before.
PREVIOUS = tuple(metric.name for metric in HOT if metric.kind == "counter")


class NodeLatest:
    """The newest sample of one node: every hot metric as stored, and every derived one, by name.

    None means that the node did not report it, or that there is no earlier sample to compare with.
    Beside these: `node_id`, `at` (the tick), `memory_growth_bytes_per_second` with `memory_growth_fit`
    (R squared, 0 to 1), None until ten minutes of history exist, or two of a steep line.
    """

    __slots__ = ("_row",)
    NAMES = (*NODE_COLUMNS, "memory_growth_bytes_per_second", "memory_growth_fit")
    POSITION = {name: index for index, name in enumerate(NAMES)}

    def __init__(self, row: Sequence[Any]) -> None:
        self._row = row

    def __getattr__(self, name: str) -> Any:
        try:
            return self._row[self.POSITION[name]]
        except KeyError:
            raise AttributeError(name) from None


@dataclass(frozen=True, slots=True)
class CacheLatest:
    """What the fleet page shows of a cache. Sums are over primaries, worst cases over all nodes.

    Ratios are 0 to 1, memory in bytes, rates per second; None is not reported or no limit. Sparklines
    hold up to 60 values, one a minute, the newest last; None is a gap.
    """

    cache_id: int
    at: datetime | None
    nodes: int
    answering: int
    primaries: int
    replicas: int
    links_down: int
    slots_ok: int | None
    cluster_state_ok: bool | None
    used_memory: int | None
    memory_limit_bytes: int | None
    memory_used_ratio: float | None
    fullest_memory_node_id: int | None
    cpu_ratio: float | None
    busiest_node_id: int | None
    connected_clients: int | None
    connections_used_ratio: float | None
    fullest_connections_node_id: int | None
    fullest_connected_clients: int | None
    fullest_maxclients: int | None
    commands_per_second: float | None
    hit_ratio: float | None
    evicted_keys_per_second: float | None
    rejected_connections_per_second: float | None
    replication_lag_bytes: int | None
    keys: int | None
    spark_minute: int | None
    spark_used_memory: list[float | None] | None
    spark_cpu_ratio: list[float | None] | None
    spark_connected_clients: list[float | None] | None
    spark_commands_per_second: list[float | None] | None
    spark_hit_ratio: list[float | None] | None
    spark_evicted_keys_per_second: list[float | None] | None


CACHE_COLUMNS = tuple(field.name for field in fields(CacheLatest))
SPARKS = tuple(name for name in CACHE_COLUMNS if name.startswith("spark_") and name != "spark_minute")


def seconds_between(newer: str, older: str) -> str:
    """Return SQL for the seconds from one reading to the next: ticks plus each reading's own delay."""
    return (
        f"NULLIF(GREATEST(date_part('epoch', {newer}at - {older}at)"
        f" + ({newer}read_after_ms - {older}read_after_ms) / 1000.0::float8, 0), 0)"
    )


def _refresh_nodes_sql() -> str:
    dt = seconds_between("s.", "l.")
    previous = ", ".join(f"l.{name} AS prev_{name}" for name in PREVIOUS)
    derived = ", ".join(f"({derived.sql})::real" for derived in rates.DERIVED)
    updates = ", ".join(f"{name} = EXCLUDED.{name}" for name in NODE_COLUMNS[1:])
    return f"""
        INSERT INTO node_latest ({", ".join(NODE_COLUMNS)})
        SELECT node_id, at, {", ".join(HOT_NAMES)}, {derived} FROM (
            SELECT s.*, {rates.PLAN}, {previous},
                   CASE WHEN {dt} <= {rates.RATE_GAP_SECONDS} THEN {dt} END AS dt
            FROM sample s JOIN fleet_node n ON n.id = s.node_id JOIN fleet_cache c ON c.id = n.cache_id
            LEFT JOIN node_latest l ON l.node_id = s.node_id AND l.at < s.at
            WHERE s.node_id = ANY(%s::int[]) AND s.at = %s OFFSET 0
        ) AS pair
        ON CONFLICT (node_id) DO UPDATE SET {updates} WHERE node_latest.at < EXCLUDED.at
    """


# A poll interval below the tick is rounded up to it.
TICK = int(settings.POLL_TICK_SECONDS)
CPU = "COALESCE(l.main_thread_cpu_ratio, l.cpu_ratio)"
HITS, MISSES = "sum(l.keyspace_hits_per_second)", "sum(l.keyspace_misses_per_second)"
LIMIT = "COALESCE(NULLIF(l.maxmemory, 0), p.plan_memory_bytes)"
# After a failover the dead primary's last sample is no part of the sums: the new one's is newer.
PRIMARIES = "FILTER (WHERE l.is_primary AND p.is_succeeded IS NOT TRUE)"
# A node counts as answering while its newest sample is at most two polls older than the tick at hand.
SUMMARY = f"""
WITH present AS (
    SELECT n.cache_id, n.id, n.role, {rates.PLAN}, c.poll_interval_seconds,
           max(l.at) OVER (PARTITION BY n.cache_id) AS newest,
           l.is_primary AND l.at < max(l.at) FILTER (WHERE l.is_primary)
               OVER (PARTITION BY n.cache_id, COALESCE(n.shard_id, -n.id)) AS is_succeeded,
           GREATEST(max(l.at) OVER (PARTITION BY n.cache_id), %s) AS reference
    FROM fleet_node n JOIN fleet_cache c ON c.id = n.cache_id LEFT JOIN node_latest l ON l.node_id = n.id
    WHERE n.left_at IS NULL AND n.cache_id IN (
        SELECT cache_id FROM fleet_node WHERE id = ANY(%s::int[]) UNION SELECT unnest(%s::int[])
    )
), summary AS (
    SELECT p.cache_id, max(p.newest) AS at, max(p.reference) AS reference,
        count(*) AS nodes, count(l.node_id) AS answering,
        count(*) FILTER (WHERE p.role = 'primary') AS primaries,
        count(*) FILTER (WHERE p.role = 'replica') AS replicas,
        count(*) FILTER (WHERE NOT l.master_link_up) AS links_down,
        min(l.cluster_slots_ok) AS slots_ok, bool_and(l.cluster_state_ok) AS cluster_state_ok,
        sum(l.used_memory) {PRIMARIES} AS used_memory,
        CASE WHEN bool_and({LIMIT} IS NOT NULL)
                {PRIMARIES}
             THEN sum({LIMIT}) {PRIMARIES}
        END AS memory_limit_bytes,
        max(l.memory_used_ratio) AS memory_used_ratio,
        (array_agg(p.id ORDER BY l.memory_used_ratio DESC NULLS LAST))[1] AS fullest_memory_node_id,
        max({CPU}) AS cpu_ratio,
        (array_agg(p.id ORDER BY {CPU} DESC NULLS LAST))[1] AS busiest_node_id,
        sum(l.connected_clients) AS connected_clients,
        max(l.connections_used_ratio) AS connections_used_ratio,
        (array_agg(p.id ORDER BY l.connections_used_ratio DESC NULLS LAST))[1] AS fullest_connections_node_id,
        (array_agg(l.connected_clients ORDER BY l.connections_used_ratio DESC NULLS LAST))[1]
            AS fullest_connected_clients,
        (array_agg(COALESCE(NULLIF(l.maxclients, 0), p.plan_maxclients)
            ORDER BY l.connections_used_ratio DESC NULLS LAST))[1] AS fullest_maxclients,
        sum(l.commands_per_second) {PRIMARIES} AS commands_per_second,
        {HITS} / NULLIF({HITS} + {MISSES}, 0) AS hit_ratio,
        sum(l.evicted_keys_per_second) AS evicted_keys_per_second,
        sum(l.rejected_connections_per_second) AS rejected_connections_per_second,
        max(l.replication_lag_bytes) AS replication_lag_bytes,
        sum(l.keys) {PRIMARIES} AS keys
    FROM present p
    LEFT JOIN node_latest l ON l.node_id = p.id
        AND l.at >= p.reference - 2 * make_interval(secs => GREATEST(p.poll_interval_seconds, {TICK}))
    GROUP BY p.cache_id
)
"""


def _refresh_caches_sql() -> str:
    updates = ", ".join(f"{name} = EXCLUDED.{name}" for name in CACHE_COLUMNS[1:] if name not in SPARKS)
    step = "EXCLUDED.spark_minute - cache_latest.spark_minute"
    sparks = ", ".join(f"{name} = spark_push(cache_latest.{name}, {step}, EXCLUDED.{name}[1])" for name in SPARKS)
    newest = ", ".join(f"ARRAY[{name.removeprefix('spark_')}]::real[]" for name in SPARKS)
    plain = ", ".join(CACHE_COLUMNS[: -len(SPARKS) - 1])
    return f"""
        {SUMMARY}
        INSERT INTO cache_latest ({", ".join(CACHE_COLUMNS)})
        SELECT {plain}, (date_part('epoch', reference) / 60)::int, {newest} FROM summary
        ON CONFLICT (cache_id) DO UPDATE SET {updates}, {sparks}
        WHERE cache_latest.at IS NULL OR cache_latest.at <= EXCLUDED.at
    """


REFRESH_NODES = _refresh_nodes_sql()
REFRESH_CACHES = _refresh_caches_sql()
READ_NODES = f"""
    SELECT {", ".join(f"l.{name}" for name in NODE_COLUMNS)}, t.bytes_per_second, t.fit
    FROM node_latest l JOIN fleet_node n ON n.id = l.node_id LEFT JOIN node_trend t ON t.node_id = l.node_id
    WHERE n.left_at IS NULL
"""


def refresh_nodes(written: Sequence[tuple[int, datetime]]) -> None:
    """Bring node_latest up to the samples just written, which `written` names by node and tick."""
    # Several ticks of one node at once (after an outage) go in order: rates need the one before.
    for at in sorted({at for _, at in written}):
        ids = [node_id for node_id, tick in written if tick == at]
        with raw_cursor() as cursor:
            cursor.execute(REFRESH_NODES, [ids, at], prepare=True)


def refresh_caches(node_ids: Sequence[int], cache_ids: Iterable[int], tick: datetime | None) -> None:
    """Make the summaries anew, as of `tick`, of the caches that these nodes belong to and of those named."""
    wanted = sorted(set(cache_ids))
    if not node_ids and not wanted:
        return
    with raw_cursor() as cursor:
        cursor.execute(REFRESH_CACHES, [tick, list(node_ids), wanted], prepare=True)


def nodes(cache_ids: Sequence[int] | None = None) -> dict[int, NodeLatest]:
    """Return the newest values by node id, of the nodes of all caches or of those named."""
    clause = "" if cache_ids is None else " AND n.cache_id = ANY(%s)"
    with connection.cursor() as cursor:
        cursor.execute(READ_NODES + clause, [list(cache_ids)] if cache_ids is not None else [])
        return {row[0]: NodeLatest(row) for row in cursor.fetchall()}


def caches(cache_ids: Sequence[int] | None = None) -> dict[int, CacheLatest]:
    """Return the newest summaries by cache id, of all caches or of those named."""
    clause = "" if cache_ids is None else " WHERE cache_id = ANY(%s)"
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {', '.join(CACHE_COLUMNS)} FROM cache_latest{clause}",
            [list(cache_ids)] if cache_ids is not None else [],
        )
        return {row[0]: CacheLatest(*row) for row in cursor.fetchall()}


UNEASY = """
    SELECT DISTINCT n.cache_id FROM node_latest l JOIN fleet_node n ON n.id = l.node_id
    LEFT JOIN node_trend t ON t.node_id = l.node_id
    WHERE n.left_at IS NULL AND (
        l.uptime_in_seconds < %(uptime)s OR l.replication_lag_seconds > %(lag)s OR l.loading OR NOT l.rdb_last_bgsave_ok
        OR (t.fit >= %(fit)s AND t.bytes_per_second > 0 AND l.memory_used_ratio >= %(floor)s
            AND l.used_memory / l.memory_used_ratio - l.used_memory < t.bytes_per_second * %(horizon)s::float8)
    )
"""


def cache_ids_with_uneasy_nodes(*, uptime: float, lag: float, floor: float, fit: float, horizon: float) -> set[int]:
    """Return the caches with a node that restarted, lags, loads, failed to save, or will be full.

    `uptime`, `lag` and `horizon` are in seconds: up for less than, behind for more than, full within.
    A forecast counts from the memory ratio `floor` on, where the trend fits with at least `fit`.
    """
    limits = {"uptime": uptime, "lag": lag, "floor": floor, "fit": fit, "horizon": horizon}
    with connection.cursor() as cursor:
        cursor.execute(UNEASY, limits)
        return {row[0] for row in cursor.fetchall()}
