"""Counts by name over time: calls and time of each command, errors of each type, latency buckets.

What a server names is open-ended, so these are not columns. One row holds what happened on one node in one
interval: parallel arrays of name ids, counts and microseconds, and the latency histogram as (command, bucket,
count). Everything in a row adds up, so nodes and intervals are merged by summing, percentiles included:
buckets are summed first, never percentiles averaged. Finer tiers are reduced to coarser ones by
collectors/tally_rollups.py and read by collectors/tally_queries.py; nobody else names these tables.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection, transaction

from collectors.partitions import PARTITIONED, ensure_partition

COMMAND, ERROR = "command", "error"
# Beyond these, what takes least time or comes least often is added up as OTHER.
NAMES_A_NODE = 64
NAMES_A_KIND = 2_000
OTHER = "other"
# Bucket b counts calls of about 2**b microseconds at most, the last one all slower ones.
BUCKETS = 26
# A count that no server reaches in an interval: sums of what stays below fit into eight bytes for years.
COUNT_LIMIT = 2**40
FUTURE_LIMIT = timedelta(hours=1)


@dataclass(slots=True)
class Tally:
    """What one named thing did in an interval: `usec` is the server's time, `buckets` calls by latency."""

    calls: int = 0
    usec: int = 0
    rejected: int = 0
    failed: int = 0
    buckets: dict[int, int] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not (self.calls or self.rejected or self.failed or self.buckets)

    def add(self, other: "Tally") -> None:
        self.calls += other.calls
        self.usec += other.usec
        self.rejected += other.rejected
        self.failed += other.failed
        for bucket, count in other.buckets.items():
            self.buckets[bucket] = self.buckets.get(bucket, 0) + count


@dataclass(frozen=True, slots=True)
class NodeTallies:
    """The tallies of one node over the `seconds` before `at`, in the role that it had."""

    node_id: int
    at: datetime
    seconds: int
    kind: str
    by_name: Mapping[str, Tally]
    is_primary: bool = True


@dataclass(frozen=True, slots=True)
class Tier:
    """One table of tallies, with a row a node for each `width` of time."""

    table: str
    width: timedelta

    @property
    def keep(self) -> timedelta:
        return PARTITIONED[self.table].keep


TIERS = (
    Tier("tally_1m", timedelta(minutes=1)),
    Tier("tally_10m", timedelta(minutes=10)),
    Tier("tally_2h", timedelta(hours=2)),
    Tier("tally_12h", timedelta(hours=12)),
)
INSERT = """
    INSERT INTO tally_1m (at, node_id, seconds, kind, is_primary, names, calls, usec, rejected, failed,
                          hist_names, hist_buckets, hist_counts)
    VALUES (%s, %s, %s, %s, %s, %s::int[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[],
            %s::int[], %s::smallint[], %s::bigint[]) ON CONFLICT DO NOTHING
"""
# In one order everywhere, so that two writers never wait for each other in a circle.
REGISTER = """
    INSERT INTO tally_name (kind, name) SELECT %s, name FROM unnest(%s::text[]) AS name
    WHERE name = %s OR (SELECT count(*) FROM tally_name WHERE kind = %s) < %s
    ORDER BY name ON CONFLICT DO NOTHING
"""
# Ids that are in the database for good; those of a transaction that may yet be undone are not kept.
_ids: dict[tuple[str, str], int] = {}


def bounded(by_name: Mapping[str, Tally]) -> dict[str, Tally]:
    """Return at most NAMES_A_NODE tallies: the heaviest by time, then by calls, the rest as OTHER."""
    busy = {name: tally for name, tally in by_name.items() if not tally.is_empty}
    if len(busy) <= NAMES_A_NODE:
        return busy
    rest = Tally()
    rest.add(busy.pop(OTHER, Tally()))
    ranked = sorted(busy, key=lambda name: (busy[name].usec, busy[name].calls, busy[name].failed), reverse=True)
    for name in ranked[NAMES_A_NODE - 1 :]:
        rest.add(busy[name])
    return {name: busy[name] for name in ranked[: NAMES_A_NODE - 1]} | {OTHER: rest}


def write(given: Sequence[NodeTallies]) -> None:
    """Store tallies in one transaction; those of an interval that is stored already change nothing.

    Those dated out of bounds (older than the finest tier is kept, or over an hour ahead) are left out.
    """
    now = datetime.now(UTC)
    kept = [tallies for tallies in given if now - TIERS[0].keep < tallies.at < now + FUTURE_LIMIT]
    if not kept:
        return
    shortened = [(tallies, bounded(tallies.by_name)) for tallies in kept]
    with transaction.atomic():
        for at in {tallies.at for tallies in kept}:
            ensure_partition(TIERS[0].table, at)
        ids = {kind: _ids_of(kind, _names(shortened, kind)) for kind in {tallies.kind for tallies in kept}}
        with connection.cursor() as cursor:
            cursor.executemany(INSERT, [_row(tallies, tally, ids[tallies.kind]) for tallies, tally in shortened])


def _names(shortened: Iterable[tuple[NodeTallies, Mapping[str, Tally]]], kind: str) -> set[str]:
    return {name for tallies, by_name in shortened if tallies.kind == kind for name in by_name}


def _ids_of(kind: str, names: Iterable[str]) -> dict[str, int]:
    """Return the ids of names, giving new ones theirs; those beyond NAMES_A_KIND share the id of OTHER."""
    wanted = {*names, OTHER}
    ids = {name: _ids[kind, name] for name in wanted if (kind, name) in _ids}
    missing = sorted(wanted - ids.keys())
    if missing:
        found = _register(kind, missing)
        transaction.on_commit(lambda: _ids.update({(kind, name): identity for name, identity in found.items()}))
        ids |= found
    return {name: ids.get(name, ids[OTHER]) for name in wanted}


def _register(kind: str, names: Sequence[str]) -> dict[str, int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, id FROM tally_name WHERE kind = %s AND name = ANY(%s)", [kind, list(names)])
        found = dict(cursor.fetchall())
        new = [name for name in names if name not in found]
        if new:
            cursor.execute(REGISTER, [kind, new, OTHER, kind, NAMES_A_KIND])
            cursor.execute("SELECT name, id FROM tally_name WHERE kind = %s AND name = ANY(%s)", [kind, list(names)])
            found = dict(cursor.fetchall())
    return found


def _row(tallies: NodeTallies, by_name: Mapping[str, Tally], ids: Mapping[str, int]) -> tuple[Any, ...]:
    values = list(by_name.values())
    histogram = [
        (ids[name], bucket, count) for name, tally in by_name.items() for bucket, count in tally.buckets.items()
    ]
    return (
        tallies.at,
        tallies.node_id,
        tallies.seconds,
        tallies.kind,
        tallies.is_primary,
        [ids[name] for name in by_name],
        [tally.calls for tally in values],
        [tally.usec for tally in values],
        [tally.rejected for tally in values],
        [tally.failed for tally in values],
        *([entry[part] for entry in histogram] for part in range(3)),
    )
