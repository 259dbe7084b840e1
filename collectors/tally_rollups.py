"""Reduce finer tallies to coarser ones by summing. Every function can be killed and run again."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from django.db import connection, transaction

from collectors.partitions import ensure_partition
from collectors.tallies import TIERS, Tier

# A poll that is late may still be on its way for this long after an interval's end.
GRACE = timedelta(seconds=90)
# One transaction covers this many intervals at most, so that catching up after an outage holds no lock for long.
CHUNK = 6


def _roll_sql(finer: Tier, coarser: Tier) -> str:
    width = f"interval '{int(coarser.width.total_seconds())} seconds'"
    key = "bin, node_id, kind, is_primary"
    return f"""
        WITH part AS (
            SELECT *, date_bin({width}, at, 'epoch') AS bin FROM {finer.table} WHERE at >= %s AND at < %s
        ), counts AS (
            SELECT {key}, u.name, sum(u.calls)::bigint AS calls, sum(u.usec)::bigint AS usec,
                   sum(u.rejected)::bigint AS rejected, sum(u.failed)::bigint AS failed
            FROM part, unnest(names, calls, usec, rejected, failed) AS u (name, calls, usec, rejected, failed)
            GROUP BY {key}, u.name
        ), named AS (
            SELECT {key}, array_agg(name ORDER BY name) AS names, array_agg(calls ORDER BY name) AS calls,
                   array_agg(usec ORDER BY name) AS usec, array_agg(rejected ORDER BY name) AS rejected,
                   array_agg(failed ORDER BY name) AS failed
            FROM counts GROUP BY {key}
        ), buckets AS (
            SELECT {key}, h.name, h.bucket, sum(h.counted)::bigint AS counted
            FROM part, unnest(hist_names, hist_buckets, hist_counts) AS h (name, bucket, counted)
            GROUP BY {key}, h.name, h.bucket
        ), histogram AS (
            SELECT {key}, array_agg(name ORDER BY name, bucket) AS hist_names,
                   array_agg(bucket ORDER BY name, bucket) AS hist_buckets,
                   array_agg(counted ORDER BY name, bucket) AS hist_counts
            FROM buckets GROUP BY {key}
        ), spans AS (SELECT {key}, sum(seconds)::int AS seconds FROM part GROUP BY {key})
        INSERT INTO {coarser.table} (at, node_id, seconds, kind, is_primary, names, calls, usec, rejected, failed,
                                     hist_names, hist_buckets, hist_counts)
        SELECT bin, node_id, seconds, kind, is_primary, COALESCE(names, '{{}}'), COALESCE(calls, '{{}}'),
               COALESCE(usec, '{{}}'), COALESCE(rejected, '{{}}'), COALESCE(failed, '{{}}'),
               COALESCE(hist_names, '{{}}'), COALESCE(hist_buckets, '{{}}'), COALESCE(hist_counts, '{{}}')
        FROM spans LEFT JOIN named USING ({key}) LEFT JOIN histogram USING ({key})
        ON CONFLICT DO NOTHING
    """


STEPS = tuple((finer, coarser, _roll_sql(finer, coarser)) for finer, coarser in pairwise(TIERS))


def roll_up_tallies(now: datetime | None = None) -> int:
    """Bring every coarser tier up to now; return the intervals done."""
    moment = now or datetime.now(UTC)
    return sum(_advance(finer, coarser, sql, moment) for finer, coarser, sql in STEPS)


def _advance(finer: Tier, coarser: Tier, sql: str, now: datetime) -> int:
    done = 0
    while True:
        with transaction.atomic():
            start = _claim_mark(finer, coarser, now)
            end = _end_of(start, finer, coarser, now) if start else None
            if start is None or end is None or end <= start:
                return done
            for at in (start, end - coarser.width):
                ensure_partition(coarser.table, at)
            with connection.cursor() as cursor:
                cursor.execute(sql, [start, end])
                cursor.execute("UPDATE rollup_mark SET until = %s WHERE tier = %s", [end, coarser.table])
        done += int((end - start) / coarser.width)


def _claim_mark(finer: Tier, coarser: Tier, now: datetime) -> datetime | None:
    """Lock the tier's mark and return it; None where another worker holds it or nothing is stored yet."""
    with connection.cursor() as cursor:
        # The oldest row is looked for once only: no index leads to it.
        cursor.execute(
            "INSERT INTO rollup_mark (tier, until) SELECT %s, date_bin(%s::interval, min(at), 'epoch')"
            f" FROM {finer.table} WHERE NOT EXISTS (SELECT FROM rollup_mark WHERE tier = %s)"
            " HAVING min(at) IS NOT NULL ON CONFLICT DO NOTHING",
            [coarser.table, str(coarser.width), coarser.table],
        )
        cursor.execute("SELECT until FROM rollup_mark WHERE tier = %s FOR UPDATE SKIP LOCKED", [coarser.table])
        row = cursor.fetchone()
        if row is None:
            return None
        cursor.execute(
            "SELECT GREATEST(%s, date_bin(%s::interval, %s, 'epoch'))", [row[0], str(coarser.width), now - finer.keep]
        )
        return cursor.fetchone()[0]  # type: ignore[no-any-return]


def _end_of(start: datetime, finer: Tier, coarser: Tier, now: datetime) -> datetime:
    """Return the end of the newest interval that the finer tier holds whole, CHUNK intervals from `start` at most."""
    until = now - GRACE
    if finer is not TIERS[0]:
        # Where another worker is still busy with the finer tier, its rows would be missed for good.
        with connection.cursor() as cursor:
            cursor.execute("SELECT until FROM rollup_mark WHERE tier = %s", [finer.table])
            row = cursor.fetchone()
        until = min(until, row[0]) if row else start
    return start + coarser.width * min(int((until - start) / coarser.width), CHUNK)
