"""Series of the service's own figures for charts, in the shape of collectors/series.py.

Here a line is a place: the instance, one of its nodes, in one role. The newest minutes stay empty for as long as
the service hides them; gaps stay gaps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from collectors import series as node_series
from collectors.cloud.reading import SPACING, Place, is_service, places, points
from collectors.cloud.service_metrics import POSITION, SERVICE_METRICS
from collectors.series import Grid, Line, Series, grid_of
from fleet.models import Cache

SOURCE = "Cloud Monitoring"
Column = list[float | None]


def read_all(
    cache: Cache,
    names: Sequence[str],
    start: datetime,
    end: datetime,
    step: int | None = None,
    by: str = "cache",
    limit: int | None = None,
) -> list[Series]:
    """Return one series a name, in their order, whether nodes or the service tell of it; as series.read."""
    ours = [name for name in names if not is_service(name)]
    found = node_series.read(cache, ours, start, end, step, by, limit) if ours else []
    theirs = [name for name in names if is_service(name)]
    found += read(cache, theirs, start, end, step, by) if theirs else []
    return sorted(found, key=lambda series: names.index(series.metric))


def read(
    cache: Cache, names: Sequence[str], start: datetime, end: datetime, step: int | None = None, by: str = "cache"
) -> list[Series]:
    """Return one series a name: over the whole cache as sum, max, min and mean, or a line a place.

    Raise RangeError as grid_of does.
    """
    grid = grid_of(start, end, SPACING, step)
    known = places([cache.pk], grid.first)
    rows = points(grid.tier, [place.id for place in known], names, grid.first, grid.end, grid.step)
    made: Callable[[list[tuple[Place, list[Column]]], Grid], tuple[list[Line], list[int | None]]]
    made = _by_place if by == "node" else _by_cache
    found = []
    for index, name in enumerate(names):
        metric = SERVICE_METRICS[POSITION[name]]
        lines, counts = made(_columns(rows, known, index, grid), grid)
        found.append(
            Series(name, metric.unit, grid.tier, grid.start, grid.step, grid.count, lines, counts, source=SOURCE)
        )
    return found


def of_place(place_id: int, name: str, start: datetime, end: datetime) -> Column:
    """Return the means of a metric at one place, a value a point; [] where there are none."""
    grid = grid_of(start, end, SPACING)
    rows = points(grid.tier, [place_id], [name], grid.first, grid.end, grid.step)
    found = _columns(rows, [Place(place_id, 0, "", "")], 0, grid)
    return found[0][1][0] if found else []


def _columns(
    rows: Sequence[tuple[Any, ...]], known: Sequence[Place], index: int, grid: Grid
) -> list[tuple[Place, list[Column]]]:
    """Return mean, lowest and highest of each place that has any, a value a point."""
    found: dict[int, list[Column]] = {}
    at = 3 + index * 4
    for row in rows:
        if row[at] is not None and 0 <= row[1] < grid.count:
            columns = found.setdefault(row[0], [[None] * grid.count for _ in range(3)])
            for column, value in zip(columns, row[at : at + 3], strict=True):
                column[row[1]] = value
    return [(place, found[place.id]) for place in known if place.id in found]


def _by_place(columns: list[tuple[Place, list[Column]]], grid: Grid) -> tuple[list[Line], list[int | None]]:
    lines = [
        Line(place.label or SOURCE, mean, low, high, None, place.shard, place.role, place.whole_label)
        for place, (mean, low, high) in columns
    ]
    return lines, []


def _by_cache(columns: list[tuple[Place, list[Column]]], grid: Grid) -> tuple[list[Line], list[int | None]]:
    counts: list[int | None] = [None] * grid.count
    lines = {label: Line(label, [None] * grid.count) for label in ("sum", "max", "min", "mean")}
    for point in range(grid.count):
        means = [value for _place, (mean, _low, _high) in columns if (value := mean[point]) is not None]
        if means:
            counts[point] = len(means)
            lines["sum"].mean[point] = sum(means)
            lines["max"].mean[point] = max(
                high[point] or 0 for _p, (mean, _l, high) in columns if mean[point] is not None
            )
            lines["min"].mean[point] = min(
                low[point] or 0 for _p, (mean, low, _h) in columns if mean[point] is not None
            )
            lines["mean"].mean[point] = sum(means) / len(means)
    return list(lines.values()), counts
