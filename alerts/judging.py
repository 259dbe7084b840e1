"""Values of nodes become verdicts of targets: what is true where, without a look at what was true before."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from alerts.gates import GATES
from alerts.measures import is_service, is_whole
from alerts.reason import Reason
from alerts.rule import Override, Rule
from alerts.scene import Watched, WatchedNode
from alerts.spec import CRITICAL, NONE, WARNING, Across, Level, NoData, Per, Spec, Term
from collectors.windows import Reading, Values

Found = Mapping[Reading, Values]
NOTHING: Values = {}


@dataclass(frozen=True, slots=True)
class Target:
    """What one verdict is about; `key` is its identity within a rule."""

    key: str
    cache: Watched
    shard_id: int | None = None
    shard: int | None = None
    node: WatchedNode | None = None
    # What the service tells of by itself, where that is not the whole cache.
    place: WatchedNode | None = None

    @property
    def about(self) -> WatchedNode | None:
        return self.node or self.place

    @property
    def address(self) -> str:
        return self.about.address if self.about else ""

    @property
    def labels(self) -> dict[str, str]:
        named = {"cache": self.cache.name}
        if self.shard is not None:
            named["shard"] = str(self.shard)
        if self.about:
            named |= {"node": self.about.address, "role": self.about.role}
            if zone := self.cache.zones.get(self.about.id):
                named["zone"] = zone
        return {**self.cache.labels, **named}


# Made by the ten thousand at every tick: a frozen one costs three times as much.
@dataclass(slots=True)
class Verdict:
    """How bad it is at one target (None: nobody can tell), with the rule as it counts there."""

    target: Target
    spec: Spec
    level: Level | None
    values: tuple[float | None, ...]
    reason: Reason = Reason.THRESHOLD
    # The tick from which on it is known to be so, where that is before the one at which it is judged.
    since: int | None = None
    # The cause that all of what is down there has in common, where the rule asks for that alone.
    cause: str = ""

    @property
    def value(self) -> float | None:
        return self.values[self.spec.leading()]

    @property
    def bound(self) -> float | None:
        return self.spec.terms[self.spec.leading()].bound(self.level or WARNING)

    @property
    def is_known(self) -> bool:
        return self.values.count(None) < len(self.values)


def verdicts(
    rule: Rule, overrides: Sequence[Override], caches: Sequence[Watched], found: Found, silent: frozenset[int]
) -> Iterator[Verdict]:
    """Yield a verdict for each target of a rule; `silent` names the nodes that are known not to serve."""
    for cache, nodes in looked_at(rule.spec, caches):
        yield from of_cache(rule.spec, overrides, cache, nodes, found, silent)


def looked_at(spec: Spec, caches: Sequence[Watched]) -> Iterator[tuple[Watched, Sequence[WatchedNode]]]:
    """Yield the caches that a rule is about, each with the nodes or places at which it looks there."""
    members = members_of(spec)
    gates = [GATES[name][0] for name in spec.gates]
    where = spec.where
    for cache in caches:
        if where.fits_cache(cache.name, cache.labels) and all(gate(cache) for gate in gates):
            nodes = members(cache)
            if not where.takes_all_nodes:
                nodes = [node for node in nodes if where.fits_node(node.address, node.role, node.shard)]
            yield cache, nodes


def known_where_calm(spec: Spec, nodes: Sequence[WatchedNode], found: Found, silent: frozenset[int]) -> int | None:
    """Return for how many of a cache's nodes a value is known where no verdict says more than that all is well.

    None: each node needs its verdict. Most caches need none at most ticks, and that is cheap to tell.
    """
    if spec.per is not Per.NODE or any(term.role for term in spec.terms):
        return None
    columns = [found.get(term.reading, NOTHING).get for term in spec.terms]
    known = 0
    for node in nodes:
        values = [read(node.id) for read in columns]
        level = spec.judge(values)
        if level or (level is None and node.id in silent):
            return None
        known += values.count(None) < len(values)
    return known


def members_of(spec: Spec) -> Callable[[Watched], Sequence[WatchedNode]]:
    """Return whom a rule looks at: nodes, what the service tells of where it names figures of the service, or both."""
    if all(is_whole(reading.metric) for reading in spec.readings()):
        return lambda cache: cache.nodes or cache.places
    told = {is_service(reading.metric) for reading in spec.readings()}
    if told == {True}:
        return lambda cache: cache.places
    if told == {False}:
        return lambda cache: cache.nodes
    # A test of rules gives one list for both.
    return lambda cache: list(dict.fromkeys((*cache.nodes, *cache.places)))


def of_cache(
    spec: Spec,
    overrides: Sequence[Override],
    cache: Watched,
    nodes: Sequence[WatchedNode],
    found: Found,
    silent: frozenset[int],
) -> Iterator[Verdict]:
    """Yield a rule's verdicts on one cache."""
    judge = {Per.NODE: _nodes, Per.SHARD: _shards, Per.CACHE: _whole, Per.SPREAD: _whole}[spec.per]
    for target, values in judge(spec, cache, nodes, found):
        counted = counting(spec, overrides, target)
        if counted is not None:
            yield _verdict(counted, target, values, nodes, silent)


def counting(spec: Spec, overrides: Sequence[Override], target: Target) -> Spec | None:
    """Return the rule as it counts for a target, None where it is turned off there.

    Of the overrides that fit, narrower ones go over wider ones, field by field.
    """
    if not overrides:
        return spec
    node_id = target.node.id if target.node else None
    fitting = [one for one in overrides if one.fits(target.cache.id, target.cache.labels, node_id)]
    is_on = True
    for override in sorted(fitting, key=lambda one: (-one.width, one.pk)):
        spec = override.applied(spec)
        is_on = is_on if override.is_enabled is None else override.is_enabled
    return spec if is_on else None


def _nodes(
    spec: Spec, cache: Watched, nodes: Sequence[WatchedNode], found: Found
) -> Iterator[tuple[Target, tuple[float | None, ...]]]:
    columns = [(found.get(term.reading, NOTHING), term.role) for term in spec.terms]
    if len(columns) == 1 and not columns[0][1]:
        # Most rules: one condition about all nodes.
        read = columns[0][0].get
        yield from ((target(cache, node), (read(node.id),)) for node in nodes)
        return
    for node in nodes:
        if node.role and all(role not in {"", node.role} for _by_node, role in columns):
            # What is asked of replicas says nothing of a primary: an alert from its days as a replica is over.
            continue
        values = tuple(by_node.get(node.id) if role in {"", node.role} else None for by_node, role in columns)
        yield target(cache, node), values


def target(cache: Watched, node: WatchedNode) -> Target:
    """Return a node as a target, the same for all rules."""
    known = cache.targets.get(node.id)
    if known is None and node.id < 0:
        known = cache.targets[node.id] = Target(f"p{-node.id}", cache, node.shard_id, node.shard, place=node)
    elif known is None:
        known = cache.targets[node.id] = Target(f"n{node.id}", cache, node.shard_id, node.shard, node)
    return known


def _shards(
    spec: Spec, cache: Watched, nodes: Sequence[WatchedNode], found: Found
) -> Iterator[tuple[Target, tuple[float | None, ...]]]:
    for shard_id in dict.fromkeys(node.shard_id for node in nodes if node.shard_id is not None):
        members = [node for node in nodes if node.shard_id == shard_id]
        target = Target(f"s{shard_id}", cache, shard_id, members[0].shard)
        yield target, tuple(across(term, members, found) for term in spec.terms)


def _whole(
    spec: Spec, cache: Watched, nodes: Sequence[WatchedNode], found: Found
) -> Iterator[tuple[Target, tuple[float | None, ...]]]:
    reduce = spread if spec.per is Per.SPREAD else across
    yield Target(f"c{cache.id}", cache), tuple(reduce(term, nodes, found) for term in spec.terms)


def _members(term: Term, nodes: Sequence[WatchedNode], found: Found) -> list[float]:
    by_node = found.get(term.reading, NOTHING)
    return [by_node[node.id] for node in nodes if term.role in {"", node.role} and node.id in by_node]


def across(term: Term, nodes: Sequence[WatchedNode], found: Found) -> float | None:
    """Return what the nodes of a shard or cache come to; None where none has a value."""
    values = _members(term, nodes, found)
    if not values:
        return None
    if term.across is Across.AVG:
        return sum(values) / len(values)
    if term.across is Across.SUM:
        return sum(values)
    return min(values) if term.across is Across.MIN else max(values)


def spread(term: Term, nodes: Sequence[WatchedNode], found: Found) -> float | None:
    """Return how far the highest node is above the lowest; None where fewer than two have a value."""
    values = _members(term, nodes, found)
    return max(values) - min(values) if len(values) > 1 else None


def _verdict(
    spec: Spec,
    target: Target,
    values: tuple[float | None, ...],
    nodes: Sequence[WatchedNode],
    silent: frozenset[int],
) -> Verdict:
    level = spec.judge(values)
    if level is not None:
        if level and spec.is_about_down:
            about = [target.node] if target.node else nodes
            since, causes = _down_since(target, about), {node.cause for node in about if node.failing_since}
            return Verdict(target, spec, level, values, since=since, cause=causes.pop() if len(causes) == 1 else "")
        return Verdict(target, spec, level, values)
    about = [target.about] if target.about else nodes
    if not any(node.id in silent for node in about):
        return Verdict(target, spec, None, values)
    return Verdict(target, spec, _without_data(spec), values, Reason.NO_DATA)


def _down_since(target: Target, about: Sequence[WatchedNode]) -> int | None:
    """Return since when polls of what is down have failed: silence is known to be one only after a while."""
    times = [node.down_since(target.cache.interval) for node in about]
    return max((time for time in times if time is not None), default=None)


def _without_data(spec: Spec) -> Level | None:
    worst = CRITICAL if any(term.critical is not None for term in spec.terms) else WARNING
    return {NoData.KEEP: None, NoData.ALERT: worst, NoData.OK: NONE}[spec.no_data]
