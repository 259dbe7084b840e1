"""The newest of what nodes tell every few minutes only: logical databases, and the time on their clocks."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection

from collectors.metrics.lookup import DETAIL_POSITION

# Postgres counts array elements from 1.
CLOCK, DATABASES = DETAIL_POSITION["server_time_usec"] + 1, DETAIL_POSITION["databases"] + 1
# A detail and the row of the same poll say when the answer came; the server wrote it half a round trip before.
NEWEST = """
    SELECT DISTINCT ON (d.node_id) d.node_id, d.numbers[%(databases)s],
        d.numbers[%(clock)s] / 1e6 - date_part('epoch', s.at) - s.read_after_ms / 1e3
            + COALESCE(s.round_trip_seconds, 0) / 2
    FROM detail d LEFT JOIN sample s ON s.node_id = d.node_id AND s.at = d.at
    WHERE d.node_id = ANY(%(nodes)s::int[]) AND d.at > %(oldest)s AND d.at <= %(now)s
    ORDER BY d.node_id, d.at DESC
"""


@dataclass(frozen=True, slots=True)
class Detail:
    """Databases that hold keys, and seconds by which the node's clock is ahead of ours; None is not reported."""

    databases: float | None
    ahead: float | None


def newest(node_ids: Sequence[int], now: datetime) -> dict[int, Detail]:
    """Return what the last details of each node say; those that sent none lately are missing."""
    oldest = now - timedelta(seconds=3 * settings.DETAIL_INTERVAL_SECONDS)
    wanted: dict[str, Any] = {
        "nodes": list(node_ids),
        "oldest": oldest,
        "now": now,
        "databases": DATABASES,
        "clock": CLOCK,
    }
    with connection.cursor() as cursor:
        cursor.execute(NEWEST, wanted)
        return {node_id: Detail(databases, ahead) for node_id, databases, ahead in cursor.fetchall()}
