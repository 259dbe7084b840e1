"""What the health page tells of Shardwatch itself: its polls and the load that they put on the servers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Max, Q, QuerySet

from collectors.models import NodeStatus, PollLease
from fleet.models import Cache, Node


@dataclass(frozen=True, slots=True)
class CachePolls:
    """How the polls of one cache go; `lease` is None before the first."""

    cache: Cache
    lease: PollLease | None
    nodes: int
    failing: int

    @property
    def commands_per_second(self) -> float | None:
        return self.lease.commands / self.cache.poll_interval_seconds if self.lease else None


@dataclass(frozen=True, slots=True)
class Totals:
    """The polling of the whole fleet in numbers."""

    caches: int
    nodes: int
    failing: int
    polls: int
    late: int
    skipped: int
    commands_per_second: float
    connections: int
    slowest_seconds: float | None

    @property
    def answering(self) -> int:
        return self.nodes - self.failing


def caches() -> QuerySet[Cache]:
    """Return caches with their lease and the numbers of their nodes, for a page of `polls_of`."""
    present = Q(nodes__left_at=None)
    return (
        Cache.objects.select_related("poll_lease")
        .annotate(
            node_count=Count("nodes", filter=present),
            failing_count=Count("nodes", filter=present & Q(nodes__status__failing_since__isnull=False)),
        )
        .order_by("name")
    )


def polls_of(rows: Sequence[Cache]) -> list[CachePolls]:
    return [
        CachePolls(
            row, getattr(row, "poll_lease", None), getattr(row, "node_count", 0), getattr(row, "failing_count", 0)
        )
        for row in rows
    ]


def totals() -> Totals:
    leases = list(PollLease.objects.filter(cache__is_paused=False).select_related("cache"))
    present = Node.objects.present().filter(cache__is_paused=False)
    counts = present.aggregate(all=Count("pk"), failing=Count("pk", filter=Q(status__failing_since__isnull=False)))
    slowest = PollLease.objects.aggregate(seconds=Max("duration_seconds"))["seconds"]
    return Totals(
        caches=len(leases),
        nodes=counts["all"],
        failing=counts["failing"],
        polls=sum(lease.polls for lease in leases),
        late=sum(lease.late for lease in leases),
        skipped=sum(lease.skipped for lease in leases),
        commands_per_second=sum(lease.commands / lease.cache.poll_interval_seconds for lease in leases),
        connections=sum(lease.connections for lease in leases),
        slowest_seconds=slowest,
    )


def failing_nodes() -> QuerySet[NodeStatus]:
    """Return the nodes that do not answer, the longest silent first."""
    silent = NodeStatus.objects.filter(failing_since__isnull=False, node__left_at=None, node__cache__is_paused=False)
    return silent.select_related("node__cache", "node__shard").order_by("failing_since", "node_id")


def nodes_of(cache: Cache) -> QuerySet[Node]:
    rows = Node.objects.present().filter(cache=cache).select_related("status", "shard")
    return rows.order_by("shard__number", "role", "host", "port")
