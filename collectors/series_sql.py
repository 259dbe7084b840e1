"""The queries behind series.py: one tier at a time, many metrics at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from collectors import rates
from collectors.latest import PREVIOUS, seconds_between
from collectors.metrics.hot import HOT_NAMES
from collectors.metrics.lookup import Shown
from collectors.metrics.slots import SLOT
from collectors.samples import raw_cursor

Row = Sequence[Any]
FINER = {"1h": "5m", "5m": "raw"}
TABLE = {"5m": "rollup_5m", "1h": "rollup_1h"}
LOOK_BACK = timedelta(seconds=rates.RATE_GAP_SECONDS)


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of time to read from one tier."""

    tier: str
    start: datetime
    end: datetime


def pieces(tier: str, start: datetime, end: datetime) -> list[Piece]:
    """Return the stretches to read: `tier` up to where it is complete, the newest end from finer tiers."""
    if tier in {"raw", "detail"}:
        return [Piece(tier, start, end)]
    marks = _marks()
    found: list[Piece] = []
    while tier != "raw" and start < end:
        until = min(end, marks.get(tier, start))
        if until > start:
            found.append(Piece(tier, start, until))
            start = until
        tier = FINER[tier]
    return [*found, Piece("raw", start, end)] if start < end else found


def _marks() -> dict[str, datetime]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT tier, until FROM rollup_mark")
        return dict(cursor.fetchall())


def pairs(listed: str) -> str:
    """Return SQL for node_id, at and the `listed` expressions over samples and those before (rates.py).

    Takes the parameters: node ids, start less LOOK_BACK, end. Only columns that the text of the
    expressions names are carried.
    """
    if "dt" not in listed:
        return f"SELECT node_id, at, {listed} FROM sample s {_plan(listed)} WHERE {_BETWEEN}"
    lags = "".join(f", lag({name}) OVER w AS prev_{name}" for name in PREVIOUS if f"prev_{name}" in listed)
    carried = "".join(f", {name}" for name in HOT_NAMES if name in listed and name != "read_after_ms")
    dt = seconds_between("", "prev_")
    return f"""
        SELECT node_id, at, {listed} FROM (
            SELECT *, CASE WHEN {dt} <= {rates.RATE_GAP_SECONDS} THEN {dt} END AS dt FROM (
                SELECT node_id, at, read_after_ms{carried}{lags},
                       lag(at) OVER w AS prev_at, lag(read_after_ms) OVER w AS prev_read_after_ms
                FROM sample WHERE {_BETWEEN} WINDOW w AS (PARTITION BY node_id ORDER BY at)
            ) AS lagged
        ) AS s {_plan(listed)}
    """


_BETWEEN = "node_id = ANY(%s::int[]) AND at >= %s AND at < %s"


def _plan(listed: str) -> str:
    if "plan_" not in listed:
        return ""
    return (
        "JOIN (SELECT fleet_node.id AS plan_node, plan_memory_bytes, plan_maxclients FROM fleet_node"
        " JOIN fleet_cache ON fleet_cache.id = cache_id) AS plan ON plan_node = node_id"
    )


def _point(start: int, step: int) -> str:
    return f"((date_part('epoch', at)::bigint - {int(start)}) / {int(step)})::int"


def _fetch(sql: str, arguments: Sequence[object]) -> list[Row]:
    with raw_cursor() as cursor:
        # Binary results spare parsing every number from text.
        cursor.execute(sql, arguments, binary=True, prepare=False)
        return cursor.fetchall()


def by_node(piece: Piece, ids: list[int], metrics: Sequence[Shown], start: int, step: int, single: bool) -> list[Row]:
    """Return rows (node_id, point, then mean, min, max of each metric).

    With `single`, every point holds one sample at most and is not aggregated.
    """
    source, arguments = _source(piece, ids, metrics)
    if single and piece.tier == "raw":
        columns = ", ".join(f"v{i}, v{i}, v{i}" for i in range(len(metrics)))
        return _fetch(
            f"SELECT node_id, {_point(start, step)}, {columns} FROM ({source}) AS v WHERE at >= %s", arguments
        )
    columns = ", ".join(_node_aggregate(piece.tier, i) for i in range(len(metrics)))
    sql = f"SELECT node_id, {_point(start, step)}, {columns} FROM ({source}) AS v WHERE at >= %s GROUP BY 1, 2"
    return _fetch(sql, arguments)


def _node_aggregate(tier: str, i: int) -> str:
    if tier in TABLE:
        return f"sum(v{i} * samples) / sum(samples) FILTER (WHERE v{i} IS NOT NULL), min(low{i}), max(high{i})"
    return f"avg(v{i}), min(v{i}), max(v{i})"


def by_cache(piece: Piece, ids: list[int], metrics: Sequence[Shown], start: int, step: int) -> list[Row]:
    """Return rows (point, nodes, then sum, max, min, mean over nodes of each metric).

    Amounts of data are summed over the nodes that were primaries then, those of connections and traffic over all.
    """
    source, arguments = _source(piece, ids, metrics, with_primary=True)
    named = _named_node_columns(piece.tier, metrics)
    outer = ", ".join(_cache_aggregate(metric, i) for i, metric in enumerate(metrics))
    sql = f"""
        SELECT point, count(*)::int, {outer} FROM (
            SELECT node_id, {_point(start, step)} AS point, bool_or(was_primary) AS was_primary, {named}
            FROM ({source}) AS v WHERE at >= %s GROUP BY 1, 2
        ) AS nodes GROUP BY 1
    """
    return _fetch(sql, arguments)


def _named_node_columns(tier: str, metrics: Sequence[Shown]) -> str:
    parts = []
    for i in range(len(metrics)):
        mean, low, high = _node_aggregate(tier, i).split(", ")
        parts += [f"{mean} AS mean{i}", f"{low} AS min{i}", f"{high} AS max{i}"]
    return ", ".join(parts)


def _cache_aggregate(metric: Shown, i: int) -> str:
    only = " FILTER (WHERE was_primary)" if metric.over_nodes == "primaries" else ""
    total = "NULL::float8" if metric.over_nodes == "max" else f"sum(mean{i}){only}"
    return f"{total}, max(max{i}), min(min{i}), avg(mean{i})"


def _source(
    piece: Piece, ids: list[int], metrics: Sequence[Shown], with_primary: bool = False
) -> tuple[str, list[object]]:
    """Return SQL giving node_id, at, v0, v1 … of the piece, and its parameters with the final `at >=`."""
    if piece.tier == "raw":
        listed = ", ".join(f"({metric.sql})::float8 AS v{i}" for i, metric in enumerate(metrics))
        listed += ", is_primary AS was_primary" if with_primary else ""
        back = LOOK_BACK if "dt" in listed else timedelta(0)
        return pairs(listed), [ids, piece.start - back, piece.end, piece.start]
    if piece.tier == "detail":
        return _detail(metrics, with_primary), [ids, piece.start - LOOK_BACK * 3, piece.end, piece.start]
    columns = "".join(
        f", mean[{m.slot}]::float8 AS v{i}, minimum[{m.slot}]::float8 AS low{i}, maximum[{m.slot}]::float8 AS high{i}"
        for i, m in enumerate(metrics)
    )
    primary = f", mean[{SLOT['is_primary']}] > 0.5 AS was_primary" if with_primary else ""
    sql = f"SELECT node_id, at, samples{columns}{primary} FROM {TABLE[piece.tier]} WHERE {_BETWEEN}"
    return sql, [ids, piece.start, piece.end, piece.start]


def _detail(metrics: Sequence[Shown], with_primary: bool) -> str:
    columns = "".join(f", ({_detail_value(metric)}) AS v{i}" for i, metric in enumerate(metrics))
    primary = ", (SELECT role = 'primary' FROM fleet_node WHERE id = node_id) AS was_primary" if with_primary else ""
    return (
        f"SELECT node_id, at{columns}{primary} FROM detail WHERE {_BETWEEN}"
        " WINDOW w AS (PARTITION BY node_id ORDER BY at)"
    )


def _detail_value(metric: Shown) -> str:
    now = f"numbers[{metric.slot}]"
    if not metric.is_counter:
        return now
    before = f"lag({now}) OVER w"
    seconds = "NULLIF(date_part('epoch', at - lag(at) OVER w), 0)"
    return f"CASE WHEN {now} < {before} THEN {now} ELSE {now} - {before} END * {metric.scale!r} / {seconds}"
