"""Scheduled care of samples: rollups, partitions, trends. Every function can be killed and run again."""

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.utils import timezone

from collectors import client_lists, events, hot_keys, latency_events, partitions, slot_readings, slowlog
from collectors.cloud import rollups as cloud_rollups
from collectors.keyscan import results
from collectors.metrics.lookup import shown
from collectors.metrics.slots import ROLLED
from collectors.models import Beat
from collectors.partitions import EPOCH
from collectors.rates import RATE_GAP_SECONDS
from collectors.series_sql import FINER, TABLE, marks, pairs
from collectors.series_sql import WIDTH as SECONDS

WIDTH = {tier: timedelta(seconds=seconds) for tier, seconds in SECONDS.items()}
# Samples of an interval may still be on their way for this long after its end.
GRACE = timedelta(seconds=30)
# One transaction covers this much at most, so that catching up after an outage holds no lock for long.
CHUNK = {"5m": timedelta(minutes=30), "1h": timedelta(hours=6), "8h": timedelta(days=7)}
# The tier that is made of another tier's rows. It may have years to catch up on: other work has its turn in between.
MERGED, CATCH_UP_SECONDS = "8h", 5.0
# Twelve readings in ten minutes at least: below that a slope is noise.
TREND_WINDOW, TREND_SPAN_SECONDS, TREND_POINTS = timedelta(minutes=30), 600, 12
# Growth that began lately counts by itself, once it is this straight and adds this share of the memory.
RUSH_WINDOW, RUSH_POINTS, RUSH_FIT, RUSH_SHARE = timedelta(minutes=3), 7, 0.9, 0.02


MEASURED = ("avg(v{0})::real", "min(v{0})::real", "max(v{0})::real", "(max(v{0}) FILTER (WHERE newest))::real")
ROWS = (
    "(sum(mean[{1}]::float8 * samples) / sum(samples) FILTER (WHERE mean[{1}] IS NOT NULL))::real",
    "min(minimum[{1}])",
    "max(maximum[{1}])",
    "max(last[{1}]) FILTER (WHERE newest)",
)


def _roll_sql(tier: str) -> str:
    if tier == MERGED:
        source, samples, expressions = f"SELECT * FROM {TABLE[FINER[tier]]} WHERE at < %s", "sum(samples)", ROWS
    else:
        numbers = ", ".join(f"({shown(name).sql})::float8 AS v{i}" for i, name in enumerate(ROLLED))
        source = pairs(numbers).replace("node_id = ANY(%s::int[]) AND ", "")
        samples, expressions = "count(*)", MEASURED
    arrays = ", ".join(
        f"ARRAY[{', '.join(expression.format(i, i + 1) for i in range(len(ROLLED)))}]" for expression in expressions
    )
    width = f"interval '{int(WIDTH[tier].total_seconds())} seconds'"
    return f"""
        INSERT INTO {TABLE[tier]} (at, node_id, samples, mean, minimum, maximum, last)
        SELECT bucket, node_id, {samples}, {arrays} FROM (
            SELECT *, date_bin({width}, at, 'epoch') AS bucket,
                   at = max(at) OVER (PARTITION BY node_id, date_bin({width}, at, 'epoch')) AS newest
            FROM ({source}) AS source WHERE at >= %s
        ) AS placed GROUP BY bucket, node_id
        ON CONFLICT (node_id, at) DO UPDATE SET samples = EXCLUDED.samples, mean = EXCLUDED.mean,
            minimum = EXCLUDED.minimum, maximum = EXCLUDED.maximum, last = EXCLUDED.last
    """


ROLL = {tier: _roll_sql(tier) for tier in WIDTH}


def roll_up(now: datetime | None = None) -> int:
    """Bring all tiers up to now, mend intervals whose samples came late; return the intervals done."""
    moment = now or datetime.now(UTC)
    done = sum(_advance(tier, moment) for tier in WIDTH) + _mend_late()
    refresh_trends(moment)
    Beat.objects.update_or_create(id=Beat.WORKER, defaults={"at": timezone.now()})
    return done


def _advance(tier: str, now: datetime) -> int:
    done, until = 0, monotonic() + (CATCH_UP_SECONDS if tier == MERGED else math.inf)
    while True:
        with transaction.atomic():
            start = _claim_mark(tier, now)
            end = min(_floor(_complete(tier, now), tier), start + CHUNK[tier]) if start else None
            if start is None or end is None or end <= start:
                return done
            _roll(tier, start, end)
            _move_mark(tier, end)
        done += int((end - start) / WIDTH[tier])
        if monotonic() > until:
            return done


def _complete(tier: str, now: datetime) -> datetime:
    """Return until when all is there that a tier is made of."""
    return marks().get(FINER[tier], EPOCH) if tier == MERGED else now - GRACE


# The oldest one is looked for once only. No index leads to the oldest sample: that costs a read of the whole table.
OLDEST_SAMPLE = "SELECT min(at) AS at FROM sample"
OLDEST_ROW = "SELECT min((SELECT min(at) FROM {} WHERE node_id = node.id)) AS at FROM fleet_node AS node"


def _claim_mark(tier: str, now: datetime) -> datetime | None:
    """Lock the tier's mark and return it; None where another worker holds it or nothing is stored yet."""
    kept = settings.RETENTION_1H_DAYS if tier == MERGED else settings.RETENTION_RAW_DAYS
    with connection.cursor() as cursor:
        cursor.execute("SELECT until FROM rollup_mark WHERE tier = %s FOR UPDATE SKIP LOCKED", [tier])
        row = cursor.fetchone() or _begin(cursor, tier)
    return max(row[0], _floor(now - timedelta(days=kept), tier)) if row else None


def _begin(cursor: CursorWrapper, tier: str) -> Any:
    """Set the mark of a tier that has none, and return it; None where another holds one, or nothing is stored yet."""
    oldest = OLDEST_ROW.format(TABLE[FINER[tier]]) if tier == MERGED else OLDEST_SAMPLE
    cursor.execute(
        "INSERT INTO rollup_mark (tier, until) SELECT %s, date_bin(make_interval(secs => %s), at, 'epoch')"
        f" FROM ({oldest}) AS oldest WHERE at IS NOT NULL AND NOT EXISTS (SELECT FROM rollup_mark WHERE tier = %s)"
        " ON CONFLICT DO NOTHING RETURNING until",
        [tier, WIDTH[tier].total_seconds(), tier],
    )
    return cursor.fetchone()


def _move_mark(tier: str, until: datetime) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE rollup_mark SET until = %s WHERE tier = %s", [until, tier])


def _floor(at: datetime, tier: str) -> datetime:
    seconds = int(WIDTH[tier].total_seconds())
    return datetime.fromtimestamp(int(at.timestamp()) // seconds * seconds, UTC)


def _roll(tier: str, start: datetime, end: datetime) -> None:
    """Make the rollups of [start, end) from raw samples; existing ones are replaced."""
    for at in _spans(start, end):
        partitions.ensure_partition(TABLE[tier], at)
    before = [] if tier == MERGED else [start - timedelta(seconds=RATE_GAP_SECONDS)]
    with connection.cursor() as cursor:
        cursor.execute(ROLL[tier], [*before, end, start])


def _spans(start: datetime, end: datetime) -> Iterator[datetime]:
    at = start
    while at < end:
        yield at
        at += timedelta(days=1)
    yield end - timedelta(microseconds=1)


def _mend_late() -> int:
    """Make the intervals again that got samples after they were rolled up."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM rollup_late RETURNING at")
            late = sorted(at for (at,) in cursor.fetchall())
        done = marks()
        for tier, width in WIDTH.items():
            for start in sorted({_floor(at, tier) for at in late}):
                if start < done.get(tier, start):
                    _roll(tier, start, start + width)
    return len(late)


TRENDS = """
    INSERT INTO node_trend (node_id, at, bytes_per_second, fit)
    SELECT node_id, %(now)s, CASE WHEN is_rush THEN rush ELSE slope END, CASE WHEN is_rush THEN rush_fit ELSE fit END
    FROM (
        SELECT *, COALESCE(rush_points >= %(rush_points)s AND rush_fit >= %(rush_fit)s
            AND rush * rush_span >= %(rush_share)s * used, false) AS is_rush
        FROM (
            SELECT node_id, count(*) AS points, max(seconds) - min(seconds) AS span, max(used_memory) AS used,
                regr_slope(used_memory, seconds) AS slope, regr_r2(used_memory, seconds) AS fit,
                count(*) FILTER (WHERE is_late) AS rush_points,
                max(seconds) FILTER (WHERE is_late) - min(seconds) FILTER (WHERE is_late) AS rush_span,
                regr_slope(used_memory, seconds) FILTER (WHERE is_late) AS rush,
                regr_r2(used_memory, seconds) FILTER (WHERE is_late) AS rush_fit
            FROM (
                SELECT node_id, used_memory, date_part('epoch', at - %(now)s) AS seconds,
                    at >= %(rush_start)s AS is_late
                FROM sample WHERE at >= %(start)s AND used_memory IS NOT NULL
            ) AS recent GROUP BY node_id
        ) AS lines
    ) AS judged WHERE is_rush OR (span >= %(span)s AND points >= %(points)s)
    ON CONFLICT (node_id) DO UPDATE SET at = EXCLUDED.at,
        bytes_per_second = EXCLUDED.bytes_per_second, fit = EXCLUDED.fit
"""


def refresh_trends(now: datetime) -> None:
    """Fit a line through each node's used_memory: of the last half hour, or of a rush in the last minutes."""
    limits: dict[str, Any] = {
        "now": now,
        "start": now - TREND_WINDOW,
        "span": TREND_SPAN_SECONDS,
        "points": TREND_POINTS,
        "rush_start": now - RUSH_WINDOW,
        "rush_points": RUSH_POINTS,
        "rush_fit": RUSH_FIT,
        "rush_share": RUSH_SHARE,
    }
    with connection.cursor() as cursor:
        cursor.execute(TRENDS, limits)
        cursor.execute("DELETE FROM node_trend WHERE at < %s", [now - TREND_WINDOW])


def keep_partitions(now: datetime | None = None) -> list[str]:
    """Make the partitions of the next two days, drop the expired ones; return the names dropped."""
    moment = now or datetime.now(UTC)
    partitions.make_ahead(moment)
    _forget_gone()
    events.forget_old(moment)
    slowlog.forget_old(moment)
    client_lists.forget_old(moment)
    client_lists.forget_rows(moment)
    latency_events.forget_old(moment)
    slot_readings.forget_old(moment)
    hot_keys.forget_rows(moment)
    results.forget_old(moment)
    cloud_rollups.forget_old(moment)
    return partitions.drop_expired(moment)


def _forget_gone() -> None:
    """Remove latest values of nodes and caches that were deleted; their samples go with the partitions."""
    with connection.cursor() as cursor:
        for table in ("node_latest", "node_trend"):
            cursor.execute(f"DELETE FROM {table} WHERE node_id NOT IN (SELECT id FROM fleet_node)")
        cursor.execute("DELETE FROM cache_latest WHERE cache_id NOT IN (SELECT id FROM fleet_cache)")
