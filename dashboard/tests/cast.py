"""The small cast of page tests: caches that are known without a poll, and hot values by name."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from collectors.latest import CacheLatest, NodeLatest
from collectors.models import NodeStatus
from dashboard.watched import Watched, WatchedNode
from fleet.models import Cache, Node, Shard, Topology

NOW = timezone.now()
LONG_AGO = NOW - timedelta(days=3)


def summary(**given: Any) -> CacheLatest:
    counts: dict[str, Any] = {
        "cache_id": 1,
        "at": NOW,
        "nodes": 2,
        "answering": 2,
        "primaries": 1,
        "replicas": 1,
        "links_down": 0,
    }
    values: dict[str, Any] = {field.name: None for field in fields(CacheLatest)} | counts | given
    return CacheLatest(**values)


def member(number: int = 1, role: str = "primary", facts: dict[str, str] | None = None, **values: Any) -> WatchedNode:
    """Return a node of the shard `number`; values are those of its newest sample, none given means silent."""
    shard = Shard(pk=number, number=number)
    node = Node(
        pk=number * 10 + (role != "primary"), shard=shard, host="10.0.0.1", port=6379, role=role, joined_at=LONG_AGO
    )
    row: list[Any] = [None] * len(NodeLatest.NAMES)
    for name, value in ({"at": NOW} | values).items():
        row[NodeLatest.POSITION[name]] = value
    return WatchedNode(node, NodeLatest(row), None, facts or {}, in_many_shards=True)


def failing(node: WatchedNode, since: datetime) -> WatchedNode:
    status = NodeStatus(node=node.node, failing_since=since, failed_step="connect", failed_cause="other")
    status.failed_words = "connection refused"
    return WatchedNode(node.node, node.latest, status, node.facts, node.in_many_shards)


def watched(*nodes: WatchedNode, latest: CacheLatest | None = None, **cache: Any) -> Watched:
    given = {"name": "game-cache", "topology": Topology.CLUSTER, "created_at": LONG_AGO} | cache
    return Watched(Cache(**given), NOW, latest or summary(), nodes)
