"""The newest of what nodes tell every few minutes only: logical databases, clocks, append-only files."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection

from collectors.metrics.lookup import DETAIL_POSITION

# Postgres counts array elements from 1.
CLOCK, DATABASES = DETAIL_POSITION["server_time_usec"] + 1, DETAIL_POSITION["databases"] + 1
ENABLED, WRITTEN, REWRITTEN = (
    DETAIL_POSITION[name] + 1 for name in ("aof_enabled", "aof_last_write_status", "aof_last_bgrewrite_status")
)
# A detail and the row of the same poll say when the answer came; the server wrote it half a round trip before.
NEWEST = """
    SELECT DISTINCT ON (d.node_id) d.node_id, d.numbers[%(databases)s],
        d.numbers[%(clock)s] / 1e6 - date_part('epoch', s.at) - s.read_after_ms / 1e3
            + COALESCE(s.round_trip_seconds, 0) / 2,
        d.numbers[%(enabled)s] = 1 AND d.numbers[%(written)s] = 0,
        d.numbers[%(enabled)s] = 1 AND d.numbers[%(rewritten)s] = 0
    FROM detail d LEFT JOIN sample s ON s.node_id = d.node_id AND s.at = d.at
    WHERE d.node_id = ANY(%(nodes)s::int[]) AND d.at > %(oldest)s AND d.at <= %(now)s
    ORDER BY d.node_id, d.at DESC
"""


@dataclass(frozen=True, slots=True)
class Detail:
    """Databases that hold keys, seconds by which the node's clock is ahead of ours, and whether the last write to its
    append-only file or the last rewrite of it failed; None is not reported."""

    databases: float | None
    ahead: float | None
    append_failed: bool | None = None
    rewrite_failed: bool | None = None


def newest(node_ids: Sequence[int], now: datetime) -> dict[int, Detail]:
    """Return what the last details of each node say; those that sent none lately are missing."""
    oldest = now - timedelta(seconds=3 * settings.DETAIL_INTERVAL_SECONDS)
    wanted: dict[str, Any] = {
        "nodes": list(node_ids),
        "oldest": oldest,
        "now": now,
        "databases": DATABASES,
        "clock": CLOCK,
        "enabled": ENABLED,
        "written": WRITTEN,
        "rewritten": REWRITTEN,
    }
    with connection.cursor() as cursor:
        cursor.execute(NEWEST, wanted)
        return {node_id: Detail(*told) for node_id, *told in cursor.fetchall()}
