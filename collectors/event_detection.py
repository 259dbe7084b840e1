"""What happened to a cache between two looks at it: pure functions from two states to happenings.

A state holds what we last knew of each node, silent ones included. Where one side of a comparison is not
known nothing is concluded, so that a new cache begins without events.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from collectors.event import Kind
from collectors.layout import PRIMARY, SLOT_COUNT

# Uptimes are whole seconds, and answers are written down some time after they came.
START_TOLERANCE_SECONDS = 10

SlotRanges = list[list[int]]
# Facts whose change is an event of its own; the others change with a restart.
CHANGED_FACTS = (
    "maxmemory",
    "maxmemory_policy",
    "maxclients",
    "mem_allocator",
    "redis_mode",
    "os",
    "availability_zone",
)


@dataclass(frozen=True, slots=True)
class NodeState:
    """One node. Times are epoch seconds; a shard is its number."""

    id: int
    address: str
    shard: int | None = None
    role: str = ""
    answered_at: float | None = None
    failing_since: float | None = None
    failures: int = 0
    reason: str = ""
    run_id: str = ""
    uptime: float | None = None
    version: str = ""
    config: dict[str, Any] = field(default_factory=dict)
    is_evicting: bool = False
    connections: int | None = None
    # The reason again, so that pages can tell it in their reader's language.
    cause: str = ""
    words: str = ""
    process: str = ""

    @property
    def answers(self) -> bool:
        return self.failing_since is None and self.answered_at is not None

    def entry(self, **more: Any) -> dict[str, Any]:
        """Return what an event keeps of the node."""
        return {"id": self.id, "address": self.address, "shard": self.shard, "role": self.role, **more}


@dataclass(frozen=True, slots=True)
class CacheState:
    """All present nodes of a cache; slots and the primary that was last seen by number of shard."""

    at: float
    nodes: dict[int, NodeState]
    slots: dict[int, SlotRanges] = field(default_factory=dict)
    primaries: dict[int, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "at": self.at,
            "nodes": [asdict(node) for node in self.nodes.values()],
            "slots": list(self.slots.items()),
            "primaries": list(self.primaries.items()),
        }

    @classmethod
    def of_json(cls, stored: dict[str, Any]) -> "CacheState | None":
        """Return a stored state, None for one that another version of us wrote in another shape."""
        try:
            nodes = {node["id"]: NodeState(**node) for node in stored["nodes"]}
            return cls(stored["at"], nodes, dict(stored["slots"]), dict(stored["primaries"]))
        except (KeyError, TypeError, ValueError):
            return None

    def shards(self) -> set[int]:
        return {node.shard for node in self.nodes.values() if node.shard is not None}

    def members(self, shard: int | None) -> list[dict[str, Any]]:
        """Return the nodes of a shard as an event keeps them, the primary first."""
        found = [node for node in self.nodes.values() if node.shard == shard]
        found.sort(key=lambda node: (node.role != PRIMARY, node.role, node.address))
        return [node.entry(answers=node.answers) for node in found]


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that happened to some nodes. `step` is "begin" or "end" for what lasts."""

    kind: Kind
    at: float
    nodes: tuple[dict[str, Any], ...] = ()
    data: dict[str, Any] = field(default_factory=dict)
    step: str = ""


Pairs = Sequence[tuple[NodeState, NodeState]]


def detect(before: CacheState, after: CacheState) -> list[Happening]:
    """Return what happened from one look to the next; failovers first, so that others can be told as their parts."""
    return [happening for check in CHECKS for happening in check(before, after)]


def pairs_of(before: CacheState, after: CacheState) -> Pairs:
    return [(before.nodes[node.id], node) for node in after.nodes.values() if node.id in before.nodes]


def with_primaries(state: CacheState, before: CacheState | None) -> CacheState:
    """Return the state with each shard's primary: the one known before, until another one answers in its place.

    Polls reach nodes one after another, so that for a moment a shard may show two primaries, or none.
    """
    known = before.primaries if before else {}
    found: dict[int, int] = {}
    for node in state.nodes.values():
        shard = node.shard
        if shard is None or node.role != PRIMARY or (not node.answers and shard in known):
            continue
        if shard not in found or node.id == known.get(shard):
            found[shard] = node.id
    kept = {shard: node_id for shard, node_id in known.items() if shard in state.shards()}
    return CacheState(state.at, state.nodes, state.slots, {**kept, **found})


def failovers(before: CacheState, after: CacheState) -> Iterator[Happening]:
    for shard, new_id in after.primaries.items():
        new, was = after.nodes.get(new_id), before.nodes.get(new_id)
        old = before.nodes.get(before.primaries.get(shard, new_id))
        # A node that was in another shard before came with slots on the move.
        if new is None or old is None or old.id == new_id or was is None or was.shard != shard:
            continue
        now = after.nodes.get(old.id)
        data: dict[str, Any] = {"shard": shard, "from": old.entry(), "to": new.entry()}
        data |= {"before": before.members(shard), "after": after.members(shard)}
        data["is_forced"] = now is None or not now.answers or not old.answers
        data["old_answered_at"] = (now or old).answered_at if data["is_forced"] else None
        yield Happening(Kind.FAILOVER, after.at, (new.entry(),), data)


def role_changes(before: CacheState, after: CacheState) -> Iterator[Happening]:
    """A node that changed its role and its shard; a change within a shard belongs to a failover."""
    for old, new in pairs_of(before, after):
        if old.role and new.role and old.role != new.role and old.shard != new.shard and old.shard is not None:
            data = {"from": old.role, "to": new.role, "shards": [old.shard, new.shard]}
            yield Happening(Kind.ROLE, after.at, (new.entry(),), data)


def restarts(before: CacheState, after: CacheState) -> Iterator[Happening]:
    again = [new for old, new in pairs_of(before, after) if has_restarted(old, new) and old.version == new.version]
    if again:
        nodes = tuple(node.entry(started_at=started_at(node, after.at)) for node in again)
        yield Happening(Kind.RESTART, min(node["started_at"] for node in nodes), nodes)


def has_restarted(old: NodeState, new: NodeState) -> bool:
    if not new.answers:
        return False
    if old.run_id and new.run_id:
        return old.run_id != new.run_id
    if old.process and new.process and old.process != new.process:
        return True
    if old.uptime is None or new.uptime is None:
        return False
    # What we last compared with may be long ago: a process that began since then is another one.
    began_since = (
        old.answered_at is not None
        and new.answered_at is not None
        and started_at(new, new.answered_at) > old.answered_at + START_TOLERANCE_SECONDS
    )
    return new.uptime < old.uptime or began_since


def started_at(node: NodeState, now: float) -> float:
    return now - node.uptime if node.uptime is not None else now


def versions(before: CacheState, after: CacheState) -> Iterator[Happening]:
    return same_changes(Kind.VERSION, before, after, version_change)


def version_change(old: NodeState, new: NodeState) -> dict[str, list[Any]]:
    changed = old.version and new.version and old.version != new.version
    return {"version": [old.version, new.version]} if changed else {}


def configs(before: CacheState, after: CacheState) -> Iterator[Happening]:
    return same_changes(Kind.CONFIG, before, after, config_changes)


def config_changes(old: NodeState, new: NodeState) -> dict[str, list[Any]]:
    known = [name for name in CHANGED_FACTS if name in old.config and name in new.config]
    return {name: [old.config[name], new.config[name]] for name in known if old.config[name] != new.config[name]}


def same_changes(
    kind: Kind, before: CacheState, after: CacheState, changes_of: Callable[[NodeState, NodeState], dict[str, Any]]
) -> Iterator[Happening]:
    """Return one happening for all nodes that changed in the same way."""
    groups: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {}
    for old, new in pairs_of(before, after):
        if changes := changes_of(old, new):
            groups.setdefault(repr(changes), (changes, []))[1].append(new.entry())
    for changes, nodes in groups.values():
        yield Happening(kind, after.at, tuple(nodes), {"changes": changes})


def moves(before: CacheState, after: CacheState) -> Iterator[Happening]:
    moved = [(old, new) for old, new in pairs_of(before, after) if old.address != new.address]
    if moved:
        yield Happening(Kind.MOVED, after.at, tuple(new.entry(before=old.address) for old, new in moved))


def outages(before: CacheState, after: CacheState) -> Iterator[Happening]:
    """Nodes that fell silent or answer again; one that left is waited for no longer."""
    pairs = pairs_of(before, after)
    silent = [new for old, new in pairs if new.failing_since and not old.failing_since and new.answered_at]
    if silent:
        nodes = tuple(
            n.entry(since=n.failing_since, failures=n.failures, reason=n.reason, cause=n.cause, words=n.words)
            for n in silent
        )
        yield Happening(Kind.UNREACHABLE, min(n.failing_since or after.at for n in silent), nodes, step="begin")
    back = [
        new.entry(until=after.at, failures=new.failures, is_restarted=was_restarted(old, new, after.at))
        for old, new in pairs
        if old.failing_since and not new.failing_since
    ]
    gone = [
        old.entry(until=after.at, has_left=True)
        for old in before.nodes.values()
        if old.failing_since and old.id not in after.nodes
    ]
    if back or gone:
        yield Happening(Kind.UNREACHABLE, after.at, (*back, *gone), step="end")


def was_restarted(old: NodeState, new: NodeState, now: float) -> bool | None:
    """Return whether a node was restarted while it was silent; None where it does not tell."""
    if old.run_id and new.run_id:
        return old.run_id != new.run_id
    if new.uptime is None or old.failing_since is None:
        return None
    return started_at(new, now) >= old.failing_since


def evictions(before: CacheState, after: CacheState) -> Iterator[Happening]:
    was = {node.id for node in before.nodes.values() if node.is_evicting}
    evicting = [node for node in after.nodes.values() if node.is_evicting]
    if any(node.id not in was for node in evicting):
        yield Happening(Kind.EVICTION, after.at, tuple(node.entry() for node in evicting), step="begin")
    elif was and not evicting:
        yield Happening(Kind.EVICTION, after.at, step="end")


def scalings(before: CacheState, after: CacheState) -> Iterator[Happening]:
    """Nodes that came or went and slots that moved: the steps of a scaling."""
    joined = tuple(node.entry() for node in after.nodes.values() if node.id not in before.nodes)
    left = tuple(node.entry() for node in before.nodes.values() if node.id not in after.nodes)
    sizes = {"nodes_before": len(before.nodes), "shards_before": len(before.shards())}
    if joined:
        yield Happening(Kind.JOINED, after.at, joined, sizes)
    if left:
        yield Happening(Kind.LEFT, after.at, left, sizes)
    if before.slots and after.slots and (ways := slots_moved(before.slots, after.slots)):
        yield Happening(Kind.SLOTS, after.at, data={"slots": sum(ways.values()), "ways": dict(ways), **sizes})


def slots_moved(before: dict[int, SlotRanges], after: dict[int, SlotRanges]) -> Counter[str]:
    """Return how many slots went from one shard to another: {"1 4": 300}; slots without a shard are left out."""
    if before == after:
        return Counter()
    old, new = owners(before), owners(after)
    return Counter(f"{was} {now}" for was, now in zip(old, new, strict=True) if was and now and was != now)


def owners(slots: dict[int, SlotRanges]) -> list[int]:
    """Return the shard of each slot, 0 where it has none."""
    found = [0] * SLOT_COUNT
    for shard, ranges in slots.items():
        for first, last in ranges:
            found[first : last + 1] = [shard] * (last + 1 - first)
    return found


def merged_nodes(known: list[dict[str, Any]], more: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the nodes of an event with more of them, counting how often each was concerned."""
    by_id: dict[int, dict[str, Any]] = defaultdict(dict, {node["id"]: node for node in known})
    for node in more:
        times = by_id[node["id"]].get("times", 0) + 1
        by_id[node["id"]] = {**by_id[node["id"]], **node, "times": times}
    return list(by_id.values())


CHECKS: tuple[Callable[[CacheState, CacheState], Iterable[Happening]], ...] = (
    failovers,
    outages,
    versions,
    restarts,
    role_changes,
    moves,
    configs,
    evictions,
    scalings,
)
