"""How far the replicas that are scanned are behind, told to their guards by what polls found."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from collectors import latest
from collectors.keyscan.node import NodeScan
from collectors.latest import NodeLatest

# An older poll says nothing about now.
FRESH = timedelta(seconds=60)


def tell_guards(cache_id: int, nodes: Iterable[NodeScan], now: datetime) -> None:
    """Tell the guard of each replica how many bytes it is behind; None where no fresh poll knows."""
    newest = latest.nodes([cache_id])
    for node in nodes:
        if node.target.is_replica:
            node.warden.watch.told_lag_bytes = lag_of(newest.get(node.target.node_id or 0), now)


def lag_of(seen: NodeLatest | None, now: datetime) -> float | None:
    if seen is None or seen.replication_lag_bytes is None or now - seen.at > FRESH:
        return None
    return float(seen.replication_lag_bytes)
