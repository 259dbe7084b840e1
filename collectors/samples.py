"""The only reader and writer of samples: hot rows, latest values, details, rollups.

Tables (collectors/migrations/0002): `sample` has one wide row a node and tick, in day partitions;
`node_latest` and `cache_latest` hold what pages show now; `detail` keeps all other numbers every few
minutes as arrays; `rollup_5m`, `rollup_1h` and `rollup_8h` are made by collectors/retention.py. Nobody else
names these tables, so that closed days can be stored in another way later.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from psycopg.errors import CheckViolation

from collectors import latest
from collectors.cursors import raw_cursor as raw_cursor
from collectors.metrics import HOT
from collectors.metrics.catalogue import Column
from collectors.metrics.detail import DETAIL
from collectors.metrics.hot import HOT_NAMES
from collectors.models import NodeFact
from collectors.partitions import ensure_partition

DETAIL_SLOT = {metric.name: index for index, metric in enumerate(DETAIL)}
# The table's order of columns: `at` and eight-byte numbers first, node_id among the four-byte ones.
COLUMNS: tuple[str, ...] = ("at", *HOT_NAMES, "node_id")
COPY_SAMPLES = f"COPY sample ({', '.join(COLUMNS)}) FROM STDIN (FORMAT BINARY)"
COPY_TYPES = ("timestamptz", *(str(metric.column or Column.INT8) for metric in HOT), "int4")
# Ticks further ahead than this come from a clock that jumped: they would hide what is measured later.
FUTURE_LIMIT = timedelta(hours=1)


@dataclass(slots=True)
class NodeReading:
    """What one poll of one node gave. `hot` follows HOT_NAMES; CPU seconds are whole microseconds."""

    node_id: int
    tick: int
    hot: list[int | float | bool | None]
    detail: dict[str, float] | None = None
    facts: dict[str, str] = field(default_factory=dict)

    @property
    def at(self) -> datetime:
        return datetime.fromtimestamp(self.tick, UTC)


def write(readings: Sequence[NodeReading], cache_ids: Iterable[int] = (), tick: int | None = None) -> int:
    """Store readings in one transaction and refresh the latest values; return how many were new.

    A reading that is stored already changes nothing. One with a time out of bounds (older than raw
    samples are kept, or over an hour ahead) is left out. `cache_ids` names further caches whose
    summary must be made anew although none of their nodes answered.
    """
    now = datetime.now(UTC)
    oldest = now - timedelta(days=settings.RETENTION_RAW_DAYS)
    # One order everywhere, so that two writers never wait for each other in a circle.
    given = {(reading.node_id, reading.tick): reading for reading in reversed(readings)}
    kept = [reading for _, reading in sorted(given.items()) if oldest < reading.at < now + FUTURE_LIMIT]
    with transaction.atomic():
        stored = _insert(kept)
        latest.refresh_nodes([(reading.node_id, reading.at) for reading in kept])
        newest = max([reading.tick for reading in kept] + ([tick] if tick else []), default=0)
        latest.refresh_caches([r.node_id for r in kept], cache_ids, datetime.fromtimestamp(newest, UTC))
        _note_late(kept)
        _insert_details([reading for reading in kept if reading.detail])
        _store_facts([reading for reading in kept if reading.facts])
    return stored


def _insert(readings: Sequence[NodeReading]) -> int:
    """COPY the rows; where some exist already or a partition is missing, mend that and go on."""
    if not readings:
        return 0
    try:
        with transaction.atomic():
            _copy(readings)
    except IntegrityError as error:
        if isinstance(error.__cause__, CheckViolation):
            for at in {reading.at for reading in readings}:
                ensure_partition("sample", at)
            return _insert(readings)
        known = _existing(readings)
        return _insert([reading for reading in readings if (reading.node_id, reading.at) not in known])
    return len(readings)


def _copy(readings: Sequence[NodeReading]) -> None:
    with raw_cursor() as cursor, cursor.copy(COPY_SAMPLES) as copy:
        copy.set_types(COPY_TYPES)
        for reading in readings:
            copy.write_row((reading.at, *reading.hot, reading.node_id))


def _existing(readings: Sequence[NodeReading]) -> set[tuple[int, datetime]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT node_id, at FROM sample JOIN unnest(%s::int[], %s::timestamptz[]) AS wanted (node_id, at)"
            " USING (node_id, at)",
            [[r.node_id for r in readings], [r.at for r in readings]],
        )
        return set(cursor.fetchall())


def _note_late(readings: Sequence[NodeReading]) -> None:
    """Mark the rolled-up intervals that these samples fall into, to be rolled up again."""
    if not readings:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO rollup_late (at) SELECT DISTINCT date_bin('5 minutes', at, 'epoch')"
            " FROM unnest(%s::timestamptz[]) AS at WHERE at < (SELECT until FROM rollup_mark WHERE tier = '5m')"
            " ON CONFLICT DO NOTHING",
            [sorted({reading.at for reading in readings})],
        )


def _insert_details(readings: Sequence[NodeReading]) -> None:
    if not readings:
        return
    for at in {reading.at for reading in readings}:
        ensure_partition("detail", at)
    rows = [(reading.node_id, reading.at, _detail_array(reading.detail or {})) for reading in readings]
    with raw_cursor() as cursor:
        cursor.executemany("INSERT INTO detail (node_id, at, numbers) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING", rows)


def _detail_array(numbers: dict[str, float]) -> list[float | None]:
    slots: list[float | None] = [None] * len(DETAIL)
    for name, number in numbers.items():
        if (slot := DETAIL_SLOT.get(name)) is not None:
            slots[slot] = float(number)
    return slots


def _store_facts(readings: Sequence[NodeReading]) -> None:
    """Close the facts whose value changed and add the new ones; an older reading changes nothing."""
    rows = [(r.node_id, name, value[:500], r.at) for r in readings for name, value in r.facts.items()]
    if not rows:
        return
    columns = [list(column) for column in zip(*rows, strict=True)]
    given = "unnest(%s::int[], %s::text[], %s::text[], %s::timestamptz[]) AS given (node_id, name, value, since)"
    table = NodeFact._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {table} AS fact SET until = given.since FROM {given} WHERE fact.until IS NULL"
            " AND fact.node_id = given.node_id AND fact.name = given.name"
            " AND fact.value <> given.value AND fact.since < given.since",
            columns,
        )
        cursor.execute(
            f"INSERT INTO {table} (node_id, name, value, since) SELECT node_id, name, value, since FROM {given}"
            f" WHERE NOT EXISTS (SELECT FROM {table} AS fact WHERE fact.until IS NULL"
            " AND fact.node_id = given.node_id AND fact.name = given.name) ON CONFLICT DO NOTHING",
            columns,
        )
