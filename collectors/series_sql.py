"""The queries behind series.py: one tier at a time, many metrics at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from collectors import rates
from collectors.cursors import raw_cursor
from collectors.latest import PREVIOUS, seconds_between
from collectors.metrics.hot import HOT_NAMES
from collectors.metrics.lookup import Shown
from collectors.metrics.slots import SLOT

Row = Sequence[Any]
FINER = {"8h": "1h", "1h": "5m", "5m": "raw"}
TABLE = {"5m": "rollup_5m", "1h": "rollup_1h", "8h": "rollup_8h"}
WIDTH = {"5m": 300, "1h": 3_600, "8h": 28_800}
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
    done = marks()
    found: list[Piece] = []
    while tier != "raw" and start < end:
        until = min(end, done.get(tier, start))
        if until > start:
            found.append(Piece(tier, start, until))
            start = until
        tier = FINER[tier]
    return [*found, Piece("raw", start, end)] if start < end else found


def marks() -> dict[str, datetime]:
    """Return up to when each tier is complete."""
    with raw_cursor() as cursor:
        return dict(cursor.execute("SELECT tier, until FROM rollup_mark", prepare=True).fetchall())


def pairs(listed: str) -> str:
    """Return SQL for node_id, at and the `listed` expressions over samples and those before (rates.py).

    Takes the parameters: node ids, start less LOOK_BACK, end. Only columns that the text of the
    expressions names are carried.
    """
    if "dt" not in listed and "prev_at" not in listed:
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
            ) AS lagged OFFSET 0
        ) AS s {_plan(listed)}
    """


_BETWEEN = "node_id = ANY(%s::int[]) AND at >= %s AND at < %s"


def _plan(listed: str) -> str:
    if "plan_" not in listed:
        return ""
    return (
        f"JOIN (SELECT fleet_node.id AS plan_node, {rates.PLAN} FROM fleet_node"
        " JOIN fleet_cache ON fleet_cache.id = cache_id) AS plan ON plan_node = node_id"
    )


def _point(start: int, step: int) -> str:
    return f"((date_part('epoch', at)::bigint - {int(start)}) / {int(step)})::int"


def _fetch(sql: str, arguments: Sequence[object]) -> list[Row]:
    with raw_cursor() as cursor:
        # Binary results spare parsing every number from text.
        cursor.execute(sql, arguments, binary=True, prepare=False)
        return cursor.fetchall()


def by_node(
    found: Sequence[Piece], ids: list[int], metrics: Sequence[Shown], start: int, step: int, single: bool
) -> list[Row]:
    """Return a row a node: its id, the list of its points, then lists of mean, min and max of each metric.

    With `single`, every point of raw samples holds one at most.
    """
    points, arguments = _points(found, ids, metrics, start, step, single)
    # A list a node is read in one go, where a row a point would be an object for each number.
    lists = "".join(f", array_agg({kind}{i})" for i in range(len(metrics)) for kind in ("mean", "low", "high"))
    return _fetch(f"SELECT node_id, array_agg(point){lists} FROM ({points}) AS points GROUP BY 1", arguments)


def _points(
    found: Sequence[Piece],
    ids: list[int],
    metrics: Sequence[Shown],
    start: int,
    step: int,
    single: bool,
    with_primary: bool = False,
) -> tuple[str, list[object]]:
    """Return SQL giving a row for each point of a node, and its parameters.

    Raw samples of which a point holds one at most, and rollups as wide as the step, are handed over as they are;
    no point of theirs lies on a border.
    """
    given = [piece for piece in found if (single if piece.tier == "raw" else WIDTH.get(piece.tier) == step)]
    rest = [piece for piece in found if piece not in given]
    point = _point(start, step)
    queries = [_per_node(part, ids, metrics, point, part is rest, with_primary) for part in (given, rest) if part]
    union = " UNION ALL ".join(text for text, _ in queries)
    return union, [argument for _, arguments in queries for argument in arguments]


def _per_node(
    found: Sequence[Piece], ids: list[int], metrics: Sequence[Shown], point: str, aggregated: bool, with_primary: bool
) -> tuple[str, list[object]]:
    source, arguments = _source(found, ids, metrics, with_primary)
    plain = _is_plain(found)
    shape = _node_aggregates if aggregated else _node_values
    columns = ", ".join(
        f"{expression} AS {kind}{i}"
        for i in range(len(metrics))
        for kind, expression in zip(("mean", "low", "high"), shape(plain, i), strict=True)
    )
    primary = f", {'bool_or(was_primary)' if aggregated else 'was_primary'} AS was_primary" if with_primary else ""
    grouped = " GROUP BY 1, 2" if aggregated else ""
    return f"SELECT node_id, {point} AS point{primary}, {columns} FROM ({source}) AS v{grouped}", arguments


def _node_values(is_plain: bool, i: int) -> tuple[str, str, str]:
    return (f"v{i}", f"v{i}", f"v{i}") if is_plain else (f"v{i}", f"low{i}", f"high{i}")


def _is_plain(found: Sequence[Piece]) -> bool:
    return all(piece.tier not in TABLE for piece in found)


def _node_aggregates(is_plain: bool, i: int) -> tuple[str, str, str]:
    """Return SQL for mean, minimum and maximum over the rows of a point, which count as many samples as they hold."""
    if is_plain:
        return f"avg(v{i})", f"min(v{i})", f"max(v{i})"
    return (
        f"sum(v{i} * samples) / sum(samples) FILTER (WHERE v{i} IS NOT NULL)",
        f"min(low{i})",
        f"max(high{i})",
    )


def by_cache(found: Sequence[Piece], ids: list[int], metrics: Sequence[Shown], start: int, step: int) -> list[Row]:
    """Return rows (point, nodes, then sum, max, min, mean over nodes of each metric).

    Amounts of data are summed over the nodes that were primaries then, those of connections and traffic over all.
    """
    # A second sample of a node in a point, from a time of faster polls, must not be added up as a second node.
    points, arguments = _points(found, ids, metrics, start, step, single=False, with_primary=True)
    outer = ", ".join(_cache_aggregate(metric, i) for i, metric in enumerate(metrics))
    return _fetch(f"SELECT point, count(*)::int, {outer} FROM ({points}) AS nodes GROUP BY 1", arguments)


def _cache_aggregate(metric: Shown, i: int) -> str:
    only = " FILTER (WHERE was_primary)" if metric.over_nodes == "primaries" else ""
    total = "NULL::float8" if metric.over_nodes == "max" else f"sum(mean{i}){only}"
    return f"{total}, max(high{i}), min(low{i}), avg(mean{i})"


def _source(
    found: Sequence[Piece], ids: list[int], metrics: Sequence[Shown], with_primary: bool = False
) -> tuple[str, list[object]]:
    """Return SQL giving node_id, at, v0, v1 … of all pieces, and its parameters.

    Where rollups are among them, every row also has `samples` and low0, high0 …: a point at the border of
    two tiers is made of both.
    """
    parts, arguments = [], list[object]()
    for piece in found:
        if piece.tier in TABLE:
            parts.append(_rolled(piece.tier, metrics, with_primary))
            arguments += [ids, piece.start, piece.end]
            continue
        sql, back = measured(piece.tier, metrics, with_primary)
        spread = "" if _is_plain(found) else _as_rolled(metrics)
        parts.append(f"SELECT *{spread} FROM ({sql}) AS measured WHERE at >= %s")
        arguments += [ids, piece.start - back, piece.end, piece.start]
    columns = _columns(metrics, with_primary, _is_plain(found))
    return " UNION ALL ".join(f"SELECT {columns} FROM ({part}) AS part" for part in parts), arguments


def _columns(metrics: Sequence[Shown], with_primary: bool, is_plain: bool) -> str:
    names = ["node_id", "at", *(["was_primary"] if with_primary else []), *([] if is_plain else ["samples"])]
    kinds = ("v",) if is_plain else ("v", "low", "high")
    return ", ".join([*names, *(f"{kind}{i}" for i in range(len(metrics)) for kind in kinds)])


def _as_rolled(metrics: Sequence[Shown]) -> str:
    return ", 1 AS samples" + "".join(f", v{i} AS low{i}, v{i} AS high{i}" for i in range(len(metrics)))


def measured(
    tier: str, metrics: Sequence[Shown], with_primary: bool, with_spans: bool = False
) -> tuple[str, timedelta]:
    """Return SQL over raw samples or details, and how long before the piece it must begin for rates.

    A `span` is the seconds since the sample before, which each rate holds for.
    """
    if tier == "detail":
        spans = f", {_span('lag(at) OVER w')}" if with_spans else ""
        return _detail(metrics, with_primary, spans), LOOK_BACK * 3
    listed = ", ".join(f"({metric.sql})::float8 AS v{i}" for i, metric in enumerate(metrics))
    listed += ", is_primary AS was_primary" if with_primary else ""
    # In the window that rates have already: a second one would sort all samples again.
    listed += f", {_span('prev_at')}" if with_spans else ""
    return pairs(listed), LOOK_BACK if with_spans or "dt" in listed else timedelta(0)


def _span(before: str) -> str:
    return f"LEAST(date_part('epoch', at - {before}), {rates.RATE_GAP_SECONDS}) AS span"


def _rolled(tier: str, metrics: Sequence[Shown], with_primary: bool) -> str:
    columns = "".join(
        f", mean[{m.slot}]::float8 AS v{i}, minimum[{m.slot}]::float8 AS low{i}, maximum[{m.slot}]::float8 AS high{i}"
        for i, m in enumerate(metrics)
    )
    primary = f", mean[{SLOT['is_primary']}] > 0.5 AS was_primary" if with_primary else ""
    return f"SELECT node_id, at, samples{columns}{primary} FROM {TABLE[tier]} WHERE {_BETWEEN}"


def _detail(metrics: Sequence[Shown], with_primary: bool, more: str) -> str:
    columns = "".join(f", ({_detail_value(metric)}) AS v{i}" for i, metric in enumerate(metrics))
    primary = ", (SELECT role = 'primary' FROM fleet_node WHERE id = node_id) AS was_primary" if with_primary else ""
    return (
        f"SELECT node_id, at{columns}{primary}{more} FROM detail WHERE {_BETWEEN}"
        " WINDOW w AS (PARTITION BY node_id ORDER BY at)"
    )


def _detail_value(metric: Shown) -> str:
    now = f"numbers[{metric.slot}]"
    if not metric.is_counter:
        return now
    before = f"lag({now}) OVER w"
    seconds = "NULLIF(date_part('epoch', at - lag(at) OVER w), 0)"
    return f"CASE WHEN {now} < {before} THEN {now} ELSE {now} - {before} END * {metric.scale!r} / {seconds}"
