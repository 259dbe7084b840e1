"""Points of one round become rows, one a place and minute, and rows are stored where they say something new.

`cloud_sample` holds an array a row, in the order of collectors/cloud/service_metrics.py. All rows of a round go
into one COPY and one upsert; what a process stored it knows by its hash, so that the same minutes, which every
answer brings again for ten minutes, cost it no statement.
"""

from __future__ import annotations

import math
import operator
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction

from collectors.cloud.monitoring import Answer
from collectors.cloud.places import Key, key_of
from collectors.cloud.service_metrics import SERVICE_METRICS
from collectors.cursors import raw_cursor
from collectors.partitions import ensure_partition
from collectors.samples import FUTURE_LIMIT

SIZE = len(SERVICE_METRICS)
Row = list[float | None]
# Which field of a point holds its value, by ValueType of the series; texts and distributions are not for charts.
BOOL, INT64, DOUBLE = 1, 2, 3
COPY = "COPY cloud_landing (at, place_id, numbers) FROM STDIN (FORMAT BINARY)"
COPY_TYPES = ("timestamptz", "int8", "float8[]")
LANDING = """
    CREATE TEMP TABLE IF NOT EXISTS cloud_landing (at timestamptz, place_id bigint, numbers double precision[])
    ON COMMIT DELETE ROWS
"""
# What one metric type did not answer leaves what is stored of it. A round that brings nothing new writes nothing.
UPSERT = """
    INSERT INTO cloud_sample AS old (at, place_id, numbers)
    SELECT at, place_id, numbers FROM cloud_landing ORDER BY place_id, at
    ON CONFLICT (place_id, at) DO UPDATE SET numbers = ARRAY(
        SELECT COALESCE(given, kept) FROM unnest(EXCLUDED.numbers, old.numbers) WITH ORDINALITY
            AS pair (given, kept, position) ORDER BY position
    ) WHERE EXISTS (
        SELECT FROM unnest(EXCLUDED.numbers, old.numbers) AS pair (given, kept)
        WHERE given IS NOT NULL AND given IS DISTINCT FROM kept
    )
"""
# An update where the row is there: it is locked, so that nobody rolls the interval up before this is committed.
NOTE_DUE = """
    INSERT INTO cloud_rollup_due (tier, at)
    SELECT tier, at FROM (
        SELECT DISTINCT tier, date_bin(width, landed.at, 'epoch') AS at FROM cloud_landing AS landed,
            (VALUES ('5m', interval '5 minutes'), ('1h', interval '1 hour')) AS tiers (tier, width)
    ) AS due ORDER BY tier, at ON CONFLICT (tier, at) DO UPDATE SET at = EXCLUDED.at
"""


class Points:
    """All values of one round, by place and minute (epoch seconds)."""

    def __init__(self) -> None:
        self.by_key: dict[Key, dict[int, Row]] = defaultdict(dict)
        self.series = 0
        self.newest = 0

    def take(self, answer: Answer, limit: int) -> None:
        """Add an answer; points later than `limit` come from a clock that jumped."""
        metric = answer.metric
        position, scale, resource = metric.position, metric.scale, metric.resource
        self.series += len(answer.series)
        for series in answer.series:
            minutes = self.by_key[key_of(resource, series)]
            kind = series.value_type
            for point in series.points:
                at = point.interval.end_time.seconds
                at -= at % 60
                value = value_of(point.value, kind)
                if value is None or at > limit:
                    continue
                row = minutes.get(at)
                if row is None:
                    row = minutes[at] = [None] * SIZE
                row[position] = value * scale
                if at > self.newest:
                    self.newest = at

    def rows(self, numbers: Mapping[Key, int]) -> dict[tuple[int, int], Row]:
        """Return the rows by place and minute; two keys of one place are put together."""
        found: dict[tuple[int, int], Row] = {}
        for key, minutes in self.by_key.items():
            place = numbers.get(key)
            if place is None:
                continue
            for at, row in minutes.items():
                other = found.get((place, at))
                found[place, at] = row if other is None else merged(row, other)
        return found


def value_of(value: Any, kind: int) -> float | None:
    """Return a point's number, None where it is none or not finite."""
    if kind == DOUBLE:
        number: float = value.double_value
        return number if math.isfinite(number) else None
    if kind == INT64:
        return float(value.int64_value)
    return float(value.bool_value) if kind == BOOL else None


MERGE: dict[str, Callable[[float, float], float]] = {"sum": operator.add, "max": max, "min": min}


def merged(one: Row, other: Row) -> Row:
    """Return two rows as one: each number as the places of a cache make one (ServiceMetric.over)."""
    return [
        (a if b is None else b) if a is None or b is None else MERGE.get(metric.over, max)(a, b)
        for a, b, metric in zip(one, other, SERVICE_METRICS, strict=True)
    ]


class Stored:
    """What a process knows to be stored, by place and minute: the hash of the row."""

    def __init__(self) -> None:
        self._hashes: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return len(self._hashes)

    def write(self, rows: Mapping[tuple[int, int], Row], now: datetime) -> int:
        """Store the rows that differ from what is known; return how many the database took."""
        oldest = int((now - timedelta(days=settings.RETENTION_RAW_DAYS)).timestamp())
        hashes = {place: hash(tuple(row)) for place, row in rows.items() if place[1] > oldest}
        news = [place for place, given in hashes.items() if self._hashes.get(place) != given]
        taken = store([(at, number, rows[number, at]) for number, at in sorted(news)]) if news else 0
        # Only what this round brought: the next one brings the same minutes but for the oldest.
        self._hashes = hashes
        return taken


def limit_of(now: datetime) -> int:
    return int((now + FUTURE_LIMIT).timestamp())


def store(rows: Sequence[tuple[int, int, Row]]) -> int:
    """Write rows (minute, place, numbers) in one transaction; return how many were new or changed."""
    with transaction.atomic():
        for day in {at // 86_400 for at, _place, _numbers in rows}:
            ensure_partition("cloud_sample", moment(day * 86_400))
        with raw_cursor() as cursor:
            cursor.execute(LANDING)
            with cursor.copy(COPY) as copy:
                copy.set_types(COPY_TYPES)
                for at, place, numbers in rows:
                    copy.write_row((moment(at), place, numbers))
            taken = cursor.execute(UPSERT).rowcount
            cursor.execute(NOTE_DUE)
    return taken


def moment(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
