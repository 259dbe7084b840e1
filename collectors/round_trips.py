"""How long nodes took to answer our polls, from every answer of a range: no mean of means, no percentile of those."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from collectors.cursors import raw_cursor

READ = """
    SELECT node_id, count(round_trip_seconds), min(round_trip_seconds)::float8, avg(round_trip_seconds)::float8,
        percentile_disc(0.99) WITHIN GROUP (ORDER BY round_trip_seconds)::float8, max(round_trip_seconds)::float8
    FROM sample WHERE node_id = ANY(%s::int[]) AND at >= %s AND at < %s
    GROUP BY node_id HAVING count(round_trip_seconds) > 0
"""


@dataclass(frozen=True, slots=True)
class RoundTrips:
    """The answers of one node, in seconds. `p99` is the time that 99 of 100 answers did not exceed."""

    answers: int
    least: float
    mean: float
    p99: float
    most: float


def read(node_ids: Collection[int], start: datetime, end: datetime) -> dict[int, RoundTrips]:
    """Return the round trips by node id; a node that did not answer in this time is missing."""
    with raw_cursor() as cursor:
        rows = cursor.execute(READ, [list(node_ids), start, end])
        return {row[0]: RoundTrips(*row[1:]) for row in rows}
