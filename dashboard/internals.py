"""What servers say of their replication, cluster, persistence and memory, as the page and the API show it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from django.utils import timezone

from collectors import latest_details
from collectors.latest_details import Details
from collectors.layout import SLOT_COUNT
from collectors.metrics.detail import DETAIL
from collectors.metrics.hot import HOT
from collectors.models import NodeFact
from dashboard.refusals import Refusal, refusals
from dashboard.watched import WatchedNode, nodes_of
from fleet.models import Cache, Node, Topology

COMMANDS = ("CLUSTER INFO", "CLUSTER SHARDS", "CLUSTER SLOTS", "CLUSTER NODES")
SECTIONS = ("replication", "cluster", "persistence", "memory")
# Numbers of other sections of INFO that tell of these.
ALSO = {"sync_full": "replication", "sync_partial_ok": "replication", "sync_partial_err": "replication"}
ALSO |= {"latest_fork_usec": "persistence", "total_forks": "persistence", "lazyfreed_objects": "memory"}
SECTION_OF = {metric.name: ALSO.get(metric.name, metric.section) for metric in (*HOT, *DETAIL)}
HOT_SCALES = {metric.name: metric.scale for metric in HOT}
FACTS = ("mem_allocator", "master_host", "master_port", "master_replid")
# Where nodes must agree.
VIEW = ("cluster_state_ok", "cluster_current_epoch", "cluster_known_nodes", "cluster_slots_assigned", "cluster_size")


@dataclass(frozen=True, slots=True)
class NodeInternals:
    """One node's numbers by the server's own names; what it does not report, or a silent node's, is missing."""

    watched: WatchedNode
    numbers: dict[str, float]
    facts: dict[str, str]
    detailed_at: datetime | None
    # Names of VIEW in which this node is not of one mind with most others.
    differs_in: frozenset[str] = frozenset()

    @property
    def is_silent(self) -> bool:
        return self.watched.is_failing or self.watched.latest is None

    @property
    def saved_at(self) -> datetime | None:
        """Return when the last snapshot succeeded; a server that never saved tells its start."""
        seconds = self.numbers.get("rdb_last_save_time")
        return datetime.fromtimestamp(seconds, UTC) if seconds and 0 < seconds < 2**33 else None

    @property
    def fork_seconds(self) -> float | None:
        usec = self.numbers.get("latest_fork_usec")
        return None if usec is None else usec / 1e6

    @property
    def script_bytes(self) -> float | None:
        """Return the memory of scripts and functions, the engines that run them included."""
        known = [self.numbers[name] for name in ("used_memory_vm_total", "used_memory_scripts") if name in self.numbers]
        return sum(known) if known else self.numbers.get("used_memory_lua")

    @property
    def is_orphan(self) -> bool:
        """Return whether this is a replica that follows nobody."""
        return (
            self.watched.node.role == Node.Role.REPLICA
            and not self.is_silent
            and self.numbers.get("master_link_up") == 0
        )

    def section(self, name: str) -> dict[str, float | None]:
        """Return all numbers of a section; None is not reported."""
        return {metric: self.numbers.get(metric) for metric, section in SECTION_OF.items() if section == name}


@dataclass(frozen=True, slots=True)
class Internals:
    nodes: Sequence[NodeInternals]
    is_clustered: bool
    uncovered: Sequence[tuple[int, int]]
    refused: Sequence[Refusal]

    @property
    def uncovered_count(self) -> int:
        return sum(last - first + 1 for first, last in self.uncovered)

    @property
    def replicated(self) -> list[NodeInternals]:
        """Return the nodes that have to do with replication."""
        return [node for node in self.nodes if not node.watched.is_primary or node.numbers.get("connected_slaves")]

    @property
    def disagreeing(self) -> list[NodeInternals]:
        return [node for node in self.nodes if node.differs_in]

    @property
    def orphans(self) -> list[NodeInternals]:
        return [node for node in self.nodes if node.is_orphan]

    @property
    def detailed_at(self) -> datetime | None:
        return min((node.detailed_at for node in self.nodes if node.detailed_at), default=None)


def internals_of(cache: Cache, now: datetime | None = None) -> Internals:
    watched = nodes_of([cache.pk]).get(cache.pk, [])
    ids = [node.node.pk for node in watched]
    details, facts = latest_details.read(ids, now or timezone.now()), facts_of(ids)
    nodes = [node_internals(node, details.get(node.node.pk), facts.get(node.node.pk, {})) for node in watched]
    is_clustered = cache.topology == Topology.CLUSTER
    if is_clustered:
        nodes = compared(nodes)
    gaps = uncovered(watched) if is_clustered else []
    return Internals(nodes, is_clustered, gaps, refusals(ids, COMMANDS))


def facts_of(node_ids: Sequence[int]) -> dict[int, dict[str, str]]:
    found: dict[int, dict[str, str]] = {}
    rows = NodeFact.objects.filter(node_id__in=node_ids, name__in=FACTS, until=None)
    for node_id, name, value in rows.values_list("node_id", "name", "value"):
        found.setdefault(node_id, {})[name] = value
    return found


def node_internals(node: WatchedNode, details: Details | None, facts: dict[str, str]) -> NodeInternals:
    if node.is_failing or node.latest is None:
        return NodeInternals(node, {}, facts, None)
    hot = {name: getattr(node.latest, name) for name in HOT_SCALES}
    numbers = {name: float(value) * HOT_SCALES[name] for name, value in hot.items() if value is not None}
    detailed_at = details.at if details else None
    return NodeInternals(node, numbers | (details.numbers if details else {}), facts, detailed_at)


def compared(nodes: Sequence[NodeInternals]) -> list[NodeInternals]:
    """Return the nodes, each with the parts of its view of the cluster that most others do not share."""
    usual = {name: most_common([node.numbers[name] for node in nodes if name in node.numbers]) for name in VIEW}
    return [replace(node, differs_in=frozenset(odd_parts(node.numbers, usual))) for node in nodes]


def odd_parts(numbers: dict[str, float], usual: dict[str, float | None]) -> Iterator[str]:
    return (name for name in VIEW if name in numbers and numbers[name] != usual[name])


def most_common(values: Sequence[float]) -> float | None:
    return Counter(values).most_common(1)[0][0] if values else None


def uncovered(watched: Sequence[WatchedNode]) -> list[tuple[int, int]]:
    """Return the ranges of slots that no primary holds that answers."""
    held = [
        (first, last)
        for node in watched
        if node.is_primary and not node.is_failing and node.node.shard
        for first, last in node.node.shard.slots
    ]
    return list(gaps_between(sorted(held)))


def gaps_between(held: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    free = 0
    for first, last in held:
        if first > free:
            yield free, first - 1
        free = max(free, last + 1)
    if free < SLOT_COUNT:
        yield free, SLOT_COUNT - 1
