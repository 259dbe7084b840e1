"""What the last hours say of a cache: for findings that the newest values cannot show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.core.cache import cache as memory
from django.db.models import Count, Q, Sum

from collectors import details, latest_details, series, tally_queries, windows
from collectors.layout import address_text
from collectors.models import ClientReading, MysqlPlugin, NodeStatus
from collectors.slow_entry import Log, SlowEntry
from collectors.tallies import ERROR
from collectors.windows import Read, Reading
from dashboard.commands import CommandRow, read_commands, scope_of
from fleet.addresses import Protocol
from fleet.models import Cache

# Hours do not change in seconds: pages that are refreshed all the time read them this often.
KEPT_SECONDS = 60
TREND, TREND_STEP_SECONDS = timedelta(hours=6), 900
TREND_METRICS = ("connected_clients", "commands_per_second", "keys_without_ttl")
LATELY, LATELY_SLOW, BEFORE = timedelta(minutes=15), timedelta(minutes=10), timedelta(hours=24)
# Of less, nobody can say what is usual.
BEFORE_AT_LEAST_SECONDS = 3_600
READINGS_COUNT = RESYNCS_COUNT = timedelta(hours=1)
RESYNCS = Reading("sync_full", Read.INCREASE, int(RESYNCS_COUNT.total_seconds()))

Trend = Mapping[int, Sequence[float | None]]


@dataclass(frozen=True, slots=True)
class Change:
    """How often something happened per second: lately, and over the day before. None is not known."""

    lately: float
    before: float | None

    def is_up(self, least: float, factor: float) -> bool:
        """Whether it happens at least so often, and so many times as often as before."""
        return self.before is not None and self.lately >= least and self.lately >= factor * self.before


@dataclass(frozen=True, slots=True)
class Untold:
    since: datetime
    cause: str
    words: str


@dataclass(frozen=True, slots=True)
class Past:
    """The last hours of one cache. What was not measured is missing, never 0."""

    commands: Sequence[CommandRow] = ()
    errors: Mapping[str, Change] = field(default_factory=dict)
    slow: Change | None = None
    # By metric and node: quarters of an hour, the newest last.
    trends: Mapping[str, Trend] = field(default_factory=dict)
    connections_by_user: Mapping[str, int] = field(default_factory=dict)
    full_resyncs: Mapping[int, float] = field(default_factory=dict)
    databases: Mapping[int, float] = field(default_factory=dict)
    clock_ahead_seconds: Mapping[int, float] = field(default_factory=dict)
    # Nodes whose append-only file could not be written, and those whose file could not be rewritten.
    append_failed: Set[int] = frozenset()
    rewrite_failed: Set[int] = frozenset()
    # By node, of servers that keep their memory in classes: their numbers that are read every few minutes.
    slabs: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    # Since when the discovery endpoint tells no list of nodes, and why; None where it does, or where there is none.
    untold: Untold | None = None
    # Settings of MySQL's plugin, where the cache is one and its MySQL is known.
    plugin: Mapping[str, str] = field(default_factory=dict)

    def trend(self, metric: str, node_id: int) -> Sequence[float | None]:
        return self.trends.get(metric, {}).get(node_id, ())


def of(cache: Cache, node_ids: Sequence[int], now: datetime) -> Past:
    """Return the past of a cache, at most a minute old."""
    key = f"past-{cache.pk}"
    found: Past | None = memory.get(key)
    if found is None:
        memory.set(key, found := read(cache, node_ids, now), KEPT_SECONDS)
    return found


def read(cache: Cache, node_ids: Sequence[int], now: datetime) -> Past:
    """Read it; the number of queries does not depend on that of the nodes."""
    newest = details.newest(node_ids, now)
    return Past(
        commands=read_commands(cache, now - LATELY, now).rows,
        errors=errors(cache, now),
        slow=slow_entries(cache, node_ids, now),
        trends=trends(cache, now),
        full_resyncs=windows.read(node_ids, now, [RESYNCS])[RESYNCS],
        connections_by_user=connections_by_user(node_ids, now),
        databases={node_id: row.databases for node_id, row in newest.items() if row.databases is not None},
        clock_ahead_seconds={node_id: row.ahead for node_id, row in newest.items() if row.ahead is not None},
        append_failed={node_id for node_id, row in newest.items() if row.append_failed},
        rewrite_failed={node_id for node_id, row in newest.items() if row.rewrite_failed},
        slabs=slabs(cache, node_ids, now),
        untold=untold(cache),
        plugin=plugin(cache),
    )


def plugin(cache: Cache) -> dict[str, str]:
    found = MysqlPlugin.objects.filter(cache=cache).first() if cache.abilities.slabs else None
    return found.variables if found else {}


def slabs(cache: Cache, node_ids: Sequence[int], now: datetime) -> dict[int, Mapping[str, float]]:
    found = latest_details.read(node_ids, now) if cache.abilities.slabs else {}
    return {node_id: row.numbers for node_id, row in found.items()}


def untold(cache: Cache) -> Untold | None:
    """Return how the discovery endpoint fails, where the nodes come from one."""
    endpoint = next((seed for seed in cache.seeds() if seed.protocol is Protocol.DISCOVERY), None)
    if endpoint is None:
        return None
    place = address_text(endpoint.host, endpoint.port)
    status = NodeStatus.objects.filter(node__cache=cache, node__identity=place).first()
    if status is None or status.failing_since is None:
        return None
    return Untold(status.failing_since, status.failed_cause, status.failed_words)


def errors(cache: Cache, now: datetime) -> dict[str, Change]:
    """Return how often each type of error came lately; empty where that was not measured."""
    lately, before = (
        tally_queries.summary(scope_of(cache, ERROR, start, end), now)
        for start, end in ((now - LATELY, now), (now - BEFORE, now - LATELY))
    )
    usual = {totals.name: before.per_second(totals.calls) for totals in before.totals}
    is_known = before.measured.seconds >= BEFORE_AT_LEAST_SECONDS
    return {
        totals.name: Change(rate, (usual.get(totals.name) or 0.0) if is_known else None)
        for totals in lately.totals
        if (rate := lately.per_second(totals.calls))
    }


def slow_entries(cache: Cache, node_ids: Sequence[int], now: datetime) -> Change | None:
    """Return how fast the slow logs grow, entries that were lost before they were read included."""
    edge, start = now - LATELY_SLOW, max(now - BEFORE, cache.created_at)
    rows = SlowEntry.objects.filter(node_id__in=node_ids, log=Log.SLOW, started_at__gte=start)
    new, old = Q(started_at__gte=edge), Q(started_at__lt=edge)
    found = rows.aggregate(
        new=Count("pk", filter=new) + Sum("missed", filter=new, default=0),
        old=Count("pk", filter=old) + Sum("missed", filter=old, default=0),
    )
    seconds = (edge - start).total_seconds()
    is_known = seconds >= BEFORE_AT_LEAST_SECONDS
    lately = found["new"] / LATELY_SLOW.total_seconds()
    return Change(lately, found["old"] / seconds if is_known else None) if lately else None


def trends(cache: Cache, now: datetime) -> dict[str, Trend]:
    found = series.read(cache, TREND_METRICS, now - TREND, now, TREND_STEP_SECONDS, by="node")
    return {one.metric: {line.node_id: line.mean for line in one.lines if line.node_id} for one in found}


def connections_by_user(node_ids: Sequence[int], now: datetime) -> dict[str, int]:
    """Return the connections of applications by the user that they signed in as, as the last client lists say."""
    rows = ClientReading.objects.filter(node_id__in=node_ids, read_at__gte=now - READINGS_COUNT, failed_cause="")
    newest = rows.order_by("node_id", "-read_at").distinct("node_id").values_list("groups__user", flat=True)
    found = Counter[str]()
    for groups in newest:
        found.update({label: connections for label, connections, *_ in groups or () if label})
    return dict(found)
