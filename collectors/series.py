"""Read samples as series for charts: per node, or a whole cache as sum, maximum, minimum and mean.

A series comes from the coarsest tier that still gives enough points: raw samples up to three hours,
five-minute rollups up to ten days, one-hour rollups up to sixty, eight-hour rollups beyond; its newest end,
not yet rolled up, comes from the finer tiers. Points lie on a grid of `step` seconds from `start`; a point
without a sample is None and stays a gap.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from django.conf import settings
from django.utils import timezone

from collectors import series_sql
from collectors.cursors import raw_cursor
from collectors.metrics.lookup import Shown, shown
from collectors.series_sql import Row
from fleet.models import Cache

RAW_SPAN = timedelta(hours=3)
FIVE_MINUTE_SPAN = timedelta(days=10)
# Beyond it a line of a point every eight hours has enough of them, and reads no more rows than one of a day.
HOUR_SPAN = timedelta(days=60)
TIER_SECONDS = {"raw": 1, "detail": 300, **series_sql.WIDTH}
DEFAULT_POINTS = 500
# A ceiling for one answer: 200 nodes x 12 metrics of 500 points is already 1.2 million numbers.
MAX_POINTS = 2_000
STEPS = (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 28800, 43200, 86400, 172800)


class RangeError(ValueError):
    """A range or step that cannot be drawn; the text says what to change."""


@dataclass(slots=True)
class Line:
    """One line of a series. By node: mean, minimum and maximum of each point. By cache: `mean` holds
    the values of what `label` names (sum, max, min or mean over nodes)."""

    label: str
    mean: list[float | None]
    minimum: list[float | None] = field(default_factory=list)
    maximum: list[float | None] = field(default_factory=list)
    node_id: int | None = None
    shard: int | None = None
    role: str = ""
    # What `label` shortens; "" where it is whole.
    whole_label: str = ""


@dataclass(slots=True)
class Series:
    """A metric over time. `nodes` counts the nodes behind each point (by cache only)."""

    metric: str
    unit: str
    tier: str
    start: int
    step: int
    count: int
    lines: list[Line]
    nodes: list[int | None] = field(default_factory=list)
    # Who measured: what we read from the nodes, or the service that runs them.
    source: str = "nodes"

    @property
    def times(self) -> list[int]:
        return list(range(self.start, self.start + self.count * self.step, self.step))


class Drawn(NamedTuple):
    """What a chart tells of a node."""

    node_id: int
    address: str
    shard: int | None
    role: str


@dataclass(frozen=True, slots=True)
class Grid:
    """The points of a series: `count` of them, `step` seconds apart, from `start` (epoch seconds)."""

    start: int
    step: int
    count: int
    tier: str

    @property
    def first(self) -> datetime:
        return datetime.fromtimestamp(self.start, UTC)

    @property
    def end(self) -> datetime:
        return datetime.fromtimestamp(self.start + self.step * self.count, UTC)


def tier_of(start: datetime, end: datetime, now: datetime | None = None) -> str:
    """Return the coarsest tier that draws the range well, or a coarser one where that one is forgotten by now."""
    span, age = end - start, (now or timezone.now()) - start
    if span <= RAW_SPAN and age <= timedelta(days=settings.RETENTION_RAW_DAYS):
        return "raw"
    if span <= FIVE_MINUTE_SPAN and age <= timedelta(days=settings.RETENTION_5M_DAYS):
        return "5m"
    return "1h" if span <= HOUR_SPAN else "8h"


def grid_of(start: datetime, end: datetime, interval: int, step: int | None = None, detail: bool = False) -> Grid:
    """Return the points to draw. `interval` is the poll interval: no step is finer than it.

    Raise RangeError where the range is empty or the step asks for more than MAX_POINTS points.
    """
    seconds = (end - start).total_seconds()
    if seconds <= 0:
        raise RangeError("The range ends before it begins: make `to` later than `from`.")
    tier = "detail" if detail else tier_of(start, end)
    # Who asks for a finer step than the coarsest tier has gets it, as far as hours go.
    tier = "1h" if tier == "8h" and step and step < TIER_SECONDS[tier] else tier
    finest = max(interval if tier == "raw" else TIER_SECONDS[tier], step or 0)
    # Whole multiples of the tier's own spacing, so that every point holds the same number of samples.
    base = interval if tier == "raw" else TIER_SECONDS[tier]
    wanted = max(finest, seconds / (MAX_POINTS if step else DEFAULT_POINTS))
    if step and wanted > max(step, base):
        raise RangeError(
            f"That is more than {MAX_POINTS:,} points: use a step of {seconds / MAX_POINTS:.0f} s or more."
        )
    chosen = next((s for s in STEPS if s >= wanted and s % base == 0), -(-int(wanted) // base) * base)
    first = int(start.timestamp()) // chosen * chosen
    return Grid(first, chosen, max(1, -(-(int(end.timestamp()) - first) // chosen)), tier)


def read(
    cache: Cache,
    names: Sequence[str],
    start: datetime,
    end: datetime,
    step: int | None = None,
    by: str = "cache",
    limit: int | None = None,
) -> list[Series]:
    """Return one series a name: one query for those of every poll, one for details.

    `by` is "cache" or "node". With `limit`, only the nodes with the highest maxima get a line and the
    others one line "others" with their minimum and maximum. Raise RangeError as grid_of does, and
    UnknownMetricError (collectors/metrics/lookup.py) for a name that is not in the catalogue.
    """
    metrics = [shown(name) for name in names]
    nodes = _nodes(cache)
    found: list[Series] = []
    for is_detail in (False, True):
        group = [metric for metric in metrics if metric.is_detail == is_detail]
        if group:
            grid = grid_of(start, end, cache.poll_interval_seconds, step, detail=is_detail)
            found += _read_group(nodes, group, grid, cache, by, limit)
    return sorted(found, key=lambda series: names.index(series.metric))


# Model instances, and planning the join each time, would take longer than the samples of an hour.
NODES = """
    SELECT n.id, CASE WHEN position(':' IN n.host) > 0 THEN '[' || n.host || ']' ELSE n.host END || ':' || n.port,
           s.number, n.role
    FROM fleet_node n LEFT JOIN fleet_shard s ON s.id = n.shard_id
    WHERE n.cache_id = %s ORDER BY s.number, n.role, n.host, n.port
"""


def _nodes(cache: Cache) -> list[Drawn]:
    """Return all nodes that the cache ever had: those that left have a past."""
    with raw_cursor() as cursor:
        return [Drawn(*row) for row in cursor.execute(NODES, [cache.pk], prepare=True).fetchall()]


def _read_group(
    nodes: list[Drawn], metrics: list[Shown], grid: Grid, cache: Cache, by: str, limit: int | None
) -> list[Series]:
    pieces = series_sql.pieces(grid.tier, grid.first, grid.end)
    ids = [node.node_id for node in nodes]
    single = grid.step <= cache.poll_interval_seconds
    if by == "node":
        rows = series_sql.by_node(pieces, ids, metrics, grid.start, grid.step, single)
        return [_node_series(metric, index, rows, nodes, grid, limit) for index, metric in enumerate(metrics)]
    rows = series_sql.by_cache(pieces, ids, metrics, grid.start, grid.step)
    return [_cache_series(metric, index, rows, grid) for index, metric in enumerate(metrics)]


def _cache_series(metric: Shown, index: int, rows: Sequence[Row], grid: Grid) -> Series:
    """Rows are (point, nodes, then sum, max, min, mean of each metric)."""
    at = 2 + index * 4
    labels = ("sum", "max", "min", "mean")
    values: list[list[float | None]] = [[None] * grid.count for _ in labels]
    counts: list[int | None] = [None] * grid.count
    for row in rows:
        point = row[0]
        if 0 <= point < grid.count:
            counts[point] = row[1]
            for column, line in enumerate(values):
                if row[at + column] is not None:
                    line[point] = row[at + column]
    _leave_out_partial(values[0], counts)
    lines = [
        Line(label, line)
        for label, line in zip(labels, values, strict=True)
        if label != "sum" or metric.over_nodes != "max"
    ]
    return Series(metric.name, metric.unit, grid.tier, grid.start, grid.step, grid.count, lines, counts)


def _leave_out_partial(totals: list[float | None], counts: Sequence[int | None]) -> None:
    """Blank the total where a node missed one poll: a sum over fewer nodes would look like a fall.

    A node that stays away is no such case: the total goes on without it, and `nodes` tells so.
    """
    measured = [point for point, count in enumerate(counts) if count]
    for index, point in enumerate(measured):
        around = measured[max(index - 1, 0) : index] + measured[index + 1 : index + 2]
        if around and all((counts[point] or 0) < (counts[other] or 0) for other in around):
            totals[point] = None


def _node_series(
    metric: Shown, index: int, rows: Sequence[Row], nodes: list[Drawn], grid: Grid, limit: int | None
) -> Series:
    """Rows are (node_id, points, then lists of mean, min and max of each metric)."""
    at = 2 + index * 3
    by_id = {row[0]: (row[1], row[at : at + 3]) for row in rows}
    whole = list(range(grid.count))
    lines = []
    for node in nodes:
        points, columns = by_id.get(node.node_id, ([], ()))
        if any(value is not None for column in columns[:1] for value in column):
            mean, low, high = columns if points == whole else _spread(points, columns, grid.count)
            lines.append(Line(node.address, mean, low, high, node.node_id, node.shard, node.role))
    kept = _fold(lines, limit) if limit and len(lines) > limit else lines
    return Series(metric.name, metric.unit, grid.tier, grid.start, grid.step, grid.count, kept)


def _spread(points: Sequence[int], columns: Sequence[list[float | None]], count: int) -> list[list[float | None]]:
    """Put values in their places; points that have none are gaps."""
    placed: list[list[float | None]] = [[None] * count for _ in columns]
    for values, places in zip(columns, placed, strict=True):
        for point, value in zip(points, values, strict=True):
            if 0 <= point < count:
                places[point] = value
    return placed


def _fold(lines: list[Line], limit: int) -> list[Line]:
    """Keep the `limit` lines that reach highest; make one band of the rest."""
    ranked = sorted(lines, key=lambda line: max((v for v in line.maximum if v is not None), default=0), reverse=True)
    rest = ranked[limit:]
    lowest = [
        min((v for v in point if v is not None), default=None) for point in zip(*(r.minimum for r in rest), strict=True)
    ]
    highest = [
        max((v for v in point if v is not None), default=None) for point in zip(*(r.maximum for r in rest), strict=True)
    ]
    means = [_mean(point) for point in zip(*(r.mean for r in rest), strict=True)]
    kept = {id(line) for line in ranked[:limit]}
    return [line for line in lines if id(line) in kept] + [Line("others", means, lowest, highest)]


def _mean(values: Sequence[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return sum(present) / len(present) if present else None
