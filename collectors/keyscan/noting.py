"""Writing down how far each node of a running scan is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils import timezone

from collectors.keyscan import summary
from collectors.keyscan.models import ScanShard
from collectors.keyscan.names import shown
from collectors.keyscan.node import NodeScan
from collectors.keyscan.progress import NodeProgress

NAME_SHOWN = 200
TYPES_SHOWN = 8
NUMBERS = (
    "keys_per_second",
    "commands_per_second",
    "busy_ratio",
    "cpu_ratio",
    "round_trip_seconds",
    "baseline_seconds",
    "seconds_left",
    "ease",
    "db",
    "is_blind",
)
WRITTEN = (
    "keys",
    "total",
    "bytes",
    "state",
    "reconnects",
    "restarts",
    "failed_step",
    "failed_cause",
    "failed_words",
    "progress",
    "busy_seconds",
)


def note_progress(shard: ScanShard, node: NodeScan, seen: NodeProgress, biggest: list[list[Any]]) -> None:
    shard.keys, shard.total, shard.bytes = seen.keys, seen.total, seen.bytes
    shard.state, shard.reconnects, shard.restarts = str(node.shown_state), seen.reconnects, seen.restarts
    failure = node.failure
    shard.failed_step = str(failure.step) if failure else ""
    shard.failed_cause = str(failure.cause) if failure else ""
    shard.failed_words = failure.words if failure else ""
    numbers = {name: getattr(seen, name) for name in NUMBERS}
    shard.progress = {**numbers, "hold": hold_json(seen), "biggest": biggest}


def hold_json(seen: NodeProgress) -> Mapping[str, Any] | None:
    hold = seen.hold
    return {"cause": str(hold.cause), "value": hold.value, "limit": hold.limit} if hold else None


def write_shard(shard: ScanShard, data: bytes | None) -> None:
    """Write the progress of a shard, and its newest checkpoint where there is one."""
    values = {name: getattr(shard, name) for name in WRITTEN}
    if data is not None:
        values |= {"checkpoint": data, "checkpoint_at": timezone.now()}
    ScanShard.objects.filter(pk=shard.pk, is_active=True).update(**values, progress_at=timezone.now())


def biggest_of(node: NodeScan) -> list[list[Any]]:
    """Return type, name and size of the largest keys so far, one a type."""
    current = node.current
    if current is None:
        return []
    rows = summary.biggest_by_type(current.aggregate)[:TYPES_SHOWN]
    return [[summary.kind_text(kind), shown(name[:NAME_SHOWN]), size] for kind, name, size in rows]
