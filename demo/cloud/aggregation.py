"""How Cloud Monitoring makes one number of many: points of a period first, then series of a group."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import grpc
from google.cloud.monitoring_v3 import Aggregation

from collectors.cloud.metric_types import MetricType
from demo.cloud.faults import RefusalError
from demo.cloud.filters import plain, refusal
from demo.cloud.store import Point, Series, Value

NUMERIC = frozenset({"INT64", "DOUBLE"})
BOOLEAN = frozenset({"BOOL"})
LEAST_PERIOD_SECONDS = 60


@dataclass(frozen=True)
class Aligner:
    """One aligner: which metrics it is valid for, what it makes of a period's points, and of which type that is."""

    kinds: frozenset[str]
    value_types: frozenset[str]
    fold: Callable[[Sequence[Point]], Value]
    # "" keeps what the metric has.
    kind: str = ""
    value_type: str = ""
    unit: str = "{}"
    fills_gaps: bool = False


def per_second(points: Sequence[Point]) -> float:
    return sum(point.value for point in points) / sum(point.end - point.start for point in points)


def total(points: Sequence[Point]) -> Value:
    return sum(point.value for point in points)


def mean(points: Sequence[Point]) -> float:
    return total(points) / len(points)


def highest(points: Sequence[Point]) -> Value:
    return max(point.value for point in points)


def lowest(points: Sequence[Point]) -> Value:
    return min(point.value for point in points)


def newest(points: Sequence[Point]) -> Value:
    return points[-1].value


BOTH, GAUGE, DELTA = frozenset({"GAUGE", "DELTA"}), frozenset({"GAUGE"}), frozenset({"DELTA"})
ALIGNERS = {
    "ALIGN_DELTA": Aligner(DELTA, NUMERIC, total, "DELTA", fills_gaps=True),
    "ALIGN_RATE": Aligner(DELTA, NUMERIC, per_second, "GAUGE", "DOUBLE", "{}/s", fills_gaps=True),
    "ALIGN_NEXT_OLDER": Aligner(GAUGE, NUMERIC | BOOLEAN, newest, "GAUGE"),
    "ALIGN_MIN": Aligner(BOTH, NUMERIC, lowest),
    "ALIGN_MAX": Aligner(BOTH, NUMERIC, highest),
    "ALIGN_MEAN": Aligner(BOTH, NUMERIC, mean, value_type="DOUBLE"),
    "ALIGN_SUM": Aligner(BOTH, NUMERIC, total),
    "ALIGN_FRACTION_TRUE": Aligner(GAUGE, BOOLEAN, mean, "GAUGE", "DOUBLE", "10^2.%"),
}
REDUCERS: dict[str, Callable[[Sequence[Value]], Value]] = {
    "REDUCE_MEAN": lambda values: sum(values) / len(values),
    "REDUCE_MIN": min,
    "REDUCE_MAX": max,
    "REDUCE_SUM": sum,
}


@dataclass(frozen=True)
class Line:
    """One series as it is answered, its points newest first."""

    type: str
    resource: str
    resource_labels: dict[str, str]
    metric_labels: dict[str, str]
    kind: str
    value_type: str
    points: list[Point]


@dataclass(frozen=True)
class Wish:
    """The aggregation that a request asks for, checked."""

    aligner: Aligner | None
    aligner_name: str
    reducer: Callable[[Sequence[Value]], Value] | None
    reducer_name: str
    period: float
    group_by: tuple[str, ...]

    @classmethod
    def of(cls, asked: Aggregation) -> "Wish":
        """Read an aggregation. Raise RefusalError where the service would refuse it."""
        aligner, reducer = name_of(asked.per_series_aligner), name_of(asked.cross_series_reducer)
        for name, known in ((aligner, ALIGNERS), (reducer, REDUCERS)):
            if not name.endswith("_NONE") and name not in known:
                raise RefusalError(grpc.StatusCode.UNIMPLEMENTED, f"The emulator does not know {name}.")
        period = asked.alignment_period.total_seconds() if asked.alignment_period else 0.0
        if aligner != "ALIGN_NONE" and period < LEAST_PERIOD_SECONDS:
            raise refusal("Field aggregation.alignmentPeriod had an invalid value: it must be at least 60 seconds.")
        if aligner == "ALIGN_NONE" and reducer != "REDUCE_NONE":
            raise refusal("The cross-series reducer cannot be applied to series that are not aligned.")
        fields = tuple(plain(field) for field in asked.group_by_fields)
        return cls(ALIGNERS.get(aligner), aligner, REDUCERS.get(reducer), reducer, period, fields)

    def check(self, of: MetricType) -> None:
        """Raise RefusalError where the aligner does not suit the metric."""
        aligner = self.aligner
        if aligner and not (of.kind in aligner.kinds and of.value_type in aligner.value_types):
            raise refusal(
                f"The aligner cannot be applied to metrics with kind {of.kind} and value type {of.value_type}: "
                f"{self.aligner_name} on {of.type}."
            )

    def types(self, of: MetricType) -> tuple[str, str]:
        """Return the kind and the value type of the answer."""
        kind, value_type = str(of.kind), str(of.value_type)
        if self.aligner:
            kind, value_type = self.aligner.kind or kind, self.aligner.value_type or value_type
        return kind, "DOUBLE" if self.reducer_name == "REDUCE_MEAN" else value_type

    def unit(self, of: MetricType) -> str:
        return self.aligner.unit.format(of.unit) if self.aligner else str(of.unit)


def name_of(number: Any) -> str:
    return str(getattr(number, "name", number))


def lines(wish: Wish, of: MetricType, found: Iterable[tuple[Series, list[Point]]], end: float) -> list[Line]:
    """Return what is answered for these series, in a stable order."""
    aligned = [(series, aligned_points(wish, points, end)) for series, points in found]
    kind, value_type = wish.types(of)
    if wish.reducer is None:
        made = [
            Line(of.type, one.resource, dict(one.resource_labels), dict(one.metric_labels), kind, value_type, points)
            for one, points in aligned
        ]
    else:
        made = reduced(wish, of, aligned, kind, value_type)
    for line in made:
        line.points.sort(key=lambda point: point.end, reverse=True)
    return sorted(made, key=lambda line: (sorted(line.resource_labels.items()), sorted(line.metric_labels.items())))


def aligned_points(wish: Wish, points: list[Point], end: float) -> list[Point]:
    """Return one point a period. Periods are counted back from the end of the interval."""
    if wish.aligner is None:
        return points
    buckets: dict[int, list[Point]] = defaultdict(list)
    for point in points:
        buckets[math.floor((end - point.end) / wish.period)].append(point)
    values = {back: wish.aligner.fold(inside) for back, inside in buckets.items()}
    if wish.aligner.fills_gaps:
        values = without_gaps(values)
    is_span = wish.aligner.kind == "DELTA"
    ends = {back: end - back * wish.period for back in values}
    return [Point(ends[back] - wish.period * is_span, ends[back], value) for back, value in values.items()]


def without_gaps(values: dict[int, Value]) -> dict[int, Value]:
    """Return the values with those between two others drawn as a straight line."""
    filled = dict(values)
    known = sorted(values)
    for left, right in pairwise(known):
        slope = (values[right] - values[left]) / (right - left)
        filled.update({back: values[left] + slope * (back - left) for back in range(left + 1, right)})
    return filled


def reduced(
    wish: Wish, of: MetricType, aligned: list[tuple[Series, list[Point]]], kind: str, value_type: str
) -> list[Line]:
    """Return one line for each combination of the labels to group by; the other labels vanish."""
    assert wish.reducer is not None
    groups: dict[tuple[Any, ...], list[list[Point]]] = defaultdict(list)
    for series, points in aligned:
        groups[series.resource, kept(series, wish.group_by)].append(points)
    made = []
    for (resource, labels), members in groups.items():
        by_time: dict[tuple[float, float], list[Value]] = defaultdict(list)
        for points in members:
            for point in points:
                by_time[point.start, point.end].append(point.value)
        folded = [Point(start, end, wish.reducer(values)) for (start, end), values in by_time.items()]
        made.append(Line(of.type, resource, dict(labels[0]), dict(labels[1]), kind, value_type, folded))
    return made


def kept(series: Series, group_by: tuple[str, ...]) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
    """Return the resource's and the metric's labels that stay."""

    def those(prefix: str, labels: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        return tuple((name, value) for name, value in labels if f"{prefix}.labels.{name}" in group_by)

    return those("resource", series.resource_labels.items()), those("metric", series.metric_labels.items())
