"""The newest of all numbers that are kept every few minutes only, by node."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings

from collectors.cursors import raw_cursor
from collectors.metrics.detail import DETAIL_NAMES

READ = """
    SELECT DISTINCT ON (node_id) node_id, at, numbers FROM detail
    WHERE node_id = ANY(%s::int[]) AND at > %s AND at <= %s ORDER BY node_id, at DESC
"""


@dataclass(frozen=True, slots=True)
class Details:
    """The details of one node at one moment; what it does not report is missing."""

    at: datetime
    numbers: dict[str, float]


def read(node_ids: Collection[int], now: datetime) -> dict[int, Details]:
    """Return the newest details by node id; those of nodes that sent none lately are missing."""
    oldest = now - timedelta(seconds=3 * settings.DETAIL_INTERVAL_SECONDS)
    with raw_cursor() as cursor:
        rows = cursor.execute(READ, [list(node_ids), oldest, now])
        return {node_id: Details(at, _named(numbers)) for node_id, at, numbers in rows}


def _named(numbers: list[float | None]) -> dict[str, float]:
    # Rows of an older version have fewer numbers.
    pairs = zip(DETAIL_NAMES, numbers, strict=False)
    return {name: number for name, number in pairs if number is not None}
