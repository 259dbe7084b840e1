"""The answers of the metric service."""

import secrets
from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import grpc
from google.api.metric_pb2 import MetricDescriptor
from google.cloud import monitoring_v3

from collectors.cloud.metric_types import MetricType
from demo.cloud import aggregation, filters
from demo.cloud.aggregation import Line, Wish
from demo.cloud.faults import RefusalError, quota_words
from demo.cloud.store import Point, Points, Value

MOST_POINTS = 100_000
MOST_DESCRIPTORS = 10_000
QUOTA_PER_MINUTE = 6_000
KEPT_PAGES = 200
HEADERS = monitoring_v3.ListTimeSeriesRequest.TimeSeriesView.HEADERS
FIELDS = {"BOOL": "bool_value", "INT64": "int64_value", "DOUBLE": "double_value"}
CASTS: Mapping[str, Callable[[Value], Value]] = {"BOOL": bool, "INT64": round, "DOUBLE": float}
NANOS = 1_000_000_000


class Quota:
    """The queries of each project in the minute that runs."""

    def __init__(self, per_minute: int = QUOTA_PER_MINUTE) -> None:
        self.per_minute = per_minute
        self.used: dict[str, tuple[int, int]] = {}

    def take(self, project: str, now: float) -> None:
        """Count one query. Raise RefusalError where the minute's are used up."""
        minute = int(now // 60)
        since, count = self.used.get(project, (minute, 0))
        count = count + 1 if since == minute else 1
        self.used[project] = minute, count
        if count > self.per_minute:
            raise RefusalError(grpc.StatusCode.RESOURCE_EXHAUSTED, quota_words(project))


class Rest:
    """What is left of an answer after a page; kept because the series go on growing."""

    def __init__(self) -> None:
        self.kept: OrderedDict[str, tuple[list[Line], str]] = OrderedDict()

    def put(self, lines: list[Line], unit: str) -> str:
        token = secrets.token_urlsafe(12)
        self.kept[token] = lines, unit
        if len(self.kept) > KEPT_PAGES:
            self.kept.popitem(last=False)
        return token

    def take(self, token: str) -> tuple[list[Line], str]:
        """Return the rest behind a token, any number of times. Raise RefusalError where there is none."""
        if token not in self.kept:
            raise filters.refusal("Field pageToken had an invalid value: the token is unknown or too old.")
        return self.kept[token]


class MetricAnswers:
    """Answers from the points that are known and old enough to be seen."""

    def __init__(self, points: Points, types: dict[str, MetricType], delay: float, clock: Callable[[], float]) -> None:
        self.points = points
        self.types = types
        self.delay = delay
        self.clock = clock
        self.quota = Quota()
        self.rest = Rest()
        # By scoping project, the projects whose series it answers with, too.
        self.scopes: dict[str, set[str]] = {}
        # Words of errors that make answers partial.
        self.execution_errors: list[str] = []

    def time_series(self, request: Any) -> Any:
        """Answer ListTimeSeries with a raw message: the wrappers would cost most of the time."""
        self.quota.take(request.name.removeprefix("projects/"), self.clock())
        if request.order_by:
            raise filters.refusal("Field orderBy is not supported.")
        lines, unit = self.rest.take(request.page_token) if request.page_token else self.found(request)
        is_bare = request.view == HEADERS
        page, left = split(lines, min(request.page_size or MOST_POINTS, MOST_POINTS), is_bare)
        answer = monitoring_v3.ListTimeSeriesResponse.pb()(unit=unit)
        for words in self.execution_errors:
            answer.execution_errors.add(code=grpc.StatusCode.DEADLINE_EXCEEDED.value[0], message=words)
        for line in page:
            write(answer.time_series.add(), line, is_bare)
        if left:
            answer.next_page_token = self.rest.put(left, unit)
        return answer

    def found(self, request: Any) -> tuple[list[Line], str]:
        wanted, wish = filters.parsed(request.filter), Wish.of(request.aggregation)
        if request.interval.end_time is None:
            raise filters.refusal("Field interval.endTime had an invalid value: it is required.")
        of = self.types.get(wanted.type)
        if of is None:
            return [], ""
        wish.check(of)
        end = seconds(request.interval.end_time)
        start = seconds(request.interval.start_time) if request.interval.start_time else end
        if start > end:
            raise filters.refusal("Field interval.startTime had an invalid value: it is after the end.")
        visible = min(end, self.clock() - self.delay)
        project = request.name.removeprefix("projects/")
        seen = {project, *self.scopes.get(project, ())}
        series = ((one, points) for one, points in self.points.matching(wanted, start, visible) if one.project in seen)
        return aggregation.lines(wish, of, series, end), wish.unit(of)

    def descriptors(self, request: Any) -> Any:
        """Answer ListMetricDescriptors for all types of which more than the name is known."""
        wanted = filters.parsed(request.filter)
        active = self.points.types()
        found = [
            of
            for of in self.types.values()
            if of.kind and wanted.suits_type(of.type) and (not request.active_only or of.type in active)
        ]
        first, size = int(request.page_token or 0), request.page_size or MOST_DESCRIPTORS
        return monitoring_v3.ListMetricDescriptorsResponse(
            metric_descriptors=[described(of, request.name) for of in found[first : first + size]],
            next_page_token=str(first + size) if first + size < len(found) else "",
        )


def seconds(time: datetime) -> float:
    return time.timestamp()


def split(lines: list[Line], size: int, is_bare: bool) -> tuple[list[Line], list[Line]]:
    """Return one page and what is left. A page has `size` points, so a series may end in the middle."""
    if is_bare:
        return lines[:size], lines[size:]
    page: list[Line] = []
    for place, line in enumerate(lines):
        if len(line.points) > size:
            if size:
                page.append(with_points(line, line.points[:size]))
            return page, [with_points(line, line.points[size:]), *lines[place + 1 :]]
        page.append(line)
        size -= len(line.points)
    return page, []


def with_points(line: Line, points: list[Point]) -> Line:
    return Line(line.type, line.resource, line.resource_labels, line.metric_labels, line.kind, line.value_type, points)


def write(series: Any, line: Line, is_bare: bool) -> None:
    """Fill a TimeSeries message."""
    series.metric.type, series.resource.type = line.type, line.resource
    series.metric.labels.update(line.metric_labels)
    series.resource.labels.update(line.resource_labels)
    series.metric_kind = MetricDescriptor.MetricKind.Value(line.kind)
    series.value_type = MetricDescriptor.ValueType.Value(line.value_type)
    field, cast = FIELDS[line.value_type], CASTS[line.value_type]
    for point in () if is_bare else line.points:
        message = series.points.add()
        stamp(message.interval.start_time, point.start)
        stamp(message.interval.end_time, point.end)
        setattr(message.value, field, cast(point.value))


def stamp(message: Any, time: float) -> None:
    message.seconds, message.nanos = divmod(round(time * NANOS), NANOS)


def described(of: MetricType, project: str) -> MetricDescriptor:
    return MetricDescriptor(
        name=f"{project}/metricDescriptors/{of.type}",
        type=of.type,
        labels=[{"key": label} for label in of.labels],
        metric_kind=str(of.kind),
        value_type=str(of.value_type),
        unit=of.unit,
        monitored_resource_types=[of.resource],
    )
