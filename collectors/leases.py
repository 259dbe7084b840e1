"""Who polls which cache: a lease that one worker holds, by the database's clock, until it is given back."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from django.conf import settings

from collectors.cursors import raw_cursor

INSERT_MISSING = """
    INSERT INTO collectors_polllease (cache_id, worker, until, polls, skipped, late, commands, connections)
    SELECT id, '', now(), 0, 0, 0, 0, 0 FROM fleet_cache WHERE id = ANY(%s)
    AND NOT EXISTS (SELECT FROM collectors_polllease WHERE cache_id = fleet_cache.id) ON CONFLICT DO NOTHING
"""
CLAIM = """
    UPDATE collectors_polllease AS lease SET worker = %s, tick_at = %s, until = now() + make_interval(secs => %s)
    FROM (
        SELECT cache_id FROM collectors_polllease
        WHERE cache_id = ANY(%s) AND until <= now() AND tick_at IS DISTINCT FROM %s
        ORDER BY cache_id FOR UPDATE SKIP LOCKED
    ) AS free
    WHERE lease.cache_id = free.cache_id RETURNING lease.cache_id, lease.topology_at
"""
COUNT_SKIPPED = """
    UPDATE collectors_polllease SET skipped = skipped + 1 WHERE cache_id IN (
        SELECT cache_id FROM collectors_polllease WHERE cache_id = ANY(%s) AND until > now() AND tick_at <> %s
        ORDER BY cache_id FOR UPDATE SKIP LOCKED
    )
"""
RELEASE = """
    UPDATE collectors_polllease AS lease
    SET until = now(), finished_at = now(), duration_seconds = done.seconds, polls = polls + 1,
        late = lease.late + done.late, commands = done.commands, connections = done.connections,
        topology_at = CASE WHEN done.topology THEN now() ELSE lease.topology_at END
    FROM unnest(%s::bigint[], %s::float8[], %s::int[], %s::int[], %s::int[], %s::bool[])
        AS done (cache_id, seconds, late, commands, connections, topology)
    WHERE lease.cache_id = done.cache_id AND lease.worker = %s AND lease.tick_at = %s
"""
# A poll that begins later than this after its tick counts as late.
LATE_SECONDS = 2
# Time for the database, beyond the time that servers get.
MARGIN_SECONDS = 4


@dataclass(frozen=True, slots=True)
class Claim:
    """One cache that this worker may poll now."""

    cache_id: int
    topology_at: datetime | None


@dataclass(slots=True)
class Outcome:
    """How the poll of one cache went, for the health page."""

    cache_id: int
    seconds: float
    is_late: bool
    commands: int
    connections: int
    saw_topology: bool


def poll_limit_seconds() -> float:
    """Return the longest time that a poll may wait for servers."""
    return settings.POLL_CONNECT_TIMEOUT_SECONDS + settings.POLL_COMMAND_TIMEOUT_SECONDS + 1


def claim(cache_ids: Sequence[int], tick: int, worker: str) -> list[Claim]:
    """Take the leases of those caches that nobody polls; count the others as skipped.

    A tick that was polled already is not polled again. Ticks are compared for being equal only: after a
    clock was set back, smaller ones are new.
    """
    ids, at = list(cache_ids), datetime.fromtimestamp(tick, UTC)
    with raw_cursor() as cursor:
        cursor.execute(CLAIM, [worker, at, poll_limit_seconds() + MARGIN_SECONDS, ids, at], prepare=True)
        claims = [Claim(*row) for row in cursor.fetchall()]
        others = sorted(set(ids) - {claim.cache_id for claim in claims})
        if others:
            cursor.execute(COUNT_SKIPPED, [others, at])
    return claims


def make_missing(cache_ids: Sequence[int]) -> None:
    """Give every one of these caches a lease that is free."""
    with raw_cursor() as cursor:
        cursor.execute(INSERT_MISSING, [list(cache_ids)], prepare=True)


def release(outcomes: Sequence[Outcome], tick: int, worker: str) -> None:
    """Give leases back and write down how the polls went."""
    rows = [(o.cache_id, o.seconds, int(o.is_late), o.commands, o.connections, o.saw_topology) for o in outcomes]
    if not rows:
        return
    columns = [list(column) for column in zip(*rows, strict=True)]
    with raw_cursor() as cursor:
        cursor.execute(RELEASE, [*columns, worker, datetime.fromtimestamp(tick, UTC)], prepare=True)
