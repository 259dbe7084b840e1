"""Writing events down: each look at a cache compares it with the last one and tells the difference.

What a look saw is stored in the same transaction as its events, so that nothing is told twice or lost,
whoever polls the cache next. The same thing happening again and again is one event with a count.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from collectors import known_states, scaling
from collectors.event import LASTING, Event, Kind, KnownState
from collectors.event_detection import CacheState, Happening, detect, merged_nodes, with_primaries
from fleet.models import Cache

# What happens again within this time happens once more, not anew.
FOLD_SECONDS = 300
# Nodes that fall silent within this time did so together.
TOGETHER_SECONDS = 60
# Failovers are stories of their own until a shard has had this many in a row.
STORIES_BEFORE_FOLDING = 3
# Events that ended longer ago than this are not touched any more.
RECENT = timedelta(hours=1)
# Evictions come in bursts: they are over when none came for so long.
EVICTION_QUIET_SECONDS = 300
# A node that was silent for one poll only may just have been slow.
STALE_POLLS = 2


@dataclass(frozen=True, slots=True)
class Look:
    """What a look leaves behind for the next: nodes that evict, and whether an event wants to be followed."""

    evicting: frozenset[int] = frozenset()
    follows: bool = False


def look(cache_id: int, now: datetime, evicting: Collection[int] | None = None) -> Look:
    """Write down what happened to a cache since the last look.

    `evicting` names the nodes that drop keys at present; None keeps what the last look knew. The first look
    at a cache finds no events.
    """
    with transaction.atomic():
        cache = Cache.objects.filter(pk=cache_id).first()
        # Before its kind is known a cache has seeds for nodes, and the others are yet to be found.
        if cache is None or not cache.topology:
            return Look()
        stored = KnownState.objects.select_for_update().filter(cache=cache).first()
        before = CacheState.of_json(stored.state) if stored else None
        if evicting is None:
            evicting = {node.id for node in before.nodes.values() if node.is_evicting} if before else set()
        after = with_primaries(known_states.read(cache, now, evicting), before)
        if not after.nodes:
            return Look()
        journal = Journal(cache, after, now)
        if before:
            journal.write(detect(before, after))
        follows = journal.follow_scaling()
        KnownState.objects.update_or_create(cache=cache, defaults={"at": now, "state": after.to_json()})
    return Look(frozenset(evicting), follows)


class Journal:
    """The recent events of one cache, and how happenings are added to them."""

    def __init__(self, cache: Cache, state: CacheState, now: datetime) -> None:
        self.cache, self.state, self.now = cache, state, now
        since = now - RECENT
        recent = Q(at__gt=since) | Q(until__gt=since) | Q(until=None, kind__in=LASTING)
        own = Event.objects.filter(recent, cache=cache, source=Event.Source.DETECTED)
        self.events = list(own.order_by("-at", "-pk")[:200])

    def write(self, happenings: Iterable[Happening]) -> None:
        tell: dict[Kind, Callable[[Happening], None]] = {
            Kind.FAILOVER: self._failover,
            Kind.UNREACHABLE: self._outage,
            Kind.EVICTION: self._eviction,
            Kind.JOINED: self._step_of_scaling,
            Kind.LEFT: self._step_of_scaling,
            Kind.SLOTS: self._step_of_scaling,
            Kind.ROLE: self._role,
            Kind.RESTART: self._restart,
        }
        for happening in happenings:
            tell.get(happening.kind, self._again_or_new)(happening)

    def recent(self, kind: Kind, seconds: float = FOLD_SECONDS) -> list[Event]:
        """Return the events of a kind that go on or ended a moment ago, newest first."""
        edge = self.now - timedelta(seconds=seconds)
        return [event for event in self.events if event.kind == kind and (event.goes_on or event.last_at > edge)]

    def add(self, happening: Happening, story: Event | None = None) -> Event:
        nodes = merged_nodes([], happening.nodes)
        event = Event(
            cache=self.cache, kind=happening.kind, at=min(moment(happening.at), self.now), story=story, data={}
        )
        event.node_id = nodes[0]["id"] if len(nodes) == 1 else None
        event.data = {**happening.data, **({"nodes": nodes} if nodes else {})}
        event.save()
        self.events.insert(0, event)
        return event

    def again(self, event: Event, happening: Happening) -> None:
        """Fold a happening into an event of its kind."""
        event.count += 1
        event.until = self.now
        if happening.nodes:
            event.data["nodes"] = merged_nodes(event.nodes, happening.nodes)
            event.node_id = event.nodes[0]["id"] if len(event.nodes) == 1 else None
        event.save()

    def _again_or_new(self, happening: Happening, story: Event | None = None) -> None:
        """The same change on more nodes, or on the same one again, is one event."""
        changes = happening.data.get("changes")
        same = [event for event in self.recent(happening.kind) if event.data.get("changes") == changes]
        same = [event for event in same if event.story_id == (story.pk if story else None)]
        if same:
            self.again(same[0], happening)
        else:
            self.add(happening, story)

    def _failover(self, happening: Happening) -> None:
        shard = happening.data["shard"]
        same = [event for event in self.recent(Kind.FAILOVER) if event.data["shard"] == shard]
        if len(same) >= STORIES_BEFORE_FOLDING or any(event.count > 1 for event in same):
            same[0].data.update(to=happening.data["to"], after=happening.data["after"])
            self.again(same[0], happening)
            return
        story = self.add(happening)
        for outage in self._outages_of(happening.data["from"]["id"]):
            if outage.story_id is None and len(outage.nodes) == 1:
                outage.story = story
                outage.save()

    def _outages_of(self, node_id: int) -> list[Event]:
        return [event for event in self.recent(Kind.UNREACHABLE) if any(node["id"] == node_id for node in event.nodes)]

    def _story_of(self, node_id: int) -> Event | None:
        """Return the failover that a node's silence led to, None where it led to none."""
        stories = [event for event in self.recent(Kind.FAILOVER) if event.data["from"]["id"] == node_id]
        told = [outage.story_id for outage in self._outages_of(node_id) if outage.story_id]
        return next(iter(stories), None) or (Event.objects.filter(pk=told[0]).first() if told else None)

    def _restart(self, happening: Happening) -> None:
        apart = {node["id"]: self._story_of(node["id"]) for node in happening.nodes}
        for node in happening.nodes:
            if story := apart[node["id"]]:
                self._again_or_new(Happening(happening.kind, node["started_at"], (node,)), story)
        rest = tuple(node for node in happening.nodes if not apart[node["id"]])
        if rest:
            self._again_or_new(Happening(happening.kind, happening.at, rest))

    def _outage(self, happening: Happening) -> None:
        if happening.step == "end":
            self._end_outages({node["id"]: node for node in happening.nodes})
            return
        ids = {node["id"] for node in happening.nodes}
        flapping = [event for event in self.recent(Kind.UNREACHABLE) if ids <= {node["id"] for node in event.nodes}]
        together = [
            event
            for event in self.recent(Kind.UNREACHABLE)
            if event.goes_on and event.story_id is None and (self.now - event.at).total_seconds() < TOGETHER_SECONDS
        ]
        if flapping:
            self.again(flapping[0], happening)
            reopen(flapping[0], ids)
        elif together:
            self.again(together[0], happening)
            together[0].count -= 1
            reopen(together[0], ids)
        else:
            story = self._story_of(happening.nodes[0]["id"]) if len(ids) == 1 else None
            self.add(happening, story)

    def _end_outages(self, back: dict[int, dict[str, Any]]) -> None:
        for event in self.recent(Kind.UNREACHABLE):
            ended = [node for node in event.nodes if node["id"] in back and "until" not in node]
            for node in ended:
                node.update(outcome(node, back[node["id"]]))
            if ended:
                # Once told, it stays told though the node falls silent again.
                event.data["stale_possible"] = event.data.get("stale_possible") or any(
                    node["stale_possible"] for node in ended
                )
                event.until = None if any("until" not in node for node in event.nodes) else self.now
                event.save()

    def _eviction(self, happening: Happening) -> None:
        for event in self.recent(Kind.EVICTION)[:1]:
            if happening.step == "end":
                event.until = max(event.at, self.now - timedelta(seconds=EVICTION_QUIET_SECONDS))
                event.save()
            else:
                was_over = not event.goes_on
                self.again(event, happening)
                event.count -= not was_over
                event.until = None
                event.save()
            return
        if happening.step == "begin":
            self.add(happening)

    def _role(self, happening: Happening) -> None:
        # Nodes that change their role and shard while slots move do so as part of that.
        if self.recent(Kind.SCALING):
            self._step_of_scaling(happening)
        else:
            self._again_or_new(happening)

    def _step_of_scaling(self, happening: Happening) -> None:
        story = next(iter(self.recent(Kind.SCALING)), None) or self.add(Happening(Kind.SCALING, happening.at))
        scaling.add_step(story, happening, self.state)
        story.save()
        part = next((event for event in self.recent(happening.kind) if event.story_id == story.pk), None)
        if part is None:
            self.add(happening, story)
        else:
            part.data = scaling.with_slots(part.data, happening.data)
            self.again(part, happening)

    def follow_scaling(self) -> bool:
        """Bring a scaling up to date; return whether it is still to be followed."""
        followed = [event for event in self.events if event.kind == Kind.SCALING and scaling.is_followed(event)]
        for event in followed:
            scaling.follow(event, self.cache, self.state, self.now)
            event.save()
        return any(scaling.is_followed(event) for event in followed)


def reopen(event: Event, ids: Collection[int]) -> None:
    for node in event.nodes:
        if node["id"] in ids:
            for name in ("until", "is_restarted", "stale_possible"):
                node.pop(name, None)
    event.until = None
    event.save()


def outcome(silent: dict[str, Any], back: dict[str, Any]) -> dict[str, Any]:
    """Return how a node's silence ended; one that was only cut off missed what happened meanwhile."""
    if back.get("has_left"):
        return {"until": back["until"], "has_left": True, "stale_possible": False}
    polls = back["failures"] - silent["failures"] + 1
    stale = back["is_restarted"] is False and polls >= STALE_POLLS
    return {"until": back["until"], "is_restarted": back["is_restarted"], "stale_possible": stale}


def moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def begin_anew(cache: Cache) -> None:
    """Compare nothing with what the last look saw: a person gave the cache another address."""
    KnownState.objects.filter(cache=cache).delete()


def forget_old(now: datetime) -> int:
    """Delete events that ended longer ago than they are kept; return how many went."""
    edge = now - timedelta(days=settings.RETENTION_EVENTS_DAYS)
    return Event.objects.filter(Q(until=None) | Q(until__lt=edge), at__lt=edge).delete()[0]
