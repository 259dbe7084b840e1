"""Read tallies: a table of names over a range, node by node, and series of the heaviest names.

Rates are sums over nodes. `time_share` is the mean over nodes of the share of their time: commands run one
after the other on a server's main thread, so 1 is a server that does nothing else. Percentiles come from
buckets that were summed first.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection

from collectors.tallies import BUCKETS, TIERS, Tier

# Rows (nodes x intervals) that one answer may read; a coarser tier is taken beyond it.
ROW_BUDGET = 6_000
# Servers count by powers of two of nanoseconds and round up: the bucket of "at most 1 usec" ends here.
FIRST_BUCKET_USEC = 1.032


@dataclass(slots=True)
class Totals:
    """What one name did, all chosen nodes together. `usec` is server time; `buckets` are calls by latency."""

    name: str
    calls: int = 0
    usec: int = 0
    rejected: int = 0
    failed: int = 0
    buckets: list[int] = field(default_factory=lambda: [0] * BUCKETS)

    def add(self, calls: int, usec: int, rejected: int, failed: int) -> None:
        self.calls += calls
        self.usec += usec
        self.rejected += rejected
        self.failed += failed

    @property
    def usec_per_call(self) -> float | None:
        return self.usec / self.calls if self.calls else None

    @property
    def has_histogram(self) -> bool:
        return any(self.buckets)

    def percentile_usec(self, share: float) -> float | None:
        """Return the latency that `share` (0 to 1) of the calls stayed below; None without a histogram."""
        return percentile_usec(self.buckets, share)


def percentile_usec(buckets: Sequence[int], share: float) -> float | None:
    """Return the percentile of a histogram, interpolated within its bucket: off by a factor of two at most."""
    total = sum(buckets)
    if not total:
        return None
    wanted, below = share * total, 0
    for bucket, count in enumerate(buckets):
        if count and below + count >= wanted:
            low = 2.0 ** (bucket - 1) if bucket else 0.0
            return FIRST_BUCKET_USEC * (low + (2.0**bucket - low) * max(wanted - below, 0) / count)
        below += count
    return FIRST_BUCKET_USEC * 2.0 ** (len(buckets) - 1)


@dataclass(frozen=True, slots=True)
class Scope:
    """Which tallies: of these nodes and one kind, over [start, end), while the node had one of `roles`.

    A role is True for primaries and False for replicas, as it was at the time.
    """

    node_ids: Sequence[int]
    kind: str
    start: datetime
    end: datetime
    roles: tuple[bool, ...] = (True, False)

    @property
    def arguments(self) -> list[Any]:
        return [list(self.node_ids), self.kind, list(self.roles)]


WHERE = "WHERE node_id = ANY(%s::int[]) AND kind = %s AND is_primary = ANY(%s::bool[]) AND at >= %s AND at < %s"


@dataclass(slots=True)
class Measured:
    """How much was measured: seconds of the range, seconds of all nodes together, and the nodes."""

    seconds: float = 0.0
    node_seconds: float = 0.0
    node_ids: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Summary:
    """The names over a range, the heaviest by time first, and how much was measured."""

    totals: list[Totals]
    measured: Measured

    def per_second(self, count: int) -> float | None:
        return count / self.measured.seconds if self.measured.seconds else None

    def time_share(self, usec: int) -> float | None:
        return usec / 1e6 / self.measured.node_seconds if self.measured.node_seconds else None


def spacing() -> timedelta:
    """Return how far apart the rows of one node are in the finest tier."""
    return max(TIERS[0].width, timedelta(seconds=settings.COMMANDS_INTERVAL_SECONDS))


def tier_for(start: datetime, end: datetime, nodes: int, now: datetime) -> Tier:
    """Return the finest tier that still holds `start` and reads at most ROW_BUDGET rows."""
    for tier in TIERS:
        if start >= now - tier.keep and (end - start) / tier.width * max(nodes, 1) <= ROW_BUDGET:
            return tier
    return TIERS[-1]


def pieces(scope: Scope, now: datetime) -> Iterator[tuple[Tier, datetime, datetime]]:
    """Yield what to read: the tier that fits up to where it is complete, the newest end from finer ones."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT tier, until FROM rollup_mark")
        marks = dict(cursor.fetchall())
    chosen, start = TIERS.index(tier_for(scope.start, scope.end, len(scope.node_ids), now)), scope.start
    for tier in reversed(TIERS[: chosen + 1]):
        until = scope.end if tier is TIERS[0] else min(scope.end, marks.get(tier.table, start))
        if until > start:
            yield tier, start, until
            start = until


def summary(scope: Scope, now: datetime | None = None) -> Summary:
    """Return the totals of each name over the scope."""
    found: dict[str, Totals] = {}
    measured = Measured()
    for tier, start, end in pieces(scope, now or datetime.now(UTC)):
        arguments = [*scope.arguments, start, end]
        for name, *counts in run(COUNTS.format(table=tier.table, key="u.id"), arguments):
            found.setdefault(name, Totals(name)).add(*counts)
        for name, bucket, counted in run(BUCKET_COUNTS.format(table=tier.table, key="h.id"), arguments):
            found.setdefault(name, Totals(name)).buckets[bucket] += counted
        _measure(measured, tier, arguments)
    ordered = sorted(found.values(), key=lambda totals: (totals.usec, totals.calls), reverse=True)
    return Summary(ordered, measured)


def run(sql: str, arguments: Sequence[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, arguments)
        return list(cursor.fetchall())


COUNTS = (
    "SELECT name, calls, usec, rejected, failed FROM (SELECT u.id, sum(u.calls)::bigint, sum(u.usec)::bigint,"
    " sum(u.rejected)::bigint, sum(u.failed)::bigint FROM {table},"
    " unnest(names, calls, usec, rejected, failed) AS u (id, calls, usec, rejected, failed) "
    + WHERE
    + " GROUP BY 1) AS sums (id, calls, usec, rejected, failed) JOIN tally_name USING (id)"
)
BUCKET_COUNTS = (
    "SELECT tally_name.name, bucket, counted FROM (SELECT h.id, h.bucket, sum(h.counted)::bigint"
    " FROM {table}, unnest(hist_names, hist_buckets, hist_counts) AS h (id, bucket, counted) "
    + WHERE
    + " GROUP BY 1, 2) AS sums (id, bucket, counted) JOIN tally_name USING (id)"
)
# Nodes come and go: the range that was measured is the longest of any node in each piece of time.
MEASURED = (
    "WITH spans AS (SELECT date_bin(%s, at, 'epoch') AS bin, node_id, sum(seconds) AS seconds FROM {table} "
    + WHERE
    + " GROUP BY 1, 2), bins AS (SELECT max(seconds) AS longest, sum(seconds) AS total FROM spans GROUP BY bin)"
    " SELECT sum(LEAST(longest, %s))::float8, sum(total)::float8, (SELECT array_agg(DISTINCT node_id) FROM spans)"
    " FROM bins"
)


def _measure(measured: Measured, tier: Tier, arguments: Sequence[object]) -> None:
    width = max(tier.width, spacing())
    sql = MEASURED.format(table=tier.table)
    ((seconds, node_seconds, node_ids),) = run(sql, [width, *arguments, width.total_seconds()])
    measured.seconds += seconds or 0.0
    measured.node_seconds += node_seconds or 0.0
    measured.node_ids.update(node_ids or ())


NODE_COUNTS = (
    "SELECT node_id, sum(u.calls)::bigint, sum(u.usec)::bigint, sum(u.rejected)::bigint, sum(u.failed)::bigint"
    " FROM {table}, unnest(names, calls, usec, rejected, failed) AS u (id, calls, usec, rejected, failed) "
    + WHERE
    + " AND u.id = %s GROUP BY 1"
)
NODE_BUCKETS = (
    "SELECT node_id, h.bucket, sum(h.counted)::bigint"
    " FROM {table}, unnest(hist_names, hist_buckets, hist_counts) AS h (id, bucket, counted) "
    + WHERE
    + " AND h.id = %s GROUP BY 1, 2"
)
NODE_SECONDS = "SELECT node_id, sum(seconds)::float8 FROM {table} " + WHERE + " GROUP BY 1"


def by_node(scope: Scope, name: str, now: datetime | None = None) -> dict[int, Summary]:
    """Return what one name did on each node that was measured; its totals are the only ones in each summary."""
    found: dict[int, Totals] = {}
    seconds: dict[int, float] = {}
    identity = run("SELECT id FROM tally_name WHERE kind = %s AND name = %s", [scope.kind, name])
    for tier, start, end in pieces(scope, now or datetime.now(UTC)):
        arguments = [*scope.arguments, start, end]
        for node_id, measured in run(NODE_SECONDS.format(table=tier.table), arguments):
            seconds[node_id] = seconds.get(node_id, 0.0) + measured
        for (name_id,) in identity:
            for node_id, *counts in run(NODE_COUNTS.format(table=tier.table), [*arguments, name_id]):
                found.setdefault(node_id, Totals(name)).add(*counts)
            for node_id, bucket, counted in run(NODE_BUCKETS.format(table=tier.table), [*arguments, name_id]):
                found.setdefault(node_id, Totals(name)).buckets[bucket] += counted
    return {
        node_id: Summary([found.get(node_id, Totals(name))], Measured(measured, measured, {node_id}))
        for node_id, measured in seconds.items()
    }


def total_of(totals: Iterable[Totals], name: str = "") -> Totals:
    """Return the sum of several totals."""
    total = Totals(name)
    for one in totals:
        total.add(one.calls, one.usec, one.rejected, one.failed)
        total.buckets = [mine + other for mine, other in zip(total.buckets, one.buckets, strict=True)]
    return total
