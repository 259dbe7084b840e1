"""Reading what the tables know of a cache now, for comparing it with what the last look saw."""

from collections import defaultdict
from collections.abc import Collection
from datetime import datetime
from typing import Any

from collectors import latest
from collectors.causes import english_of
from collectors.event_detection import CHANGED_FACTS, CacheState, NodeState
from collectors.layout import address_text
from collectors.models import NodeFact, NodeStatus
from fleet.models import Cache, Node, Topology

VERSION_FACTS = {"valkey_version": "Valkey", "redis_version": "Redis", "memcached_version": "Memcached"}
FACTS = {"run_id", "process_id", *VERSION_FACTS, *CHANGED_FACTS}
LIMITS = ("maxmemory", "maxclients")


def read(cache: Cache, now: datetime, evicting: Collection[int]) -> CacheState:
    """Return a cache's present nodes and slots, in five queries."""
    nodes = Node.objects.present().filter(cache=cache).select_related("shard").order_by("pk")
    statuses = NodeStatus.objects.filter(node__cache=cache).in_bulk()
    newest, facts = latest.nodes([cache.pk]), facts_of(cache)
    is_cluster = cache.topology == Topology.CLUSTER
    found = {
        node.pk: node_state(node, statuses.get(node.pk), newest.get(node.pk), facts[node.pk], node.pk in evicting)
        for node in nodes
        # A seed that stands for a node of a cluster not yet met, or no longer there.
        if not (is_cluster and node.identity == address_text(node.host, node.port))
    }
    slots = {node.shard.number: node.shard.slots for node in nodes if node.shard and node.shard.slots}
    return CacheState(now.timestamp(), found, slots)


def facts_of(cache: Cache) -> dict[int, dict[str, str]]:
    found: dict[int, dict[str, str]] = defaultdict(dict)
    rows = NodeFact.objects.filter(node__cache=cache, name__in=FACTS, until=None)
    for node_id, name, value in rows.values_list("node_id", "name", "value"):
        found[node_id][name] = value
    return found


def node_state(
    node: Node, status: NodeStatus | None, newest: latest.NodeLatest | None, facts: dict[str, str], is_evicting: bool
) -> NodeState:
    config: dict[str, Any] = {name: facts[name] for name in CHANGED_FACTS if name in facts}
    config |= {name: value for name in LIMITS if (value := getattr(newest, name, None)) is not None}
    return NodeState(
        node.pk,
        node.address,
        node.shard.number if node.shard else None,
        node.role,
        seconds(status.answered_at if status else None),
        seconds(status.failing_since if status else None),
        status.failures if status else 0,
        english_of(status.failed_cause, status.failed_words) if status else "",
        facts.get("run_id", ""),
        getattr(newest, "uptime_in_seconds", None),
        version_of(facts),
        config,
        is_evicting,
        getattr(newest, "connected_clients", None),
        status.failed_cause if status else "",
        status.failed_words if status else "",
        facts.get("process_id", ""),
    )


def version_of(facts: dict[str, str]) -> str:
    return next((f"{engine} {facts[name]}" for name, engine in VERSION_FACTS.items() if facts.get(name)), "")


def seconds(moment: datetime | None) -> float | None:
    return moment.timestamp() if moment else None
