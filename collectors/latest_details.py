"""The newest of all numbers that are kept every few minutes only, by node."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings

from collectors.cursors import raw_cursor
from collectors.metrics.detail import DETAIL_NAMES

READ = """
    SELECT node_id, at, numbers FROM detail
    WHERE node_id = ANY(%s::int[]) AND at > %s AND at <= %s ORDER BY at
"""


@dataclass(frozen=True, slots=True)
class Details:
    """The newest details of one node, the last of them from `at`; what it does not report is missing."""

    at: datetime
    numbers: dict[str, float]


def read(node_ids: Collection[int], now: datetime) -> dict[int, Details]:
    """Return the newest details by node id; those of nodes that sent none lately are missing.

    A row may hold a part alone: commands that a node was first asked at different polls come in rows of their own.
    """
    oldest = now - timedelta(seconds=3 * settings.DETAIL_INTERVAL_SECONDS)
    with raw_cursor() as cursor:
        rows = cursor.execute(READ, [list(node_ids), oldest, now])
        found: dict[int, Details] = {}
        for node_id, at, numbers in rows:
            earlier = found[node_id].numbers if node_id in found else {}
            found[node_id] = Details(at, earlier | _named(numbers))
        return found


def _named(numbers: list[float | None]) -> dict[str, float]:
    # Rows of an older version have fewer numbers.
    pairs = zip(DETAIL_NAMES, numbers, strict=False)
    return {name: number for name, number in pairs if number is not None}
