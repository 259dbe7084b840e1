"""What the page and the API show of latency: our own round trips, and what servers recorded themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from collectors import latency_events, round_trips
from collectors.latency_events import SpikeGroup
from collectors.models import LatencyEvent, NodeFact
from collectors.round_trips import RoundTrips
from dashboard.refusals import Refusal, is_refused_by_all, refusals
from dashboard.watched import WatchedNode, nodes_of
from fleet.models import Cache

COMMANDS = ("LATENCY LATEST", "LATENCY HISTORY", "CONFIG GET")


@dataclass(frozen=True, slots=True)
class LatencyNode:
    """One node; `round_trips` is None where it answered no poll, `threshold` (milliseconds) where it is not told."""

    watched: WatchedNode
    round_trips: RoundTrips | None
    threshold: int | None

    @property
    def records(self) -> bool | None:
        """Whether the server records what held it up; None where that is not known."""
        return None if self.threshold is None else self.threshold > 0


@dataclass(frozen=True, slots=True)
class NodeEvents:
    """One event of one node over the range."""

    watched: WatchedNode
    group: SpikeGroup


@dataclass(frozen=True, slots=True)
class Latency:
    """One cache over a range: all its members, and of those chosen their figures. `moments` are newest first."""

    members: Sequence[WatchedNode]
    nodes: Sequence[LatencyNode]
    events: Sequence[NodeEvents]
    moments: QuerySet[LatencyEvent]
    refused: Sequence[Refusal]

    @property
    def is_refused(self) -> bool:
        """Whether no node lets itself be asked what held it up."""
        return is_refused_by_all(COMMANDS[0], self.refused)

    @property
    def silent_recorders(self) -> int:
        """Return how many nodes are known to record nothing."""
        return sum(node.records is False for node in self.nodes)


def latency_of(cache: Cache, start: datetime, end: datetime, node_id: int = 0) -> Latency:
    """Return what is known of a cache's nodes, or of one; a `node_id` that is none of them stands for all."""
    watched = nodes_of([cache.pk]).get(cache.pk, [])
    chosen = [node for node in watched if node.node.pk == node_id] or watched
    by_id = {node.node.pk: node for node in chosen}
    trips, limits = round_trips.read(by_id, start, end), thresholds(list(by_id))
    nodes = [LatencyNode(node, trips.get(pk), limits.get(pk)) for pk, node in by_id.items()]
    groups = latency_events.groups(by_id, start, end)
    moments = LatencyEvent.objects.filter(node_id__in=by_id, at__gte=start, at__lt=end).select_related("node")
    events = [NodeEvents(by_id[group.node_id], group) for group in groups]
    return Latency(watched, nodes, events, moments.order_by("-at", "-milliseconds", "pk"), refusals(by_id, COMMANDS))


def thresholds(node_ids: Sequence[int]) -> dict[int, int]:
    facts = NodeFact.objects.filter(node_id__in=node_ids, name="latency_monitor_threshold", until=None)
    return {node_id: int(value) for node_id, value in facts.values_list("node_id", "value") if value.isdigit()}
