"""What rules are judged on: caches with their nodes as they stand at a tick, read in a fixed number of queries."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.db.models import Q

from collectors.causes import Cause
from collectors.event import Event
from collectors.models import NodeFact
from fleet.models import Cache, Node

if TYPE_CHECKING:
    from alerts.judging import Target

# A node that was asked longer ago than this many intervals was not asked: silence of ours is no evidence.
ASKED_INTERVALS = 3
# From this long on, silence of a node that we keep asking is evidence.
SILENT_INTERVALS, SILENT_SECONDS = 3, 60
# Failures which show that the server does not serve, rather than that it is slow.
EVIDENCE = frozenset({Cause.REFUSED, Cause.CUT})


@dataclass(frozen=True, slots=True)
class WatchedNode:
    """One node and how its last poll went; times are None where there was none."""

    id: int
    address: str
    role: str
    shard_id: int | None
    shard: int | None
    attempted_at: datetime | None = None
    answered_at: datetime | None = None
    failing_since: datetime | None = None
    has_evidence: bool = False

    def is_down(self, at: datetime, interval: int) -> bool | None:
        """Return whether the node is known not to serve: None where we have not asked it lately.

        A refused or reset connection is evidence at that poll; silence is after max(3 intervals, 60 s).
        """
        patience = timedelta(seconds=max(ASKED_INTERVALS * interval, SILENT_SECONDS))
        if self.attempted_at is None or at - self.attempted_at > patience:
            return None
        if self.failing_since is None:
            return False
        if self.has_evidence:
            return True
        silent_since = poll_of(self.answered_at or self.failing_since, interval)
        return True if at.timestamp() - silent_since >= silent_limit(interval) else None

    def down_since(self, interval: int) -> int | None:
        """Return the tick of the poll that failed first, None where the last one did not."""
        return None if self.failing_since is None else poll_of(self.failing_since, interval)


def poll_of(written_at: datetime, interval: int) -> int:
    """Return the tick of the poll whose outcome was written down then: a little later, but before the next one."""
    return int(written_at.timestamp()) // interval * interval


def silent_limit(interval: int) -> int:
    return max(SILENT_INTERVALS * interval, SILENT_SECONDS)


@dataclass(slots=True)
class Watched:
    """One cache at a tick. `events` holds the newest time of each kind of event of late."""

    id: int
    name: str
    labels: Mapping[str, str]
    topology: str
    interval: int
    nodes: list[WatchedNode] = field(default_factory=list)
    policies: dict[int, str] = field(default_factory=dict)
    events: dict[str, datetime] = field(default_factory=dict)
    # Nodes as targets of rules, by id, once they were made (alerts/judging.py).
    targets: dict[int, "Target"] = field(default_factory=dict, repr=False)

    def is_calm(self, calm: Mapping[str, int], at: datetime) -> bool:
        """Return whether none of the named kinds of events happened within its seconds before `at`."""
        return not any(
            kind in self.events and at - self.events[kind] < timedelta(seconds=seconds)
            for kind, seconds in calm.items()
        )


def load(cache_ids: Collection[int], at: datetime, longest_calm: int) -> list[Watched]:
    """Return the caches that are polled, with present nodes, eviction policies and recent events."""
    caches = Cache.objects.filter(pk__in=cache_ids, is_paused=False)
    found = {
        one.pk: Watched(one.pk, one.name, one.labels, one.topology, one.poll_interval_seconds)
        for one in caches.only("pk", "name", "labels", "topology", "poll_interval_seconds")
    }
    _add_nodes(found)
    _add_policies(found)
    _add_events(found, at, longest_calm)
    return list(found.values())


def _add_nodes(found: dict[int, Watched]) -> None:
    place = ("pk", "cache_id", "host", "port", "role", "shard_id", "shard__number")
    polled = ("status__attempted_at", "status__answered_at", "status__failing_since", "status__failed_cause")
    rows = Node.objects.present().filter(cache__in=found).order_by().values_list(*place, *polled)
    for node_id, cache_id, host, port, role, shard_id, number, attempted, answered, failing, cause in rows:
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        polls = (attempted, answered, failing, cause in EVIDENCE)
        node = WatchedNode(node_id, address, role, shard_id, number, *polls)
        found[cache_id].nodes.append(node)


def _add_policies(found: dict[int, Watched]) -> None:
    facts = NodeFact.objects.filter(node__cache__in=found, node__left_at=None, name="maxmemory_policy", until=None)
    for cache_id, node_id, policy in facts.values_list("node__cache_id", "node_id", "value"):
        found[cache_id].policies[node_id] = policy


def _add_events(found: dict[int, Watched], at: datetime, longest_calm: int) -> None:
    since = at - timedelta(seconds=longest_calm)
    recent = Event.objects.filter(Q(at__gt=since) | Q(until__gt=since), cache__in=found)
    newest: dict[int, dict[str, datetime]] = defaultdict(dict)
    for cache_id, kind, began, ended in recent.values_list("cache_id", "kind", "at", "until"):
        last = ended or began
        newest[cache_id][kind] = max(last, newest[cache_id].get(kind, last))
    for cache_id, events in newest.items():
        found[cache_id].events = events
