"""What rules are judged on: caches with their nodes as they stand at a tick, read in a fixed number of queries."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.db.models import Q

from collectors.causes import Cause
from collectors.cloud.known import Service, services
from collectors.cloud.latest import standings
from collectors.cloud.reading import Place, standing
from collectors.event import Event
from collectors.layout import address_text
from collectors.models import NodeFact
from fleet.models import Cache, Node, Reach

if TYPE_CHECKING:
    from alerts.judging import Target

# A node that was asked longer ago than this many intervals was not asked: silence of ours is no evidence.
ASKED_INTERVALS = 3
# From this long on, silence of a node that we keep asking is evidence.
SILENT_INTERVALS, SILENT_SECONDS = 3, 60
# Failures which show that the server does not serve, rather than that it is slow.
EVIDENCE = frozenset({Cause.REFUSED, Cause.CUT})
# Cloud Monitoring hides points for five minutes and is asked each minute: silence for less is none.
HIDDEN = timedelta(minutes=10)
# A place that is silent for so long while others of its cache are not is one of a node that left.
LEFT = timedelta(minutes=30)
# A node's role is over when the service tells of it in another one for so long; both begin and end within a minute.
ROLE_OVER = timedelta(minutes=2)
READ_LATELY = timedelta(minutes=5)
# So long an instance may take to be made, before it has figures of its own.
MADE = timedelta(minutes=15)
# Of places without any point for so long nothing is judged.
TOLD_OF = timedelta(hours=1)


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
    cause: str = ""

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


def is_silent(place: WatchedNode, at: datetime) -> bool:
    """Return whether Cloud Monitoring tells nothing new of a place, longer than it ever hides points."""
    return place.answered_at is None or at - place.answered_at > HIDDEN


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
    # Zones of nodes, where their servers name one.
    zones: dict[int, str] = field(default_factory=dict)
    events: dict[str, datetime] = field(default_factory=dict)
    # Whether its nodes cannot be reached from here, so that the service alone tells of it.
    is_remote: bool = False
    # What Cloud Monitoring tells of, with ids below zero, and what discovery knows of the instance.
    places: list[WatchedNode] = field(default_factory=list)
    service: Service | None = None
    # Whether Cloud Monitoring answers, and not of an instance that was just made: else silence is no evidence.
    is_read: bool = False
    engine: str = ""
    # Nodes as targets of rules, by id, once they were made (alerts/judging.py).
    targets: dict[int, "Target"] = field(default_factory=dict, repr=False)

    def is_calm(self, calm: Mapping[str, int], at: datetime) -> bool:
        """Return whether none of the named kinds of events happened within its seconds before `at`."""
        return not any(
            kind in self.events and at - self.events[kind] < timedelta(seconds=seconds)
            for kind, seconds in calm.items()
        )


def load(cache_ids: Collection[int], at: datetime, longest_calm: int) -> list[Watched]:
    """Return the caches that are polled, with present nodes, eviction policies, zones and recent events."""
    caches = Cache.objects.filter(pk__in=cache_ids, is_paused=False)
    fields = ("pk", "name", "labels", "topology", "poll_interval_seconds", "reach", "engine")
    found = {
        pk: Watched(pk, name, labels, topology, interval, is_remote=reach == Reach.SERVICE, engine=engine)
        for pk, name, labels, topology, interval, reach, engine in caches.values_list(*fields)
    }
    _add_nodes({pk: cache for pk, cache in found.items() if not cache.is_remote})
    _add_places(found, at)
    _add_facts(found)
    _add_events(found, at, longest_calm)
    return list(found.values())


def _add_nodes(found: dict[int, Watched]) -> None:
    place = ("pk", "cache_id", "host", "port", "role", "shard_id", "shard__number")
    polled = ("status__attempted_at", "status__answered_at", "status__failing_since", "status__failed_cause")
    rows = Node.objects.present().filter(cache__in=found).order_by().values_list(*place, *polled)
    for node_id, cache_id, host, port, role, shard_id, number, attempted, answered, failing, cause in rows:
        polls = (attempted, answered, failing, cause in EVIDENCE, cause or "")
        node = WatchedNode(node_id, address_text(host, port), role, shard_id, number, *polls)
        found[cache_id].nodes.append(node)


def _add_places(found: dict[int, Watched], at: datetime) -> None:
    places = standing(found, at, TOLD_OF)
    fresh = {place.cache_id for place, newest in places if newest and at - newest < LEFT}
    serving = _newest_by_node(places)
    for place, newest in places:
        if newest and place.role and newest + ROLE_OVER < serving.get((place.cache_id, place.node_id), newest):
            continue
        if place.cache_id not in fresh or (newest and at - newest < LEFT):
            given = (-place.id, place.address or place.node_id, place.role, place.shard_id, place.shard)
            found[place.cache_id].places.append(WatchedNode(*given, answered_at=newest))
    told = [cache_id for cache_id, cache in found.items() if cache.places]
    known = services(told)
    feeds = standings(known)
    for cache_id in told:
        found[cache_id].service = known.get(cache_id)
        feed, service = feeds.get(cache_id), known.get(cache_id)
        is_new = service is not None and at - service.instance.first_seen_at < MADE
        is_read = feed and feed.answered_at and at - feed.answered_at < READ_LATELY
        found[cache_id].is_read = bool(is_read and not is_new)


def _newest_by_node(places: Sequence[tuple[Place, datetime | None]]) -> dict[tuple[int, str], datetime]:
    """Return when the service last told of each node, in whatever role it has now."""
    found: dict[tuple[int, str], datetime] = {}
    for place, newest in places:
        if place.node_id and place.role and newest:
            key = (place.cache_id, place.node_id)
            found[key] = max(newest, found.get(key, newest))
    return found


def _add_facts(found: dict[int, Watched]) -> None:
    names = ("maxmemory_policy", "availability_zone")
    facts = NodeFact.objects.filter(node__cache__in=found, node__left_at=None, name__in=names, until=None)
    for cache_id, node_id, name, value in facts.values_list("node__cache_id", "node_id", "name", "value"):
        cache = found[cache_id]
        (cache.policies if name == "maxmemory_policy" else cache.zones)[node_id] = value


def _add_events(found: dict[int, Watched], at: datetime, longest_calm: int) -> None:
    since = at - timedelta(seconds=longest_calm)
    recent = Event.objects.filter(Q(at__gt=since) | Q(until__gt=since), cache__in=found)
    newest: dict[int, dict[str, datetime]] = defaultdict(dict)
    for cache_id, kind, began, ended in recent.values_list("cache_id", "kind", "at", "until"):
        last = ended or began
        newest[cache_id][kind] = max(last, newest[cache_id].get(kind, last))
    for cache_id, events in newest.items():
        found[cache_id].events = events
