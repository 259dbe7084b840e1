"""How much of a node's time scans may take in a day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, time
from typing import Any

from django.conf import settings
from django.db.models import Sum

from collectors.keyscan.models import Scan, ScanShard


@dataclass(frozen=True, slots=True)
class Spent:
    """A node whose budget of the day is gone; the limit is in seconds."""

    address: str
    limit: int

    def as_data(self) -> dict[str, Any]:
        return asdict(self)


def spent(scan: Scan, shards: Sequence[ScanShard]) -> Spent | None:
    """Return the first node of a scan that gave scans all of its time for today; None where the scan may go on."""
    limit = settings.SCAN_BUDGET_SECONDS
    if not limit or scan.asked.ignores_budget:
        return None
    used = used_today([shard.node_id for shard in shards if shard.node_id], but=scan)
    for shard in shards:
        if used.get(shard.node_id or 0, 0.0) + shard.busy_seconds >= limit:
            return Spent(shard.address, limit)
    return None


def used_today(node_ids: Sequence[int], but: Scan | None = None) -> dict[int, float]:
    """Return the seconds of each node's time that scans which began today (UTC) took."""
    today = datetime.combine(datetime.now(UTC).date(), time(), UTC)
    found = ScanShard.objects.filter(node__in=node_ids, scan__created_at__gte=today)
    if but:
        found = found.exclude(scan=but)
    return dict(found.order_by().values_list("node").annotate(Sum("busy_seconds")))
