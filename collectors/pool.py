"""All targets of one process: which are held, and when they begin anew or are let go."""

import time
from collections.abc import Collection, Sequence

from django.conf import settings

from collectors import background, capabilities, statuses
from collectors.capabilities import Support
from collectors.event_watch import EventWatch
from collectors.failures import ReadError
from collectors.layout import address_text
from collectors.targets import PLAN_SECONDS, CacheRow, NodeRow, Target, Way, read_endpoint
from collectors.topology import ensure_seeds
from fleet.models import Cache, Login, Topology


class Pool:
    """All targets of one process by node id."""

    def __init__(self) -> None:
        self._targets: dict[int, Target] = {}
        # Discovery endpoints by cache id.
        self._endpoints: dict[int, Target] = {}
        # Caches whose layout may have changed since it was last read.
        self._unsettled: set[int] = set()
        self.events = EventWatch()
        self._ways: dict[int, tuple[tuple[object, ...], Way]] = {}

    def targets(self, cache: CacheRow, nodes: Sequence[NodeRow]) -> list[Target]:
        """Return the targets of a cache's nodes; those whose address or credentials changed begin anew."""
        way = self._way(cache)
        fresh = [node for node in nodes if not self._is_current(node, way)]
        if fresh:
            self._begin(cache, fresh, way)
        found = [self._targets[node.pk] for node in nodes]
        now = time.monotonic()
        for target, node in zip(found, nodes, strict=True):
            target.identity, target.role, target.shard_id = node.identity, node.role, node.shard_id
            target.used_at, target.interval_seconds = now, float(cache.poll_interval_seconds)
        return found

    def endpoint(self, cache: CacheRow) -> Target | None:
        """Return the discovery endpoint of a cache, None where its address names the nodes themselves."""
        seed = cache.endpoint
        if seed is None:
            return None
        way, known = self._way(cache), self._endpoints.get(cache.pk)
        if known is None or known.way is not way or known.place != (seed.host, seed.port):
            row = read_endpoint(cache.pk, seed)
            if row is None and ensure_seeds(cache.pk, [seed]):
                row = read_endpoint(cache.pk, seed)
            if row is None:
                return None
            self._discard(known)
            known = self._endpoints[cache.pk] = Target(row, way, Support(), is_endpoint=True)
        known.used_at, known.interval_seconds = time.monotonic(), float(cache.poll_interval_seconds)
        return known

    def _begin(self, cache: CacheRow, nodes: Sequence[NodeRow], way: Way) -> None:
        support = capabilities.load([node.pk for node in nodes])
        answered = statuses.that_answered([node.pk for node in nodes])
        for node in nodes:
            self._discard(self._targets.pop(node.pk, None))
            self._targets[node.pk] = target = Target(node, way, support[node.pk])
            target.has_answered = node.pk in answered
            target.standing.in_cluster = cache.topology == Topology.CLUSTER or None

    def _way(self, cache: CacheRow) -> Way:
        stamp = cache.stamp
        if cache.login == Login.GOOGLE_IAM:
            # What gives the tokens is looked up now and then: the project's credentials may have changed.
            stamp = (*stamp, int(time.time() // PLAN_SECONDS))
        known = self._ways.get(cache.pk)
        if known is None or known[0] != stamp:
            tls = bool(cache.seeds) and cache.seeds[0].tls
            way = Way.of(Cache.objects.get(pk=cache.pk), tls)
            is_same = known and known[0][: len(cache.stamp)] == cache.stamp and known[1].access == way.access
            known = self._ways[cache.pk] = (stamp, known[1] if known and is_same else way)
        return known[1]

    def _is_current(self, node: NodeRow, way: Way) -> bool:
        target = self._targets.get(node.pk)
        return target is not None and target.way is way and target.port == node.port and target.host == node.host

    def is_unsettled(self, cache_id: int) -> bool:
        return cache_id in self._unsettled

    def mark_settled(self, cache_id: int, is_settled: bool) -> None:
        (self._unsettled.discard if is_settled else self._unsettled.add)(cache_id)

    def _discard(self, target: Target | None) -> None:
        if target:
            background.loop().call_soon_threadsafe(target.drop)

    def targets_of(self, cache_ids: Collection[int]) -> list[Target]:
        return [target for target in self._targets.values() if target.cache_id in cache_ids]

    def failures(self) -> list[tuple[str, ReadError]]:
        """Return the addresses that failed at their last poll, and why."""
        watched = [*self._targets.values(), *self._endpoints.values()]
        return [(address_text(*target.place), target.failure) for target in watched if target.failure]

    def sweep(self) -> None:
        """Close what was not polled for three intervals: its node left, or another worker polls it now."""
        now = time.monotonic()
        for held in (self._targets, self._endpoints):
            for key, target in list(held.items()):
                if now - target.used_at > 3 * target.interval_seconds + settings.POLL_TICK_SECONDS:
                    self._discard(held.pop(key, None))

    def close(self) -> None:
        for held in (self._targets, self._endpoints):
            for key in list(held):
                self._discard(held.pop(key, None))
