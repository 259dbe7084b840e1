"""Partitions by time: made when first needed, dropped when their whole span is past its keeping."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from django.conf import settings
from django.db import connection, transaction

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Partitioned:
    """A table split by time into spans of whole days, counted from 1970-01-01."""

    table: str
    span_days: int
    keep_setting: str

    def start_of(self, at: datetime) -> datetime:
        days = (at - EPOCH).days
        return EPOCH + timedelta(days=days - days % self.span_days)

    @property
    def keep(self) -> timedelta:
        return timedelta(days=getattr(settings, self.keep_setting))


PARTITIONED = {
    table.table: table
    for table in (
        Partitioned("sample", 1, "RETENTION_RAW_DAYS"),
        Partitioned("detail", 7, "RETENTION_DETAIL_DAYS"),
        Partitioned("rollup_5m", 7, "RETENTION_5M_DAYS"),
        Partitioned("rollup_1h", 91, "RETENTION_1H_DAYS"),
        Partitioned("rollup_8h", 364, "RETENTION_1H_DAYS"),
        Partitioned("cloud_sample", 1, "RETENTION_RAW_DAYS"),
        Partitioned("cloud_rollup_5m", 7, "RETENTION_5M_DAYS"),
        Partitioned("cloud_rollup_1h", 91, "RETENTION_1H_DAYS"),
        Partitioned("tally_1m", 1, "RETENTION_TALLY_1M_DAYS"),
        Partitioned("tally_10m", 7, "RETENTION_TALLY_10M_DAYS"),
        Partitioned("tally_2h", 28, "RETENTION_TALLY_2H_DAYS"),
        Partitioned("tally_12h", 91, "RETENTION_TALLY_12H_DAYS"),
    )
}


def ensure_partition(table: str, at: datetime) -> None:
    """Create the partition of `table` that holds `at`, where it is missing."""
    partitioned = PARTITIONED[table]
    _create(table, partitioned.start_of(at), partitioned.span_days)


def make_ahead(now: datetime) -> None:
    """Make the partitions of today and the next two days, before anybody writes to them."""
    for table in PARTITIONED:
        for days in range(3):
            ensure_partition(table, now + timedelta(days=days))


def forget_created() -> None:
    """Ask the database again from now on: partitions were dropped, or a test rolled back."""
    _created.cache_clear()


@lru_cache(maxsize=512)
def _created(name: str) -> list[bool]:
    """Return a cell that remembers whether the partition was seen to exist."""
    return [False]


def _create(table: str, start: datetime, span_days: int) -> None:
    name = f"{table}_p{start:%Y%m%d}"
    seen = _created(name)
    if seen[0]:
        return
    with transaction.atomic(), connection.cursor() as cursor:
        # Two workers may come to midnight together; CREATE IF NOT EXISTS alone can still collide.
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [name])
        cursor.execute(
            f"CREATE TABLE IF NOT EXISTS {name} PARTITION OF {table} FOR VALUES FROM (%s) TO (%s)",
            [start, start + timedelta(days=span_days)],
        )
    transaction.on_commit(lambda: seen.__setitem__(0, True))


def existing(table: str) -> list[tuple[str, datetime]]:
    """Return the partitions of `table` with the start of each, oldest first."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT child.relname FROM pg_inherits JOIN pg_class AS child ON child.oid = inhrelid"
            " WHERE inhparent = %s::regclass ORDER BY child.relname",
            [table],
        )
        names = [name for (name,) in cursor.fetchall()]
    return [(name, datetime.strptime(name[-8:], "%Y%m%d").replace(tzinfo=UTC)) for name in names]


def drop_expired(now: datetime) -> list[str]:
    """Drop every partition whose newest possible row is older than its table keeps; return their names."""
    expired = [
        name
        for table in PARTITIONED.values()
        for name, start in existing(table.table)
        if start + timedelta(days=table.span_days) < now - table.keep
    ]
    for name in expired:
        with connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE IF EXISTS {name}")
    forget_created()
    return expired
