"""What rules would have read long ago: the readings of collectors/windows.py, made of rollups, many ticks at once.

A point stands for `step` seconds and is read at its end. What one rollup is too coarse to say stays unknown: of
what the details of nodes hold there are none, and a forecast wants three points within its window.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate

from collectors.cursors import raw_cursor
from collectors.metrics.lookup import Shown, shown
from collectors.windows import FORECAST_FIT, WEEK, Read, Reading

Column = list[float | None]
# The steps that points may have; from an hour on they come from the hourly rollups.
STEPS = (300, 600, 1_800, 3_600, 7_200, 10_800)
HOUR = 3_600


@dataclass(frozen=True, slots=True)
class Grid:
    """Points of `step` seconds from `start` on, all on whole multiples of the step since the epoch."""

    start: int
    step: int
    count: int

    @classmethod
    def between(cls, start: datetime, end: datetime, step: int) -> "Grid":
        first = -(-int(start.timestamp()) // step) * step
        return cls(first, step, max((int(end.timestamp()) - first) // step, 0))

    @property
    def end(self) -> int:
        return self.start + self.count * self.step


@dataclass(slots=True)
class Points:
    """One metric of one node over the grid: how many samples, and their mean, lowest, highest and last."""

    samples: list[int]
    mean: Column
    low: Column
    high: Column
    last: Column


def read(node_ids: Collection[int], grid: Grid, wanted: Iterable[Reading]) -> dict[Reading, dict[int, Column]]:
    """Return each reading by node id, a value a point; None where nothing is known. Details are left out."""
    readings = [reading for reading in dict.fromkeys(wanted) if not shown(reading.metric).is_detail]
    metrics = {reading.metric: shown(reading.metric) for reading in readings}
    points = _points(list(node_ids), grid, list(metrics.values())) if metrics else {}
    found = {
        reading: {node: windowed(reading, columns, grid.step) for node, columns in points[reading.metric].items()}
        for reading in readings
    }
    for reading in readings:
        if reading.how is Read.DEVIATION:
            _against_last_week(found[reading], metrics[reading.metric], grid)
    return found


def known_nodes(node_ids: Collection[int], grid: Grid) -> dict[int, list[bool]]:
    """Return at which points each node had samples."""
    with raw_cursor() as cursor:
        cursor.execute(
            f"SELECT DISTINCT node_id, {_point(grid)} FROM {_table(grid)} WHERE {BETWEEN}",
            _bounds(list(node_ids), grid),
        )
        rows = cursor.fetchall()
    found: dict[int, list[bool]] = defaultdict(lambda: [False] * grid.count)
    for node_id, point in rows:
        found[node_id][point] = True
    return found


BETWEEN = "node_id = ANY(%s::int[]) AND at >= to_timestamp(%s) AND at < to_timestamp(%s)"


def _table(grid: Grid) -> str:
    return "rollup_1h" if grid.step % HOUR == 0 else "rollup_5m"


def _point(grid: Grid) -> str:
    return f"((date_part('epoch', at)::bigint - {grid.start}) / {grid.step})::int"


def _bounds(ids: list[int], grid: Grid) -> list[object]:
    return [ids, grid.start, grid.end]


def _points(ids: list[int], grid: Grid, metrics: Sequence[Shown]) -> dict[str, dict[int, Points]]:
    columns = ", ".join(
        f"(sum(mean[{m.slot}]::float8 * samples) / sum(samples) FILTER (WHERE mean[{m.slot}] IS NOT NULL)),"
        f" min(minimum[{m.slot}])::float8, max(maximum[{m.slot}])::float8,"
        f" (array_agg(last[{m.slot}] ORDER BY at DESC))[1]::float8"
        for m in metrics
    )
    source = f"FROM {_table(grid)} WHERE {BETWEEN} GROUP BY 1, 2"
    with raw_cursor() as cursor:
        cursor.execute(
            f"SELECT node_id, {_point(grid)}, sum(samples)::int, {columns} {source}", _bounds(ids, grid), binary=True
        )
        rows = cursor.fetchall()
    found: dict[str, dict[int, Points]] = {metric.name: {} for metric in metrics}
    for node_id, point, samples, *values in rows:
        for index, metric in enumerate(metrics):
            columns_of = found[metric.name].setdefault(node_id, empty(grid))
            columns_of.samples[point] = samples
            columns_of.mean[point], columns_of.low[point], columns_of.high[point], columns_of.last[point] = values[
                4 * index : 4 * index + 4
            ]
    return found


def empty(grid: Grid) -> Points:
    return Points([0] * grid.count, _gaps(grid), _gaps(grid), _gaps(grid), _gaps(grid))


def _gaps(grid: Grid) -> Column:
    return [None] * grid.count


def windowed(reading: Reading, points: Points, step: int) -> Column:
    """Return the reading at the end of each point, over as many points as its window holds, one at least."""
    width = max(round(reading.seconds / step), 1)
    if reading.how is Read.LAST:
        return points.last
    if reading.how is Read.MIN:
        return [_extreme(min, points.low, end, width) for end in range(1, len(points.low) + 1)]
    if reading.how is Read.MAX:
        return [_extreme(max, points.high, end, width) for end in range(1, len(points.high) + 1)]
    if reading.how is Read.SHARE:
        return _means([_share(points, at, reading.level) for at in range(len(points.mean))], points.samples, width)
    if reading.how is Read.FORECAST:
        return [_forecast(points.last, end, width, step, reading.level) for end in range(1, len(points.last) + 1)]
    means = _means(points.mean, points.samples, width)
    if reading.how is Read.INCREASE:
        return [None if mean is None else mean * reading.seconds for mean in means]
    if reading.how is Read.SUM:
        totals = _sums([float(count) for count in points.samples], width)
        return [
            None if mean is None else mean * total * min(reading.seconds / step, 1)
            for mean, total in zip(means, totals, strict=True)
        ]
    return means


def _extreme(pick: Callable[[list[float]], float], values: Column, end: int, width: int) -> float | None:
    known = [value for value in values[max(end - width, 0) : end] if value is not None]
    return pick(known) if known else None


def _sums(values: Sequence[float], width: int) -> list[float]:
    totals = [0.0, *accumulate(values)]
    return [totals[end] - totals[max(end - width, 0)] for end in range(1, len(totals))]


def _means(values: Column, samples: Sequence[int], width: int) -> Column:
    """Return the mean over windows, each point weighed by its samples; None where the newest point has none."""
    weights = [count if value is not None else 0 for value, count in zip(values, samples, strict=True)]
    amounts = _sums([(value or 0.0) * weight for value, weight in zip(values, weights, strict=True)], width)
    totals = _sums([float(weight) for weight in weights], width)
    return [
        amount / total if weight and total else None
        for amount, total, weight in zip(amounts, totals, weights, strict=True)
    ]


def _share(points: Points, at: int, level: float) -> float | None:
    """Return about which share of a point's samples lay above a level."""
    low, high, mean = points.low[at], points.high[at], points.mean[at]
    if low is None or high is None or mean is None:
        return None
    if low > level or high <= level:
        return float(low > level)
    return (high - level) / (high - low)


def _forecast(values: Column, end: int, width: int, step: int, level: float) -> float | None:
    first = max(end - width, 0)
    known = [(float(index * step), value) for index, value in enumerate(values[first:end]) if value is not None]
    return seconds_until(level, known, values[end - 1]) if values[end - 1] is not None else None


def seconds_until(level: float, known: Sequence[tuple[float, float]], newest: float | None) -> float | None:
    """Return the seconds until a straight line through points (time, value) reaches a level, as windows.py has it.

    0 where the newest has reached it, infinite where the line never does; None for fewer than three points.
    """
    if len(known) < 3:
        return None
    if newest is not None and newest >= level:
        return 0.0
    slope, fit = _line(known)
    if slope <= 0 or fit < FORECAST_FIT:
        return math.inf
    return None if newest is None else (level - newest) / slope


def _line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the slope of the line through points, and the share of their variance that it explains."""
    middle_x, middle_y = (math.fsum(column) / len(points) for column in zip(*points, strict=True))
    xx = math.fsum((x - middle_x) ** 2 for x, _ in points)
    yy = math.fsum((y - middle_y) ** 2 for _, y in points)
    xy = math.fsum((x - middle_x) * (y - middle_y) for x, y in points)
    return xy / xx, (xy * xy / (xx * yy) if yy else 1.0)


def _against_last_week(found: dict[int, Column], metric: Shown, grid: Grid) -> None:
    """Divide each value by the mean of the same hour a week before; unknown where there is none."""
    week = int(WEEK.total_seconds())
    start, end = datetime.fromtimestamp(grid.start - week - HOUR, UTC), datetime.fromtimestamp(grid.end - week, UTC)
    with raw_cursor() as cursor:
        cursor.execute(
            f"SELECT node_id, date_part('epoch', at)::bigint, mean[{metric.slot}]::float8 FROM rollup_1h"
            " WHERE node_id = ANY(%s::int[]) AND at >= %s AND at < %s",
            [list(found), start, end + timedelta(hours=1)],
        )
        divide(found, {(node_id, at): mean for node_id, at, mean in cursor.fetchall()}, grid)


def divide(found: Mapping[int, Column], usual: Mapping[tuple[int, int], float | None], grid: Grid) -> None:
    """Divide each value by what is usual: a mean by id and hour (epoch seconds), a week before the value."""
    week = int(WEEK.total_seconds())
    for node_id, column in found.items():
        for point, value in enumerate(column):
            hour = (grid.start + (point + 1) * grid.step - week) // HOUR * HOUR
            mean = usual.get((node_id, hour))
            column[point] = value / mean if value is not None and mean else None
