"""What rules read of the service's figures: one number a place over a window of time, as collectors/windows.py.

A window ends at the newest point that is known, since the service hides points for up to five minutes; a place
whose newest point is older than LATE has no value.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime, timedelta

from collectors import past_windows
from collectors.cloud.reading import points, slot
from collectors.cloud.service_metrics import SERVICE_METRICS
from collectors.cursors import raw_cursor
from collectors.past_windows import HOUR, Column, Grid, Points
from collectors.windows import WEEK, Read, Reading, Values, aggregate

# Five minutes hidden, one until the service is asked, and some for a service that is late.
LATE = timedelta(minutes=10)


def read(place_ids: Collection[int], at: datetime, wanted: Iterable[Reading]) -> dict[Reading, Values]:
    """Return each reading's values by place; a place without enough points is missing."""
    by_length: dict[int, list[Reading]] = defaultdict(list)
    for reading in dict.fromkeys(wanted):
        by_length[reading.seconds].append(reading)
    found: dict[Reading, Values] = {}
    for seconds, readings in by_length.items():
        found |= _read_length(list(place_ids), at, seconds, readings)
    past = [reading for reading in found if reading.how is Read.DEVIATION]
    for reading, usual in zip(past, _week_ago(place_ids, at, past), strict=True):
        found[reading] = {place: value / usual[place] for place, value in found[reading].items() if usual.get(place)}
    return found


def _read_length(ids: list[int], at: datetime, seconds: int, readings: Sequence[Reading]) -> dict[Reading, Values]:
    names = list(dict.fromkeys(reading.metric for reading in readings))
    values = ", ".join(f"numbers[{slot(name)}] AS v{index}" for index, name in enumerate(names))
    columns = ", ".join(aggregate(reading, f"v{names.index(reading.metric)}", is_late=True) for reading in readings)
    sql = f"""
        SELECT place_id, {columns} FROM (
            SELECT place_id, at, 60 AS span, max(at) OVER (PARTITION BY place_id) AS newest, {values}
            FROM cloud_sample WHERE place_id = ANY(%s::bigint[]) AND at > %s AND at <= %s
        ) AS v WHERE newest > %s AND at > newest - make_interval(secs => %s) GROUP BY place_id
    """
    start = at - LATE - timedelta(seconds=seconds)
    with raw_cursor() as cursor:
        rows = cursor.execute(sql, [ids, start, at, at - LATE, seconds], binary=True, prepare=True).fetchall()
    return {
        reading: {row[0]: row[index] for row in rows if row[index] is not None}
        for index, reading in enumerate(readings, start=1)
    }


def _week_ago(place_ids: Collection[int], at: datetime, readings: Sequence[Reading]) -> list[Values]:
    """Return the means of the same hour a week ago, one for each reading."""
    hour = (at - WEEK).astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    means = [_means(place_ids, reading.metric, hour, hour + timedelta(hours=1)) for reading in readings]
    return [{place: mean for (place, _at), mean in by_hour.items()} for by_hour in means]


def _means(place_ids: Collection[int], name: str, start: datetime, end: datetime) -> dict[tuple[int, int], float]:
    """Return hourly means by place and hour (epoch seconds)."""
    with raw_cursor() as cursor:
        cursor.execute(
            f"SELECT place_id, date_part('epoch', at)::bigint, mean[{slot(name)}]::float8 FROM cloud_rollup_1h"
            " WHERE place_id = ANY(%s::bigint[]) AND at >= %s AND at < %s",
            [list(place_ids), start, end],
        )
        return {(place, at): mean for place, at, mean in cursor.fetchall() if mean is not None}


def read_past(place_ids: Collection[int], grid: Grid, wanted: Iterable[Reading]) -> dict[Reading, dict[int, Column]]:
    """Return what rules would have read long ago: each reading by place, a value a point of the grid."""
    readings = list(dict.fromkeys(wanted))
    names = list(dict.fromkeys(reading.metric for reading in readings))
    columns = _columns(list(place_ids), grid, names) if names else {}
    found: dict[Reading, dict[int, Column]] = {}
    for reading in readings:
        given = columns[reading.metric]
        found[reading] = {place: past_windows.windowed(reading, one, grid.step) for place, one in given.items()}
        if reading.how is Read.DEVIATION:
            week = int(WEEK.total_seconds())
            start, end = (datetime.fromtimestamp(edge - week, UTC) for edge in (grid.start - HOUR, grid.end + HOUR))
            past_windows.divide(found[reading], _means(place_ids, reading.metric, start, end), grid)
    return found


def known_places(place_ids: Collection[int], grid: Grid) -> dict[int, list[bool]]:
    """Return at which points the service told anything of each place; those of which it told nothing are missing."""
    start, end = datetime.fromtimestamp(grid.start, UTC), datetime.fromtimestamp(grid.end, UTC)
    found: dict[int, list[bool]] = defaultdict(lambda: [False] * grid.count)
    # Any one metric: a row is there with the first of them.
    for place, point, *_rest in points(_tier(grid), list(place_ids), [SERVICE_METRICS[0].name], start, end, grid.step):
        found[place][point] = True
    return dict(found)


def _tier(grid: Grid) -> str:
    return "1h" if grid.step % HOUR == 0 else "5m"


def _columns(ids: list[int], grid: Grid, names: Sequence[str]) -> dict[str, dict[int, Points]]:
    start, end = datetime.fromtimestamp(grid.start, UTC), datetime.fromtimestamp(grid.end, UTC)
    found: dict[str, dict[int, Points]] = {name: {} for name in names}
    for place, point, samples, *values in points(_tier(grid), ids, names, start, end, grid.step):
        for index, name in enumerate(names):
            one = found[name].setdefault(place, past_windows.empty(grid))
            one.samples[point] = samples
            one.mean[point], one.low[point], one.high[point], one.last[point] = values[4 * index : 4 * index + 4]
    return found
