"""Latency events of servers: keeping what is new, reading it in groups."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db.models import Count, Max, Sum
from django.utils import timezone

from collectors.models import LatencyEvent
from collectors.source import Spike
from fleet.models import Node

# What one node may add in a day; the longest of one reading go first.
EVENTS_A_DAY = 2_000
# A server whose clock is further ahead is not believed.
FUTURE_LIMIT = timedelta(days=1)
GROUPS_SHOWN = 200


@dataclass(frozen=True, slots=True)
class NodeSpikes:
    """What one node newly showed."""

    node_id: int
    spikes: Sequence[Spike]


@dataclass(frozen=True, slots=True)
class SpikeGroup:
    """All moments of one event on one node, in milliseconds."""

    node_id: int
    event: str
    count: int
    longest: int
    total: int
    last_at: datetime


def write(given: Sequence[NodeSpikes]) -> None:
    """Store moments; one that is known already takes the newer value, for its second may not have been over."""
    now = timezone.now()
    oldest, newest = now - timedelta(days=settings.RETENTION_LATENCY_DAYS), now + FUTURE_LIMIT
    by_node: dict[int, list[Spike]] = defaultdict(list)
    for node in given:
        by_node[node.node_id] += [spike for spike in node.spikes if oldest < moment(spike) < newest]
    room = _room([node_id for node_id, spikes in by_node.items() if spikes], now)
    rows = [row for node_id, free in room.items() for row in _rows(node_id, by_node[node_id], free)]
    LatencyEvent.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["node", "event", "at"], update_fields=["milliseconds"]
    )


def moment(spike: Spike) -> datetime:
    return datetime.fromtimestamp(spike.at, UTC)


def _room(node_ids: Collection[int], now: datetime) -> dict[int, int]:
    """Return how many moments each of these nodes may add; those removed meanwhile are missing."""
    if not node_ids:
        return {}
    kept = LatencyEvent.objects.filter(node_id__in=node_ids, at__gt=now - timedelta(days=1))
    counts = dict(kept.order_by().values_list("node_id").annotate(Count("pk")))
    present = Node.objects.filter(pk__in=node_ids).order_by("pk").values_list("pk", flat=True)
    return {node_id: max(EVENTS_A_DAY - counts.get(node_id, 0), 0) for node_id in present}


def _rows(node_id: int, spikes: Sequence[Spike], free: int) -> Iterator[LatencyEvent]:
    ranked = sorted(set(spikes), key=lambda spike: spike.milliseconds, reverse=True)[:free]
    # One statement may name a moment only once.
    longest = {(spike.event, spike.at): spike.milliseconds for spike in reversed(ranked)}
    for (event, at), milliseconds in sorted(longest.items()):
        yield LatencyEvent(node_id=node_id, event=event, at=datetime.fromtimestamp(at, UTC), milliseconds=milliseconds)


def groups(node_ids: Collection[int], start: datetime, end: datetime) -> list[SpikeGroup]:
    """Return what happened in this time, what took longest first."""
    found = LatencyEvent.objects.filter(node_id__in=node_ids, at__gte=start, at__lt=end).order_by()
    rows = found.values("node_id", "event").annotate(
        count=Count("pk"), longest=Max("milliseconds"), total=Sum("milliseconds"), last_at=Max("at")
    )
    return [SpikeGroup(**row) for row in rows.order_by("-longest", "node_id", "event")[:GROUPS_SHOWN]]


def forget_old(now: datetime) -> int:
    """Remove moments past their keeping; return how many."""
    oldest = now - timedelta(days=settings.RETENTION_LATENCY_DAYS)
    return LatencyEvent.objects.filter(at__lt=oldest).delete()[0]
