"""What is known of caches and their nodes, put together for findings and pages."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from collectors import latest
from collectors.cloud.known import Service, services
from collectors.cloud.latest import FRESH, Standing, standings
from collectors.event import Event, Kind
from collectors.latest import CacheLatest, NodeLatest
from collectors.models import NodeFact, NodeStatus
from dashboard import alarms, past
from dashboard.alarms import Alarm
from dashboard.past import Past
from fleet.models import Cache, Node, Reach, Shard, Topology

# A poll that is this many intervals overdue makes the figures old.
STALE_INTERVALS = 4
# Rates need two samples; whatever is not there after this long is not reported.
NEW_NODE = timedelta(seconds=60)
# Findings tell of events for so long.
RECENT_SECONDS = 600
FACTS = ("default_user", "maxmemory_policy", "redis_version", "valkey_version", "memcached_version")


@dataclass(frozen=True, slots=True)
class WatchedNode:
    """One node with the newest that is known of it.

    `latest` is None before its first sample, `status` is None while it answers.
    """

    node: Node
    latest: NodeLatest | None = None
    status: NodeStatus | None = None
    facts: dict[str, str] = field(default_factory=dict)
    in_many_shards: bool = False
    # The first row of its shard carries the shard's number and slots.
    opens_shard: bool = False

    @property
    def name(self) -> str:
        """Return what a sentence calls the node: its shard where there are several, and its address."""
        if self.in_many_shards and self.node.shard:
            role = self.role_word
            return _("shard %(number)s %(role)s") % {"number": self.node.shard.number, "role": role}
        return self.node.address

    @property
    def is_primary(self) -> bool:
        return self.node.role == Node.Role.PRIMARY

    @property
    def is_former_primary(self) -> bool:
        """Whether the node was its shard's primary until it failed and another one took over."""
        return self.node.role == Node.Role.UNKNOWN and self.is_failing and self.node.shard_id is not None

    @property
    def role_word(self) -> str:
        # Django's own get_…_display builds its table anew each time, which shows with hundreds of nodes.
        return _("former primary") if self.is_former_primary else str(Node.Role(self.node.role).label)

    @property
    def is_failing(self) -> bool:
        return self.status is not None

    @property
    def evicts(self) -> bool:
        """Whether a full memory is by design: any key may be dropped, or keys with a life are, and there are enough.

        Until such a server drops some, keys that live for ever may be what fills it: they are few but large.
        Replicas drop what their primary drops, and count none.
        """
        policy = self.facts.get("maxmemory_policy", "")
        is_dropping = bool(self.value("evicted_keys_per_second")) or self.node.role == Node.Role.REPLICA
        is_volatile = policy.startswith("volatile-") and self.is_mostly_volatile
        return policy.startswith("allkeys-") or (is_volatile and is_dropping)

    @property
    def is_mostly_volatile(self) -> bool:
        """Whether at least half of the keys have a time to live."""
        keys, lasting = self.value("keys"), self.value("keys_without_ttl")
        return bool(keys) and lasting is not None and 2 * lasting <= (keys or 0)

    @property
    def must_not_fill(self) -> bool:
        return not self.evicts

    @property
    def version(self) -> str:
        if valkey := self.facts.get("valkey_version"):
            return f"Valkey {valkey}"
        if memcached := self.facts.get("memcached_version"):
            return f"Memcached {memcached}"
        return f"Redis {version}" if (version := self.facts.get("redis_version")) else ""

    @property
    def no_rate(self) -> str:
        """Return why a node that has just joined has no rates yet, "" for others."""
        if self.latest is None or self.latest.at - self.node.joined_at > NEW_NODE:
            return ""
        return _("waiting for the second sample")

    def value(self, name: str) -> float | None:
        """Return a figure of the newest sample, None where it is not reported or the node is silent."""
        if self.latest is None or self.is_failing:
            return None
        number: float | None = getattr(self.latest, name)
        return number

    @property
    def cpu_ratio(self) -> float | None:
        main_thread = self.value("main_thread_cpu_ratio")
        return self.value("cpu_ratio") if main_thread is None else main_thread


@dataclass(frozen=True, slots=True)
class Watched:
    """One cache at one moment. `nodes` is empty where nobody had a reason to read them."""

    cache: Cache
    now: datetime
    latest: CacheLatest | None = None
    nodes: Sequence[WatchedNode] = ()
    # Failovers and outages of the last minutes, newest first.
    recent: Sequence[Event] = ()
    # What Google tells of it, where it was found in a project.
    service: Service | None = None
    # How Cloud Monitoring answers for it.
    feed: Standing | None = None
    # What fires on it now.
    alarms: Sequence[Alarm] = ()
    # Empty where only the newest values were asked for.
    past: Past = field(default_factory=Past)

    @property
    def is_stale(self) -> bool:
        """Whether samples stopped coming; a new cache has one round of grace."""
        if self.latest is None or self.latest.at is None or self.cache.is_paused:
            return False
        patience = timedelta(seconds=STALE_INTERVALS * self.cache.poll_interval_seconds)
        return self.now - self.latest.at > (FRESH if self.is_remote else patience)

    @property
    def is_remote(self) -> bool:
        """Whether its nodes cannot be reached from here, so that only the service tells of it."""
        return self.cache.reach == Reach.SERVICE

    @property
    def is_clustered(self) -> bool:
        return self.cache.topology == Topology.CLUSTER

    @property
    def shards(self) -> int | None:
        """Return how many shards there are; None where the nodes were not read."""
        return len({node.node.shard_id for node in self.nodes if node.node.shard_id}) or None

    @property
    def node_ids(self) -> list[int]:
        return [node.node.pk for node in self.nodes]

    def primaries(self) -> list[WatchedNode]:
        return [node for node in self.nodes if node.is_primary]


def newest_of(cache: Cache) -> Watched:
    """Return the newest that is known of one cache."""
    now = timezone.now()
    recent = recent_events([cache.pk], now).get(cache.pk, ())
    summary, nodes = latest.caches([cache.pk]).get(cache.pk), nodes_of([cache.pk]).get(cache.pk, [])
    known = services([cache.pk])
    feed = standings(known).get(cache.pk)
    return Watched(cache, now, summary, nodes, recent, known.get(cache.pk), feed)


def watch(cache: Cache) -> Watched:
    """Return the newest that is known of one cache, and its last hours."""
    watched = newest_of(cache)
    fires = alarms.of_caches([cache.pk]).get(cache.pk, ())
    return replace(watched, past=past.of(cache, watched.node_ids, watched.now), alarms=fires)


def recent_events(cache_ids: Sequence[int], now: datetime) -> dict[int, list[Event]]:
    """Return the failovers of the last minutes, and the outages that ended in them, by cache."""
    edge = now - timedelta(seconds=RECENT_SECONDS)
    failovers = Q(kind=Kind.FAILOVER, at__gt=edge) | Q(kind=Kind.FAILOVER, until__gt=edge)
    outages = Q(kind=Kind.UNREACHABLE, until__gt=edge)
    found: dict[int, list[Event]] = defaultdict(list)
    for event in Event.objects.filter(failovers | outages, cache_id__in=cache_ids):
        found[event.cache_id or 0].append(event)
    return found


def nodes_of(cache_ids: Sequence[int]) -> dict[int, list[WatchedNode]]:
    """Return the present nodes of these caches, in five queries whatever their number."""
    if not cache_ids:
        return {}
    # Rows of their own instead of joins: most nodes share a shard and few fail, and objects cost more than queries.
    rows = Node.objects.present().filter(cache_id__in=cache_ids).order_by("role", "host", "port")
    shards = Shard.objects.filter(cache_id__in=cache_ids).in_bulk()
    failing = NodeStatus.objects.filter(node__cache_id__in=cache_ids, failing_since__isnull=False).in_bulk()
    newest, facts = latest.nodes(cache_ids), facts_of(cache_ids)
    by_cache: dict[int, list[Node]] = defaultdict(list)
    for node in rows:
        node.shard = shards.get(node.shard_id) if node.shard_id else None
        by_cache[node.cache_id].append(node)
    return {
        cache_id: list(watched_nodes(sorted(members, key=place), newest, failing, facts))
        for cache_id, members in by_cache.items()
    }


def place(node: Node) -> tuple[float, bool]:
    """Return where a node stands in lists: by shard, one without a role behind those that have one."""
    return node.shard.number if node.shard else math.inf, not node.role


def watched_nodes(
    members: list[Node],
    newest: dict[int, NodeLatest],
    failing: dict[int, NodeStatus],
    facts: dict[int, dict[str, str]],
) -> Iterator[WatchedNode]:
    many = len({node.shard_id for node in members}) > 1
    previous: object = None
    for node in members:
        opens = previous is None or node.shard_id != previous
        yield WatchedNode(node, newest.get(node.pk), failing.get(node.pk), facts.get(node.pk, {}), many, opens)
        previous = node.shard_id


def facts_of(cache_ids: Sequence[int]) -> dict[int, dict[str, str]]:
    found: dict[int, dict[str, str]] = defaultdict(dict)
    rows = NodeFact.objects.filter(node__cache_id__in=cache_ids, name__in=FACTS, until=None)
    for node_id, name, value in rows.values_list("node_id", "name", "value"):
        found[node_id][name] = value
    return found
