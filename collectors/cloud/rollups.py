"""Samples of the service in five minutes and in an hour, as collectors/retention.py has them of nodes.

Whoever stores samples marks their intervals as due, late ones too; an interval is made once nothing more is
expected for it. Everything before the oldest interval that is due is complete.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection, transaction

from collectors.cloud.feed import CloudPlace
from collectors.cloud.storing import SIZE
from collectors.partitions import ensure_partition

WIDTH = {"5m": timedelta(minutes=5), "1h": timedelta(hours=1)}
TABLE = {"5m": "cloud_rollup_5m", "1h": "cloud_rollup_1h"}
# Points are asked for again for ten minutes after their time.
GRACE = timedelta(minutes=11)
# Intervals in one transaction at most, so that catching up holds no lock for long.
CHUNK = {"5m": 12, "1h": 2}
CLAIM = """
    DELETE FROM cloud_rollup_due WHERE (tier, at) IN (
        SELECT tier, at FROM cloud_rollup_due WHERE tier = %s AND at <= %s ORDER BY at LIMIT %s FOR UPDATE SKIP LOCKED
    ) RETURNING at
"""


def _roll_sql(tier: str) -> str:
    arrays = ", ".join(
        f"ARRAY[{', '.join(expression.format(f'numbers[{i}]') for i in range(1, SIZE + 1))}]"
        for expression in (
            "avg({0})::real",
            "min({0})::real",
            "max({0})::real",
            "(max({0}) FILTER (WHERE newest))::real",
        )
    )
    return f"""
        INSERT INTO {TABLE[tier]} (at, place_id, samples, mean, minimum, maximum, last)
        SELECT %(at)s, place_id, count(*), {arrays} FROM (
            SELECT place_id, numbers, at = max(at) OVER (PARTITION BY place_id) AS newest
            FROM cloud_sample WHERE at >= %(at)s AND at < %(end)s
        ) AS placed GROUP BY place_id
        ON CONFLICT (place_id, at) DO UPDATE SET samples = EXCLUDED.samples, mean = EXCLUDED.mean,
            minimum = EXCLUDED.minimum, maximum = EXCLUDED.maximum, last = EXCLUDED.last
    """


ROLL = {tier: _roll_sql(tier) for tier in TABLE}


def roll_up(now: datetime) -> int:
    """Make every interval that is due and whole; return how many those were."""
    return sum(_advance(tier, now) for tier in TABLE)


def _advance(tier: str, now: datetime) -> int:
    done = 0
    while True:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(CLAIM, [tier, now - GRACE - WIDTH[tier], CHUNK[tier]])
            starts = sorted(at for (at,) in cursor.fetchall())
            for at in starts:
                ensure_partition(TABLE[tier], at)
                cursor.execute(ROLL[tier], {"at": at, "end": at + WIDTH[tier]})
        if not starts:
            return done
        done += len(starts)


def forget_old(now: datetime) -> None:
    """Remove places that no table holds a sample of any more."""
    CloudPlace.objects.filter(seen_on__lt=(now - timedelta(days=settings.RETENTION_1H_DAYS)).date()).delete()
