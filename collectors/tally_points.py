"""Counts by name of each node at the points of a grid, from the tier that holds so long a time."""

from collections.abc import Iterator, Sequence

from collectors.past_windows import Grid
from collectors.tally_queries import Measured, Summary, Totals, run

# Ten minutes are kept for a month; the coarser ones for longer.
TABLES = ((7_200, "tally_2h"), (600, "tally_10m"))
COUNTS = (
    "SELECT node_id, floor((extract(epoch FROM at) - %s) / %s)::int, sum(u.calls)::bigint, sum(u.usec)::bigint,"
    " sum(u.rejected)::bigint, sum(u.failed)::bigint FROM {table}"
    " CROSS JOIN LATERAL unnest(names, calls, usec, rejected, failed) AS u (id, calls, usec, rejected, failed)"
    " WHERE node_id = ANY(%s::int[]) AND kind = %s AND at >= to_timestamp(%s) AND at < to_timestamp(%s)"
    " AND u.id = (SELECT id FROM tally_name WHERE kind = %s AND name = %s) GROUP BY 1, 2"
)
SECONDS = (
    "SELECT node_id, floor((extract(epoch FROM at) - %s) / %s)::int, sum(seconds)::float8 FROM {table}"
    " WHERE node_id = ANY(%s::int[]) AND kind = %s AND at >= to_timestamp(%s) AND at < to_timestamp(%s) GROUP BY 1, 2"
)


def by_node(node_ids: Sequence[int], kind: str, name: str, grid: Grid) -> Iterator[tuple[int, int, Summary]]:
    """Yield node id, point, and what the name did then, where the node was measured. Latencies are not among it."""
    table = next(table for width, table in TABLES if grid.step % width == 0)
    asked: list[object] = [grid.start, grid.step, list(node_ids), kind, grid.start, grid.end]
    counts = {(node, point): sums for node, point, *sums in run(COUNTS.format(table=table), [*asked, kind, name])}
    for node, point, seconds in run(SECONDS.format(table=table), asked):
        totals = Totals(name)
        totals.add(*counts.get((node, point), (0, 0, 0, 0)))
        yield node, point, Summary([totals], Measured(seconds, seconds, {node}))
