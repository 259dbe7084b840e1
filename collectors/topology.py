"""Which shards and nodes a cache has: the layout as servers tell it, brought into the tables."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from collectors.layout import PRIMARY, REPLICA, UNKNOWN, Layout, SeenNode, SeenShard, address_text
from fleet.addresses import Address
from fleet.models import Cache, Node, Shard, Topology


def ensure_seeds(cache_id: int, seeds: Sequence[Address]) -> int:
    """Make the servers named in the address watched nodes, so that their failures show; return how many are new."""
    with transaction.atomic():
        if not Cache.objects.select_for_update().filter(pk=cache_id).exists():
            return 0
        present = set(Node.objects.present().filter(cache_id=cache_id).values_list("host", "port"))
        missing = [seed for seed in seeds if (seed.host, seed.port) not in present]
        rows = [
            Node(cache_id=cache_id, identity=address_text(seed.host, seed.port), host=seed.host, port=seed.port)
            for seed in missing
        ]
        # One that left comes back under its row.
        Node.objects.bulk_create(
            rows, update_conflicts=True, unique_fields=["cache", "identity"], update_fields=["host", "port", "left_at"]
        )
        return len(rows)


def retire_unanswered(cache: Cache, now: datetime) -> None:
    """Let nodes leave that the cache's address does not name and that never answered: it was mistyped before."""
    seeds = {(seed.host, seed.port) for seed in cache.seeds()}
    silent = Node.objects.present().filter(cache=cache, status__answered_at=None)
    gone = [pk for pk, host, port in silent.values_list("pk", "host", "port") if (host, port) not in seeds]
    Node.objects.filter(pk__in=gone).update(left_at=now)


def sync(cache_id: int, layout: Layout, now: datetime) -> bool:
    """Bring the tables up to a layout; return whether anything changed.

    Nothing is ever deleted: nodes and shards that are gone get `left_at`, and get it back as None when they
    return. A layout without nodes changes nothing.
    """
    if not layout.nodes():
        return False
    with transaction.atomic():
        # One sync of a cache at a time, and none while it is being deleted.
        cache = Cache.objects.select_for_update().filter(pk=cache_id).first()
        return cache is not None and _Sync(cache, layout, now).run()


class _Sync:
    """One run of sync: the rows as they are, and how many of them it changed."""

    def __init__(self, cache: Cache, layout: Layout, now: datetime) -> None:
        self.cache, self.layout, self.now = cache, layout, now
        self.nodes = {node.identity: node for node in cache.nodes.all()}
        self.shards = {shard.pk: shard for shard in cache.shards.all()}
        self.changes = 0

    def run(self) -> bool:
        for seen in self.layout.nodes():
            self._adopt(seen)
        matched = self._match()
        kept = [self._keep_shard(seen, matched.get(seen.identity)) for seen in self.layout.shards]
        if self.layout.complete:
            self._leave({shard.pk for shard in kept if shard})
        if self.cache.topology != self.layout.kind:
            self._save(self.cache, topology=self.layout.kind)
        return self.changes > 0

    def _save(self, row: Cache | Shard | Node, **values: object) -> None:
        """Write the values that differ from the row's."""
        changed = [name for name, value in values.items() if getattr(row, name) != value]
        for name in changed:
            setattr(row, name, values[name])
        if changed:
            row.save(update_fields=changed)
            self.changes += 1

    def _adopt(self, seen: SeenNode) -> None:
        """Give a node known by its address alone (a seed) the node id found there."""
        placeholder = self.nodes.get(address_text(seen.host, seen.port))
        if placeholder and seen.identity not in self.nodes:
            del self.nodes[placeholder.identity]
            self._save(placeholder, identity=seen.identity)
            self.nodes[seen.identity] = placeholder

    def _match(self) -> dict[str, Shard]:
        """Return the known shard of each seen one: the one it shares most nodes with, the primary counting most.

        Shards with slots choose first: a failed primary that older servers list alone must not keep the number.
        """
        scores: Counter[tuple[str, int]] = Counter()
        for seen in self.layout.shards:
            for seen_node in seen.nodes:
                node = self.nodes.get(seen_node.identity)
                if node and node.shard_id:
                    both_primary = node.role == seen_node.role == PRIMARY
                    scores[seen.identity, node.shard_id] += 3 if both_primary else 1
            for shard in self.shards.values():
                scores[seen.identity, shard.pk] += shard.identity == seen.identity
        matched: dict[str, Shard] = {}
        taken: set[int] = set()
        holders = {seen.identity for seen in self.layout.shards if seen.slots}
        for (identity, pk), score in sorted(scores.items(), key=lambda e: (e[0][0] in holders, e[1]), reverse=True):
            if score and identity not in matched and pk not in taken:
                matched[identity] = self.shards[pk]
                taken.add(pk)
        return matched

    def _keep_shard(self, seen: SeenShard, shard: Shard | None) -> Shard | None:
        """Keep a shard and its nodes; a new one of a cluster gets its number once it holds slots."""
        if shard is None and (seen.slots or self.layout.kind != Topology.CLUSTER):
            shard = self._new_shard(seen)
        if shard:
            self._save(shard, slots=[list(pair) for pair in seen.slots], left_at=None)
        for node in seen.nodes:
            self._keep_node(node, shard, seen.is_former(node))
        return shard

    def _new_shard(self, seen: SeenShard) -> Shard:
        # An identity is taken for good; a shard that shares no node with its namesake gets a suffix.
        names = {shard.identity for shard in self.shards.values()}
        number = max((shard.number for shard in self.shards.values()), default=0) + 1
        identity = seen.identity if seen.identity not in names else f"{seen.identity}#{number}"
        shard = Shard.objects.create(cache=self.cache, identity=identity, number=number)
        self.shards[shard.pk] = shard
        self.changes += 1
        return shard

    def _keep_node(self, seen: SeenNode, shard: Shard | None, is_former: bool) -> None:
        node = self.nodes.get(seen.identity)
        if node is None:
            node = Node(cache=self.cache, identity=seen.identity, host=seen.host, port=seen.port, joined_at=self.now)
            node.role, node.shard = seen.role, shard
            node.save()
            self.nodes[seen.identity] = node
            self.changes += 1
            return
        role = UNKNOWN if is_former else seen.role or node.role
        home = shard.pk if shard else node.shard_id if is_former else None
        self._save(node, host=seen.host, port=seen.port, role=role, shard_id=home, left_at=None)

    def _leave(self, kept: Collection[int]) -> None:
        kept_nodes = {seen.identity for seen in self.layout.nodes()}
        for node in self.nodes.values():
            if node.left_at is None and node.identity not in kept_nodes:
                self._save(node, left_at=self.now)
        for shard in self.shards.values():
            if shard.left_at is None and shard.pk not in kept:
                self._save(shard, left_at=self.now)


@dataclass(frozen=True, slots=True)
class Standalone:
    """What one server outside a cluster said of itself: its role, its primary and its replicas, as host and port."""

    role: str
    run_id: str = ""
    primary: tuple[str, int] | None = None
    replicas: tuple[tuple[str, int], ...] = ()
    # The IP address and port that we reached it at: other servers name it so.
    peer: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class KnownNode:
    """A watched node of a cache without a cluster. `seen` is None while it does not answer."""

    place: tuple[str, int]
    role: str
    shard_id: int | None
    seen: Standalone | None
    # Has been silent for so long that it may leave when nobody names it any more.
    is_lost: bool = False
    # Was never reached: it may leave as soon as its shard answers and does not name it.
    is_unmet: bool = False


def standalone_layout(seeds: Sequence[tuple[str, int]], known: Sequence[KnownNode]) -> Layout:
    """Return the shards that listed servers, their replicas and their primaries form.

    Servers that replicate from one another are one shard; a node that does not answer stays in the shard
    where it was. The same server under two addresses counts once, under the one that was listed.
    """
    alias = _aliases(seeds, known)
    groups = _Groups()
    roles: dict[tuple[str, int], str] = {}
    for place in seeds:
        groups.add(alias.get(place, place))
    for node in known:
        if node.seen is None:
            continue
        own = alias.get(node.place, node.place)
        roles[own] = node.seen.role
        groups.add(own)
        for other, role in [(node.seen.primary, PRIMARY), *((replica, REPLICA) for replica in node.seen.replicas)]:
            if other:
                groups.join(own, alias.get(other, other))
                roles.setdefault(alias.get(other, other), role)
    _keep_silent(known, alias, groups, roles)
    shards = tuple(_shard_of(members, seeds, roles) for members in groups.all())
    order = {place: index for index, place in enumerate(seeds)}
    shards = tuple(sorted(shards, key=lambda shard: min(order.get((n.host, n.port), len(order)) for n in shard.nodes)))
    return Layout(Topology.SHARDED if len(shards) > 1 else Topology.STANDALONE, shards)


def _aliases(seeds: Sequence[tuple[str, int]], known: Sequence[KnownNode]) -> dict[tuple[str, int], tuple[str, int]]:
    """Return, for every other name of a server, the address that we watch it under: a listed one first."""
    alias: dict[tuple[str, int], tuple[str, int]] = {}
    own_names: dict[str, tuple[str, int]] = {}
    listed = set(seeds)
    for node in sorted(known, key=lambda node: node.place not in listed):
        if node.seen is None:
            continue
        main = own_names.setdefault(node.seen.run_id, node.place) if node.seen.run_id else node.place
        for name in (node.place, node.seen.peer):
            if name and name != main:
                alias.setdefault(name, main)
    return alias


def _keep_silent(
    known: Sequence[KnownNode],
    alias: Mapping[tuple[str, int], tuple[str, int]],
    groups: "_Groups",
    roles: dict[tuple[str, int], str],
) -> None:
    """Keep nodes in the shard where they were, unless nobody names those that are lost or were never met."""
    homes: dict[int, tuple[str, int]] = {}
    answering = {None, *(node.shard_id for node in known if node.seen)}
    for node in known:
        place = alias.get(node.place, node.place)
        may_leave = node.is_lost or (node.is_unmet and node.shard_id in answering)
        if may_leave and place not in groups:
            continue
        groups.add(place)
        roles.setdefault(place, node.role)
        if node.shard_id:
            groups.join(homes.setdefault(node.shard_id, place), place)


def _shard_of(
    members: Sequence[tuple[str, int]], seeds: Sequence[tuple[str, int]], roles: Mapping[tuple[str, int], str]
) -> SeenShard:
    nodes = tuple(SeenNode(address_text(*place), *place, roles.get(place, UNKNOWN)) for place in members)
    first = next((seed for seed in seeds if seed in members), members[0])
    return SeenShard(address_text(*first), nodes)


class _Groups:
    """Addresses put together in groups, each in the order in which they came."""

    def __init__(self) -> None:
        self._group_of: dict[tuple[str, int], list[tuple[str, int]]] = {}

    def __contains__(self, place: tuple[str, int]) -> bool:
        return place in self._group_of

    def add(self, place: tuple[str, int]) -> None:
        self._group_of.setdefault(place, [place])

    def join(self, one: tuple[str, int], other: tuple[str, int]) -> None:
        self.add(one)
        self.add(other)
        into, gone = self._group_of[one], self._group_of[other]
        if into is not gone:
            into.extend(gone)
            self._group_of.update(dict.fromkeys(gone, into))

    def all(self) -> list[list[tuple[str, int]]]:
        return list({id(group): group for group in self._group_of.values()}.values())
