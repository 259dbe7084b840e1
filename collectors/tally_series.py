"""Series of the heaviest names: what charts of commands and errors draw."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from collectors.series import STEPS, RangeError
from collectors.tallies import BUCKETS, OTHER
from collectors.tally_queries import WHERE, Scope, percentile_usec, pieces, run, spacing, tier_for

POINTS = 240
LINES = 10
# A poll that is late may still be on its way for this long: a minute that lacks nodes would look like a dip.
LATE = timedelta(seconds=20)


@dataclass(slots=True)
class Point:
    """One name at one point. Rates are sums over nodes; `calls`, `usec` and `buckets` are plain sums."""

    calls_per_second: float = 0.0
    usec_per_second: float = 0.0
    rejected_per_second: float = 0.0
    failed_per_second: float = 0.0
    calls: int = 0
    usec: int = 0
    buckets: dict[int, int] = field(default_factory=dict)

    def add(self, other: "Point") -> None:
        self.calls_per_second += other.calls_per_second
        self.usec_per_second += other.usec_per_second
        self.rejected_per_second += other.rejected_per_second
        self.failed_per_second += other.failed_per_second
        self.calls += other.calls
        self.usec += other.usec

    def percentile_usec(self, share: float) -> float | None:
        return percentile_usec([self.buckets.get(bucket, 0) for bucket in range(BUCKETS)], share)


@dataclass(frozen=True, slots=True)
class Measure:
    """What a chart shows of a point, given how many nodes were measured; `weigh` ranks the names."""

    unit: str
    value: Callable[[Point, int], float | None]
    weigh: Callable[[Point], float]
    is_percentile: bool = False


def _by_calls(point: Point) -> float:
    return point.calls_per_second


def _by_time(point: Point) -> float:
    return point.usec_per_second


def _percentile(share: float) -> Measure:
    return Measure("usec", lambda point, nodes: point.percentile_usec(share), _by_calls, is_percentile=True)


MEASURES = {
    "calls": Measure("count/s", lambda point, nodes: point.calls_per_second, _by_calls),
    "time": Measure("share", lambda point, nodes: point.usec_per_second / 1e6 / nodes, _by_time),
    "usec": Measure("usec", lambda point, nodes: point.usec / point.calls if point.calls else None, _by_calls),
    "rejected": Measure(
        "count/s", lambda point, nodes: point.rejected_per_second, lambda point: point.rejected_per_second
    ),
    "failed": Measure("count/s", lambda point, nodes: point.failed_per_second, lambda point: point.failed_per_second),
    "p50": _percentile(0.5),
    "p99": _percentile(0.99),
    "p999": _percentile(0.999),
}


@dataclass(frozen=True, slots=True)
class NameLine:
    """The values of one name; None is a gap: nothing measured, or no call to give a latency."""

    name: str
    values: list[float | None]


@dataclass(frozen=True, slots=True)
class TallySeries:
    """A measure over time, `step` seconds apart from `start`. `nodes` counts those behind each point."""

    measure: str
    unit: str
    tier: str
    start: int
    step: int
    count: int
    nodes: list[int]
    lines: list[NameLine]


@dataclass(frozen=True, slots=True)
class Grid:
    """The points of a series: `count` of them, `step` seconds apart, from `start` (epoch seconds)."""

    start: int
    step: int
    count: int


def read(
    scope: Scope, measure: str, limit: int = LINES, step: int | None = None, now: datetime | None = None
) -> TallySeries:
    """Return the `limit` heaviest names, heaviest first, and but for percentiles the sum of the others as OTHER.

    Raise RangeError where the range is empty or `step` asks for more points than 2,000.
    """
    moment = now or datetime.now(UTC)
    tier = tier_for(scope.start, scope.end, len(scope.node_ids), moment)
    seconds = step_of(scope, tier.width, step)
    first = int(scope.start.timestamp()) // seconds * seconds
    scope = replace(scope, start=datetime.fromtimestamp(first, UTC), end=min(scope.end, _settled(seconds, moment)))
    count = max(-(-(int(scope.end.timestamp()) - first) // seconds), 0)
    chosen, grid = MEASURES[measure], Grid(first, seconds, count)
    found, nodes = _points(scope, moment, grid)
    names = _heaviest(found, chosen, limit)
    if chosen.is_percentile:
        _add_histograms(found, names, scope, moment, grid)
    elif rest := _rest(found, names):
        found[OTHER], names = rest, [*names, OTHER]
    lines = [NameLine(name, [_value(found[name], at, nodes, chosen) for at in range(count)]) for name in names]
    return TallySeries(measure, chosen.unit, tier.table.removeprefix("tally_"), first, seconds, count, nodes, lines)


def step_of(scope: Scope, width: timedelta, step: int | None) -> int:
    """Return the seconds between points: no finer than what is stored, else as asked for."""
    span = (scope.end - scope.start).total_seconds()
    if span <= 0:
        raise RangeError("The range ends before it begins: make `to` later than `from`.")
    if step and span / step > 2_000:
        raise RangeError(f"That is more than 2,000 points: use a step of {span / 2_000:.0f} s or more.")
    base = int(width.total_seconds())
    wanted = max(step or span / POINTS, base, spacing().total_seconds())
    return next((size for size in STEPS if size >= wanted and size % base == 0), -(-int(wanted) // base) * base)


def _settled(step: int, now: datetime) -> datetime:
    """Return the end of the newest point that all nodes had the time to report for."""
    if step > 2 * spacing().total_seconds():
        return now
    return datetime.fromtimestamp((now - LATE).timestamp() // step * step, UTC)


PART = (
    "WITH part AS (SELECT floor((extract(epoch FROM at) - %s) / %s)::int AS point, node_id, seconds, names, calls,"
    " usec, rejected, failed, hist_names, hist_buckets, hist_counts FROM {table} " + WHERE + "),"
    " spans AS (SELECT point, node_id, sum(seconds)::float8 AS seconds FROM part GROUP BY 1, 2)"
)
NODES = PART + " SELECT point, array_agg(node_id) FROM spans GROUP BY 1"
RATES = (
    PART + " SELECT point, tally_name.name, calls_rate, usec_rate, rejected_rate, failed_rate, calls, usec FROM ("
    " SELECT part.point, u.id, sum(u.calls / spans.seconds) AS calls_rate, sum(u.usec / spans.seconds) AS usec_rate,"
    " sum(u.rejected / spans.seconds) AS rejected_rate, sum(u.failed / spans.seconds) AS failed_rate,"
    " sum(u.calls)::bigint AS calls, sum(u.usec)::bigint AS usec"
    " FROM part JOIN spans USING (point, node_id),"
    " unnest(part.names, part.calls, part.usec, part.rejected, part.failed) AS u (id, calls, usec, rejected, failed)"
    " GROUP BY 1, 2) AS sums JOIN tally_name USING (id)"
)
HISTOGRAMS = (
    PART + " SELECT point, tally_name.name, bucket, counted FROM (SELECT point, h.id, h.bucket,"
    " sum(h.counted)::bigint AS counted FROM part, unnest(hist_names, hist_buckets, hist_counts)"
    " AS h (id, bucket, counted) WHERE h.id = ANY(ARRAY(SELECT id FROM tally_name WHERE kind = %s AND name = ANY(%s)))"
    " GROUP BY 1, 2, 3) AS sums JOIN tally_name USING (id)"
)
Points = dict[int, Point]


def _points(scope: Scope, now: datetime, grid: Grid) -> tuple[dict[str, Points], list[int]]:
    """Return the points by name, and how many nodes were measured at each."""
    found: dict[str, Points] = defaultdict(lambda: defaultdict(Point))
    nodes: list[set[int]] = [set() for _ in range(grid.count)]
    for tier, start, end in pieces(scope, now) if grid.count else ():
        arguments = [grid.start, grid.step, *scope.arguments, start, end]
        for point, node_ids in run(NODES.format(table=tier.table), arguments):
            nodes[point].update(node_ids)
        for point, name, *rates in run(RATES.format(table=tier.table), arguments):
            found[name][point].add(Point(*rates))
    return found, [len(measured) for measured in nodes]


def _add_histograms(found: dict[str, Points], names: Sequence[str], scope: Scope, now: datetime, grid: Grid) -> None:
    for tier, start, end in pieces(scope, now) if grid.count else ():
        arguments = [grid.start, grid.step, *scope.arguments, start, end, scope.kind, list(names)]
        for point, name, bucket, counted in run(HISTOGRAMS.format(table=tier.table), arguments):
            buckets = found[name][point].buckets
            buckets[bucket] = buckets.get(bucket, 0) + counted


def _heaviest(found: dict[str, Points], measure: Measure, limit: int) -> list[str]:
    weights = {name: sum(map(measure.weigh, points.values())) for name, points in found.items() if name != OTHER}
    return sorted((name for name in weights if weights[name]), key=lambda name: -weights[name])[:limit]


def _rest(found: dict[str, Points], names: Sequence[str]) -> Points:
    """Return the sum of all but the named ones."""
    rest: Points = defaultdict(Point)
    for name in found.keys() - set(names):
        for index, point in found[name].items():
            rest[index].add(point)
    return rest


def _value(points: Points, at: int, nodes: Sequence[int], measure: Measure) -> float | None:
    if not nodes[at]:
        return None
    return measure.value(points.get(at) or Point(), nodes[at])
