"""The poll: all nodes of some caches are asked at once, and what they answer is written.

The thread that polls holds the leases, reads the replies and writes; connections live on the background
loop. Answers are written after a second at the latest, those of slow nodes when they come, so that no node
delays another. A node that failed the last time is not waited for.
"""

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import TypeVar

from django.conf import settings
from django.db import DatabaseError, connection
from django.utils import timezone

from collectors import (
    backlog,
    capabilities,
    landing,
    latency_events,
    leases,
    slot_readings,
    slowlog,
    statuses,
    tallies,
    topology,
)
from collectors.backlog import AWAY
from collectors.digest import OFFSET, STATE_OK, Digest, digest, settle
from collectors.event_watch import Sighting
from collectors.latency_events import NodeSpikes
from collectors.layout import Layout
from collectors.leases import Claim, Outcome
from collectors.metrics.hot import HOT_INDEX
from collectors.plans import Plan
from collectors.pool import Pool
from collectors.rounds import Answer, Request, Round
from collectors.samples import NodeReading
from collectors.slot_readings import NodeSlots
from collectors.slowlog import NodeSlowCalls
from collectors.targets import CacheRow, NodeRow, Target, read_caches, read_nodes
from collectors.topology import KnownNode
from fleet.models import Cache, Node

logger = logging.getLogger(__name__)
LAG_BYTES, LAG_SECONDS = HOT_INDEX["replication_lag_bytes"], HOT_INDEX["replication_lag_seconds"]
IS_PRIMARY = HOT_INDEX["is_primary"]
# A server outside a cluster that nobody names any more is kept for so long after its last answer.
LOST_SECONDS = 3_600

Place = tuple[str, int]
T = TypeVar("T")


def current_tick(now: float | None = None) -> int:
    """Return the newest point of the grid that polls lie on, in seconds since the epoch."""
    return int(now or time.time()) // settings.POLL_TICK_SECONDS * settings.POLL_TICK_SECONDS


def poll_caches(cache_ids: Sequence[int], tick: int, pool: Pool, worker: str) -> list[int]:
    """Poll those of the caches that nobody else polls; return which ones."""
    try:
        claims = leases.claim(cache_ids, tick, worker)
    except AWAY as error:
        connection.close()
        logger.warning("The database is away; nothing is polled at %d: %s", tick, type(error).__name__)
        return []
    if claims:
        Poll(claims, tick, pool, worker).run()
    return [claim.cache_id for claim in claims]


class Watched:
    """One cache during one poll."""

    def __init__(
        self,
        cache: CacheRow,
        claim: Claim,
        targets: list[Target],
        is_unsettled: bool,
        endpoint: Target | None = None,
    ) -> None:
        self.cache = cache
        self.targets, self.endpoint = targets, endpoint
        self.waiting = {target.node_id for target in targets}
        self.is_unsettled = is_unsettled or claim.topology_at is None
        age = (timezone.now() - claim.topology_at).total_seconds() if claim.topology_at else 0.0
        # Less than nothing: the clock was set back.
        self.layout_is_due = self.is_unsettled or not 0 <= age < settings.TOPOLOGY_INTERVAL_SECONDS
        self.layout: Layout | None = None
        self.lags: dict[Place, tuple[int | None, int | None]] = {}
        self.saw_topology = self.has_answered = self.is_concluded = self.has_changed = False
        self.sightings: list[Sighting] = []
        # Commands that were sent, and seconds until the last answer.
        self.commands, self.seconds = 0, 0.0

    @property
    def has_cluster_layout(self) -> bool:
        """Return whether the layout is to be had from the cluster itself."""
        return any(target.standing.in_cluster and target.layout_source() for target in self.targets)

    @property
    def lacks_layout(self) -> bool:
        if self.layout is not None or self.is_concluded:
            return False
        if self.endpoint:
            return self.layout_is_due or self.is_unsettled
        return self.is_unsettled and self.has_cluster_layout

    @property
    def may_conclude(self) -> bool:
        return not (self.waiting or self.is_concluded or self.lacks_layout)

    def note_answer(self, answer: Answer, after: float = 0.0) -> None:
        """Count what an answer took, in a round that began `after` so many seconds of waiting for this cache."""
        self.seconds = max(self.seconds, after + answer.after_seconds)
        if answer.request.link is not None:
            self.commands += len(answer.request.plan.commands)

    def take_in(self, made: Digest) -> None:
        self.waiting.discard(made.target.node_id)
        self.sightings.append(Sighting(made.target.node_id, made.failure is None, made.row, bool(made.facts)))
        self.is_unsettled |= made.is_unsettled
        self.has_answered |= made.failure is None
        self.note_layout(made)

    def note_layout(self, made: Digest) -> None:
        if made.layout:
            # A node that is cut off from its cluster sees nodes missing that are not gone.
            is_certain = made.target.is_endpoint or made.row[STATE_OK] is True
            self.layout = replace(made.layout, complete=made.layout.complete and is_certain)

    def speaker(self) -> Target | None:
        """Return who can best tell the layout: an endpoint for that, else a node that calls its cluster healthy."""
        if self.endpoint:
            return self.endpoint
        able = [target for target in self.targets if target.failure is None and target.layout_source()]
        return max(able, key=lambda target: target.rank, default=None)


class Poll:
    """One poll of some caches at one tick."""

    def __init__(self, claims: Sequence[Claim], tick: int, pool: Pool, worker: str) -> None:
        self.tick, self.pool, self.worker = tick, pool, worker
        self.offset_seconds = time.time() - tick
        self.watched = self._load(claims)

    def _load(self, claims: Sequence[Claim]) -> dict[int, Watched]:
        by_id = {claim.cache_id: claim for claim in claims}
        caches = read_caches(list(by_id))
        nodes: dict[int, list[NodeRow]] = defaultdict(list)
        for node in read_nodes(list(by_id)):
            nodes[node.cache_id].append(node)
        return {cache.pk: self._watch(cache, by_id[cache.pk], nodes[cache.pk]) for cache in caches}

    def _watch(self, cache: CacheRow, claim: Claim, nodes: list[NodeRow]) -> Watched:
        if cache.seeds and not nodes:
            topology.ensure_seeds(cache.pk, cache.seeds)
            nodes = read_nodes([cache.pk])
        if cache.endpoint:
            # Before its nodes are known the endpoint stands among them; it is asked for the list alone.
            nodes = [node for node in nodes if node.shard_id is not None]
        targets, is_unsettled = self.pool.targets(cache, nodes), self.pool.is_unsettled(cache.pk)
        return Watched(cache, claim, targets, is_unsettled, self.pool.endpoint(cache))

    def run(self) -> None:
        try:
            self._poll_nodes()
            self._ask_layouts()
            self._conclude([watched for watched in self.watched.values() if not watched.is_concluded])
        except AWAY as error:
            connection.close()
            logger.warning("The database went away during a poll: %s", type(error).__name__)

    def _poll_nodes(self) -> None:
        requests = [request for watched in self.watched.values() for request in self._requests(watched)]
        for answers in Round(requests).run():
            for answer in answers:
                self.watched[answer.request.target.cache_id].note_answer(answer)
            digests = [made for answer in answers if (made := self._digest(answer))]
            for made in digests:
                settle(made)
                self.watched[made.target.cache_id].take_in(made)
            self._write(digests)
            self._conclude([watched for watched in self.watched.values() if watched.may_conclude])

    def _requests(self, watched: Watched) -> Iterator[Request]:
        speaker = watched.speaker() if watched.layout_is_due else None
        for target in watched.targets:
            plan = target.plan(self.tick)
            if target is speaker and (layout := target.layout_source()):
                plan = Plan.of([*plan.sources, layout])
            yield Request(target, plan)

    def _ask_layouts(self) -> None:
        """Ask clusters that changed while we looked, or were not known as such before, for their layout.

        Where one command brings none, the next one is tried at once.
        """
        asked: set[tuple[int, str]] = set()
        while questions := [one for watched in self.watched.values() if (one := self._layout_question(watched, asked))]:
            for answer in chain.from_iterable(Round(questions).run()):
                watched = self.watched[answer.request.target.cache_id]
                watched.note_answer(answer, after=watched.seconds)
                if made := self._digest(answer):
                    watched.note_layout(made)
                    if made.target.is_endpoint:
                        self._settle_endpoint(made)

    def _layout_question(self, watched: Watched, asked: set[tuple[int, str]]) -> Request | None:
        speaker = watched.speaker() if watched.lacks_layout else None
        layout = speaker.layout_source() if speaker else None
        if speaker is None or layout is None or (speaker.node_id, layout.name) in asked:
            return None
        asked.add((speaker.node_id, layout.name))
        sources = [*speaker.named_sources("cluster_info"), layout]
        return Request(speaker, Plan.of(sources, speaker.way.dialect.pack))

    def _settle_endpoint(self, made: Digest) -> None:
        settle(made)
        try:
            self._write_states([made])
        except AWAY:
            connection.close()

    def _digest(self, answer: Answer) -> Digest | None:
        """Return what an answer came to. One that breaks our reading must not cost the others theirs."""
        try:
            return digest(answer, self.tick, self.offset_seconds)
        except Exception:
            logger.exception("The answer of node %d cannot be read.", answer.request.target.node_id)
            return None

    def _write(self, digests: Sequence[Digest]) -> None:
        """Write what came in one go: states first, as summaries of samples read roles."""
        self._note_lags(digests)
        readings = [
            NodeReading(made.target.node_id, self.tick, made.row, made.detail or None, made.facts)
            for made in digests
            if made.failure is None
        ]
        silent = {made.target.cache_id for made in digests} - {
            made.target.cache_id for made in digests if made.failure is None
        }
        try:
            self._write_states(digests)
        except AWAY:
            connection.close()
        if readings or silent:
            backlog.write(readings, silent, self.tick)
        landing.announce({made.target.cache_id for made in digests}, self.tick)
        told = [made for made in digests if made.failure is None]
        _write_beside("counts", tallies.write, [one for made in told for one in made.node_tallies(self.tick)])
        slow = [NodeSlowCalls(made.target.node_id, made.slow_calls) for made in told if made.slow_calls]
        _write_beside("slow logs", slowlog.write, slow)
        spikes = [NodeSpikes(made.target.node_id, made.spikes) for made in told if made.spikes]
        _write_beside("latency events", latency_events.write, spikes)
        slots = [NodeSlots(made.target.node_id, made.slots) for made in told if made.slots is not None]
        _write_beside("slots", slot_readings.write, slots)

    def _write_states(self, digests: Sequence[Digest]) -> None:
        now = timezone.now()
        statuses.record([(made.target.node_id, made.failure) for made in digests], now)
        capabilities.store([(made.target.node_id, made.target.support.news()) for made in digests], now)
        for made in digests:
            _write_role(made)

    def _note_lags(self, digests: Sequence[Digest]) -> None:
        """Give each replica's row its distance from the primary, as the primary tells it."""
        for made in digests:
            offset = made.row[OFFSET]
            lags = self.watched[made.target.cache_id].lags
            for replica in made.target.replicas if made.failure is None else ():
                behind = (
                    max(int(offset) - replica.offset, 0) if offset is not None and replica.offset is not None else None
                )
                lags[replica.host or made.target.host, replica.port] = (behind, replica.lag_seconds)
        for made in digests:
            target = made.target
            lags = self.watched[target.cache_id].lags
            found = lags.get(target.place) or (lags.get(target.peer) if target.peer else None)
            if found and made.row[IS_PRIMARY] is False:
                made.row[LAG_BYTES], made.row[LAG_SECONDS] = found

    def _conclude(self, finished: Sequence[Watched]) -> None:
        """Bring the layout up to date and give the lease back, for caches whose nodes all had their turn."""
        for watched in finished:
            watched.is_concluded = True
            try:
                self._sync_topology(watched)
            except AWAY:
                raise
            except DatabaseError:
                # It may be deleted just now; the other caches keep their turn.
                logger.exception("The layout of cache %d cannot be written.", watched.cache.pk)
            self.pool.events.notice(watched.cache, self.tick, watched.sightings, watched.has_changed)
        leases.release([self._outcome(watched) for watched in finished], self.tick, self.worker)

    def _sync_topology(self, watched: Watched) -> None:
        cache_id = watched.cache.pk
        layout = watched.layout
        is_untold = watched.endpoint is None and not watched.has_cluster_layout
        if is_untold and (watched.layout_is_due or watched.is_unsettled):
            layout = _standalone(watched)
        if layout:
            watched.saw_topology = True
            watched.has_changed = topology.sync(cache_id, layout, timezone.now())
            if watched.has_changed:
                backlog.write([], [cache_id], self.tick)
        elif watched.endpoint is None and not watched.has_answered:
            # Nobody that we know answers: perhaps all moved, and the seeds lead to where they are now.
            topology.ensure_seeds(cache_id, watched.cache.seeds)
        is_forming = layout is not None and layout.is_forming
        self.pool.mark_settled(cache_id, not is_forming and (watched.saw_topology or not watched.is_unsettled))
        engines = {target.standing.engine for target in watched.targets if target.failure is None}
        if len(engines) == 1 and engines != {watched.cache.engine}:
            Cache.objects.filter(pk=cache_id).update(engine=engines.pop())

    def _outcome(self, watched: Watched) -> Outcome:
        return Outcome(
            watched.cache.pk,
            watched.seconds,
            self.offset_seconds > leases.LATE_SECONDS,
            watched.commands,
            sum(target.link is not None and target.link.lost is None for target in watched.targets),
            watched.saw_topology,
        )


def _write_beside(what: str, write: Callable[[list[T]], None], rows: list[T]) -> None:
    """Write what comes beside the samples, and never at their cost."""
    if not rows:
        return
    try:
        write(rows)
    except AWAY as error:
        connection.close()
        logger.warning("The database is away; %d %s are lost: %s", len(rows), what, type(error).__name__)
    except DatabaseError:
        logger.exception("The %s of %d nodes cannot be written.", what, len(rows))


def _write_role(made: Digest) -> None:
    """Follow a change of role at once; the layout brings the rest."""
    role = {True: Node.Role.PRIMARY.value, False: Node.Role.REPLICA.value}.get(bool(made.row[IS_PRIMARY]))
    if made.row[IS_PRIMARY] is not None and role and role != made.target.role:
        Node.objects.filter(pk=made.target.node_id).update(role=role)
        made.target.role = role


def _standalone(watched: Watched) -> Layout | None:
    """Return the layout of servers outside a cluster, None where none of them answered."""
    if not watched.has_answered:
        return None
    known = [
        KnownNode(target.place, target.role, target.shard_id, target.seen(), _is_lost(target), not target.has_answered)
        for target in watched.targets
    ]
    return topology.standalone_layout([(seed.host, seed.port) for seed in watched.cache.seeds], known)


def _is_lost(target: Target) -> bool:
    return target.failing_since is not None and time.monotonic() - target.failing_since > LOST_SECONDS
