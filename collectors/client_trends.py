"""Groups of connections over time, from the readings that are kept: who grew, and since when."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import orjson

from collectors.cursors import raw_cursor

SPAN, POINTS = timedelta(hours=24), 48
# The newest reading of each node and step; groups are taken out of those rows alone.
READ = """
    SELECT chosen.node_id, chosen.bucket, reading.groups -> %(by)s FROM (
        SELECT DISTINCT ON (node_id, bucket) id, node_id, bucket FROM (
            SELECT id, node_id, read_at, date_bin(%(step)s, read_at, 'epoch') AS bucket
            FROM collectors_clientreading
            WHERE node_id = ANY(%(nodes)s::int[]) AND read_at >= %(start)s AND read_at < %(end)s AND failed_cause = ''
        ) AS placed ORDER BY node_id, bucket, read_at DESC
    ) AS chosen JOIN collectors_clientreading AS reading USING (id)
"""

Counts = dict[str | None, int]


@dataclass(frozen=True, slots=True)
class Trends:
    """Connections by group, summed over nodes. `values` has a list a label (None: the rest), oldest first.

    A point is None where no node was read. A node that was not read in one step counts as in the step before.
    """

    start: datetime
    step: timedelta
    values: Mapping[str | None, list[int | None]]

    def change(self, label: str | None) -> int | None:
        """Return by how much a group grew from the first point that is known to the last."""
        known = [value for value in self.values.get(label, ()) if value is not None]
        return known[-1] - known[0] if len(known) > 1 else None


def read(node_ids: Collection[int], by: str, now: datetime, span: timedelta = SPAN) -> Trends:
    """Return the groups of these nodes over the `span` until now, in POINTS steps."""
    step = span / POINTS
    end = datetime.fromtimestamp((now.timestamp() // step.total_seconds() + 1) * step.total_seconds(), UTC)
    start = end - span
    wanted = {"by": by, "step": step, "nodes": list(node_ids), "start": start, "end": end}
    found: dict[int, dict[int, Counts]] = defaultdict(dict)
    with raw_cursor() as cursor:
        for node_id, bucket, rows in cursor.execute(READ, wanted):
            found[node_id][(bucket - start) // step] = {row[0]: row[1] for row in orjson.loads(rows or b"[]")}
    return Trends(start, step, _added_up([_without_holes(points) for points in found.values()]))


def _without_holes(points: Mapping[int, Counts]) -> dict[int, Counts]:
    """Return a node's points, a missing one filled by the one before."""
    filled = {place: points[place - 1] for place in range(1, POINTS) if place not in points and place - 1 in points}
    return {**points, **filled}


def _added_up(nodes: Collection[Mapping[int, Counts]]) -> dict[str | None, list[int | None]]:
    places = {place for points in nodes for place in points}
    labels = {label for points in nodes for counts in points.values() for label in counts}
    blank: list[int | None] = [0 if place in places else None for place in range(POINTS)]
    sums = {label: list(blank) for label in labels}
    for points in nodes:
        for place, counts in points.items():
            for label, number in counts.items():
                sums[label][place] = (sums[label][place] or 0) + number
    return sums
