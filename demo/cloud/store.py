"""The points of all time series, as Cloud Monitoring keeps them."""

import threading
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from demo.cloud.filters import Filter

# Four hours at a point a minute.
KEPT_POINTS = 240

Value = float | int | bool


class Point(NamedTuple):
    """A value of the time from `start` to `end`, which are equal for a level."""

    start: float
    end: float
    value: Value


@dataclass(slots=True)
class Series:
    """The points of one combination of labels, oldest first."""

    type: str
    resource: str
    resource_labels: Mapping[str, str]
    metric_labels: Mapping[str, str]
    points: deque[Point] = field(default_factory=lambda: deque(maxlen=KEPT_POINTS))

    @property
    def project(self) -> str:
        return self.resource_labels.get("project_id") or self.resource_labels.get("resource_container", "")


class Points:
    """All series by metric type. `add` may be called from any thread."""

    def __init__(self) -> None:
        self.known: dict[str, dict[tuple[object, ...], Series]] = {}
        self.lock = threading.Lock()

    def add(
        self,
        type_: str,
        resource: str,
        resource_labels: Mapping[str, str],
        metric_labels: Mapping[str, str],
        *points: Point,
    ) -> None:
        """Add points, each later than those before, to the series of these labels."""
        key = (resource, *sorted(resource_labels.items()), *sorted(metric_labels.items()))
        with self.lock:
            of_type = self.known.setdefault(type_, {})
            if (series := of_type.get(key)) is None:
                series = of_type[key] = Series(type_, resource, dict(resource_labels), dict(metric_labels))
            series.points.extend(points)

    def forget(self, type_: str) -> None:
        """Drop a metric type, as when the service stops to report it."""
        with self.lock:
            self.known.pop(type_, None)

    def types(self) -> set[str]:
        with self.lock:
            return set(self.known)

    def matching(self, wanted: Filter, start: float, end: float) -> Iterator[tuple[Series, list[Point]]]:
        """Return the series that the filter wants with their points after `start` up to `end`; those with any."""
        with self.lock:
            found = [
                (series, [point for point in series.points if start < point.end <= end])
                for series in self.known.get(wanted.type, {}).values()
                if wanted.suits(series.resource, series.resource_labels, series.metric_labels)
            ]
        return ((series, points) for series, points in found if points)
