"""Gathering what the checks of readiness are given: Cloud Monitoring first, INFO where it tells nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from collectors.cloud.known import Service, services
from collectors.cloud.latest import Latest, latest_of
from collectors.cloud.service_facts import ServiceFacts
from collectors.keyscan import metrics
from collectors.keyscan.models import ScanMetric
from dashboard.readiness.inputs import Inputs, Measured, Origin
from dashboard.watched import WatchedNode, nodes_of
from fleet.addresses import AddressError
from fleet.models import Cache, Login, Reach, Topology

# Figures of nodes that are older than this tell of the past.
FRESH = timedelta(minutes=10)
Figure = Callable[[WatchedNode], float | None]


@dataclass(frozen=True, slots=True)
class Known:
    """All that is known of one cache: its service, the service's figures by name, its nodes, its biggest key."""

    cache: Cache
    now: datetime
    service: Service | None = None
    figures: Mapping[str, Sequence[Latest]] = field(default_factory=dict)
    nodes: Sequence[WatchedNode] = ()
    biggest_key: Measured | None = None

    @property
    def facts(self) -> ServiceFacts | None:
        return self.service.facts if self.service else None

    def told(self, name: str, combine: Callable[[Iterable[float]], float], role: str = "") -> Measured | None:
        """Return the service's own figure over its places, those of one role where it is given."""
        found = [one for one in self.figures.get(name, ()) if not role or one.place.role == role]
        if not found:
            return None
        return Measured(combine(one.value for one in found), Origin.MONITORING, min(one.at for one in found))

    def read(self, figure: Figure, combine: Callable[[Iterable[float]], float], role: str = "") -> Measured | None:
        """Return a figure over the nodes; None where one of them did not tell it lately."""
        nodes = [node for node in self.nodes if not role or node.node.role == role]
        values = [(figure(node), node.latest.at) for node in nodes if node.latest and self.is_fresh(node)]
        known = [value for value, _at in values if value is not None]
        if not nodes or len(known) < len(nodes):
            return None
        return Measured(combine(known), Origin.INFO, min(at for _value, at in values))

    def is_fresh(self, node: WatchedNode) -> bool:
        return node.latest is not None and self.now - node.latest.at <= FRESH

    def shape(self) -> tuple[int | None, int | None]:
        """Return shards, and the replicas of the shard that has fewest: as Google says, else as we found them."""
        if self.facts and self.facts.shards is not None:
            return self.facts.shards, self.facts.replicas_per_shard
        shards = {node.node.shard_id for node in self.nodes if node.node.shard_id}
        replicas = Counter(node.node.shard_id for node in self.nodes if node.node.role == "replica")
        return (len(shards), min(replicas[shard] for shard in shards)) if shards else (None, None)


def gather(caches: Sequence[Cache], now: datetime) -> dict[int, Inputs]:
    """Return the inputs by cache id, in a number of queries that does not grow with the caches."""
    ids = [cache.pk for cache in caches]
    found, figures, nodes, keys = services(ids), latest_of(ids, now), nodes_of(ids), biggest_keys(ids)
    return {
        pk: inputs_of(Known(cache, now, found.get(pk), figures.get(pk, {}), nodes.get(pk, ()), keys.get(pk)))
        for pk, cache in ((cache.pk, cache) for cache in caches)
    }


def biggest_keys(cache_ids: Sequence[int]) -> dict[int, Measured]:
    rows = ScanMetric.objects.filter(cache__in=cache_ids, name=metrics.LARGEST_KEY)
    return {row.cache_id: Measured(row.value, Origin.SCAN, row.at) for row in rows}


def inputs_of(known: Known) -> Inputs:
    facts, (shards, replicas) = known.facts, known.shape()
    return Inputs(
        now=known.now,
        product=facts.product if facts else "",
        is_clustered=facts.is_cluster if facts else known.cache.topology == Topology.CLUSTER,
        is_reached=known.cache.reach == Reach.NODES,
        node_type=facts.node_type if facts else "",
        shards=shards,
        replicas_per_shard=replicas,
        system_memory=known.told("service_system_memory_usage_ratio", max) or resident(known),
        memory=known.told("service_memory_maximum_utilization", max)
        or known.read(lambda node: node.value("memory_used_ratio"), max),
        cpu_primary=cpu(known, "primary"),
        cpu_replica=cpu(known, "replica"),
        biggest_key=known.biggest_key,
        connections=known.told("service_connected_clients", sum)
        or known.read(lambda node: node.value("connected_clients"), sum),
        commands=known.told("service_commands_per_second", sum)
        or known.read(lambda node: node.value("commands_per_second"), sum),
        used_bytes=known.told("service_used_memory", sum)
        or known.read(lambda node: node.value("used_memory"), sum, "primary"),
        node_bytes=node_bytes(known),
        has_window=bool(facts.windows) if facts else None,
        has_auth=auth(known),
        has_tls=tls(known),
    )


def cpu(known: Known, role: str) -> Measured | None:
    """Return the CPU of the busiest node: of the main thread where that is told, since it is what fills first."""
    is_cluster = known.facts is not None and known.facts.node_type
    names = ("service_cpu_utilization",) if is_cluster else ("service_main_thread_cpu_ratio", "service_cpu_utilization")
    told = (known.told(name, max, role) for name in names)
    return next((one for one in told if one), None) or known.read(lambda node: node.cpu_ratio, max, role)


def resident(known: Known) -> Measured | None:
    """Return resident memory over the size of a node: less than the service counts, which adds the system's own."""
    size = known.facts.node_memory_bytes if known.facts else None
    used = known.read(lambda node: node.value("used_memory_rss"), max) if size else None
    return Measured(used.value / size, used.origin, used.at) if used and size else None


def node_bytes(known: Known) -> Measured | None:
    """Return what keys may fill on the smallest node."""
    told = known.read(lambda node: node.value("maxmemory") or None, min, "primary")
    if told or known.cache.other_memory_limit is None:
        return told
    origin = Origin.PERSON if known.cache.plan_memory_bytes else Origin.LIMITS
    return Measured(known.cache.other_memory_limit, origin)


def auth(known: Known) -> Measured | None:
    if known.facts:
        return None if known.facts.auth == "unknown" else Measured(known.facts.auth != "none", Origin.API)
    cache = known.cache
    is_on = bool(cache.password or cache.client_certificate) or cache.login == Login.GOOGLE_IAM
    return Measured(is_on, Origin.ADDRESS) if has_answered(known) else None


def tls(known: Known) -> Measured | None:
    if known.facts:
        return None if known.facts.tls is None else Measured(known.facts.tls, Origin.API)
    try:
        is_on = all(seed.tls for seed in known.cache.seeds())
    except AddressError:
        return None
    return Measured(is_on, Origin.ADDRESS) if has_answered(known) else None


def has_answered(known: Known) -> bool:
    """Return whether the address that we have leads somewhere: until then it tells nothing of the server."""
    return any(node.latest for node in known.nodes)
