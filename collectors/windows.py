"""What rules read: one number a node over a window of time that ends at a tick.

A window is open at its start and closed at its end, so that two windows in a row share no sample. All
readings of one length come from one query, and no query looks further back than its window: how long
history is kept does not matter.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from django.conf import settings

from collectors.cursors import raw_cursor
from collectors.metrics.lookup import Shown, shown
from collectors.series_sql import measured

Values = dict[int, float]
WEEK = timedelta(days=7)
# A straight line must explain so much of the samples before a forecast is believed.
FORECAST_FIT = 0.5


class Read(StrEnum):
    """How a window becomes one number."""

    LAST = "last"
    AVG = "avg"
    MIN = "min"
    MAX = "max"
    SUM = "sum"
    RATE = "rate"
    INCREASE = "increase"
    SHARE = "share"
    FORECAST = "forecast"
    DEVIATION = "deviation"


@dataclass(frozen=True, slots=True)
class Reading:
    """What is read of a metric: how, over how many seconds, and against which level.

    `level` is the bound of SHARE (share of the samples above it, 0 to 1) and the limit of FORECAST
    (seconds until a straight line reaches it; infinite where the line does not rise). RATE and INCREASE
    are for what counts per second. DEVIATION is the mean over the mean of the same hour a week ago.
    """

    metric: str
    how: Read = Read.LAST
    seconds: int = 0
    level: float = 0.0


def read(node_ids: Collection[int], at: datetime, wanted: Iterable[Reading]) -> dict[Reading, Values]:
    """Return each reading's values by node id; a node without enough samples is missing.

    LAST takes the newest sample of the last `seconds` (at least one must be that young). Raise
    UnknownMetricError where there is no such metric.
    """
    by_length: dict[int, list[Reading]] = defaultdict(list)
    found: dict[Reading, Values] = {}
    for reading in dict.fromkeys(wanted):
        by_length[reading.seconds].append(reading)
    for seconds, readings in by_length.items():
        found |= _read_length(list(node_ids), at, seconds, readings)
    return found


def _read_length(ids: list[int], at: datetime, seconds: int, readings: Sequence[Reading]) -> dict[Reading, Values]:
    metrics = {name: shown(name) for name in dict.fromkeys(reading.metric for reading in readings)}
    found: dict[Reading, Values] = {}
    for tier, is_detail in (("raw", False), ("detail", True)):
        of_tier = [reading for reading in readings if metrics[reading.metric].is_detail == is_detail]
        named = [metric for metric in metrics.values() if metric.is_detail == is_detail]
        if of_tier:
            # Details come every few minutes: a shorter window would mostly be empty.
            length = max(seconds, 2 * settings.DETAIL_INTERVAL_SECONDS) if is_detail else seconds
            found |= _read_tier(tier, ids, at, length, of_tier, named)
    past = [reading for reading in found if reading.how is Read.DEVIATION and not metrics[reading.metric].is_detail]
    if past:
        usual = _week_ago(ids, at, [metrics[reading.metric] for reading in past])
        for reading, means in zip(past, usual, strict=True):
            found[reading] = {node: value / means[node] for node, value in found[reading].items() if means.get(node)}
    return found


def _read_tier(
    tier: str, ids: list[int], at: datetime, seconds: int, readings: Sequence[Reading], metrics: Sequence[Shown]
) -> dict[Reading, Values]:
    position = {metric.name: f"v{index}" for index, metric in enumerate(metrics)}
    with_spans = any(reading.how in {Read.RATE, Read.INCREASE} for reading in readings)
    source, back = measured(tier, metrics, with_primary=False, with_spans=with_spans)
    start, end = at - timedelta(seconds=seconds), at + timedelta(microseconds=1)
    columns = ", ".join(aggregate(reading, position[reading.metric]) for reading in readings)
    sql = f"SELECT node_id, {columns} FROM ({source}) AS v WHERE at > %s GROUP BY node_id"
    with raw_cursor() as cursor:
        cursor.execute(sql, [ids, start - back, end, start], binary=True, prepare=True)
        rows = cursor.fetchall()
    return {
        reading: {row[0]: row[index] for row in rows if row[index] is not None}
        for index, reading in enumerate(readings, start=1)
    }


def aggregate(reading: Reading, value: str, *, is_late: bool = False) -> str:
    """Return SQL for a reading over the rows of a window; levels are our own numbers, never a user's text.

    With `is_late`, a newest row without the value is one whose value is still to come.
    """
    level = f"{float(reading.level)!r}::float8"
    seconds = "date_part('epoch', at)"
    known = f" FILTER (WHERE {value} IS NOT NULL)" if is_late else ""
    slope, last = f"regr_slope({value}, {seconds})", f"(array_agg({value} ORDER BY at DESC){known})[1]"
    return {
        Read.LAST: last,
        Read.AVG: f"avg({value})",
        Read.DEVIATION: f"avg({value})",
        Read.MIN: f"min({value})",
        Read.MAX: f"max({value})",
        Read.SUM: f"sum({value})",
        Read.RATE: f"sum({value} * span) / sum(span) FILTER (WHERE {value} IS NOT NULL)",
        Read.INCREASE: f"sum({value} * span)",
        Read.SHARE: f"avg(({value} > {level})::int::float8)",
        Read.FORECAST: f"CASE WHEN count({value}) < 3 THEN NULL WHEN {last} >= {level} THEN 0::float8"
        f" WHEN {slope} > 0 AND regr_r2({value}, {seconds}) >= {FORECAST_FIT}"
        f" THEN ({level} - {last}) / {slope} ELSE 'Infinity'::float8 END",
    }[reading.how]


def _week_ago(ids: list[int], at: datetime, metrics: Sequence[Shown]) -> list[Values]:
    """Return the means of the same hour a week ago, from the hourly rollup."""
    hour = (at - WEEK).astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    columns = ", ".join(f"mean[{metric.slot}]::float8" for metric in metrics)
    with raw_cursor() as cursor:
        cursor.execute(
            f"SELECT node_id, {columns} FROM rollup_1h WHERE node_id = ANY(%s::int[]) AND at = %s",
            [ids, hour],
            binary=True,
        )
        rows = cursor.fetchall()
    return [{row[0]: row[index] for row in rows if row[index] is not None} for index in range(1, len(metrics) + 1)]
