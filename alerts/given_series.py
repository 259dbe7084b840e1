"""What rules read of series that a test gives, as collectors/windows.py reads it of samples; without a database."""

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from django.conf import settings

from alerts.measures import DOWN, is_counted
from collectors.metrics.catalogue import Kind
from collectors.metrics.lookup import DETAIL_POSITION, HOT_BY_NAME
from collectors.past_windows import seconds_until
from collectors.rates import RATE_GAP_SECONDS
from collectors.windows import Read, Reading

# promtool's own notation: 5, 5x3 (four times), 0+10x4 (from 0 by tens), _ and _x3 for no value.
UNSIGNED = r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
TOKEN = re.compile(
    rf"(?P<gap>_)(?:x(?P<gaps>\d{{1,6}}))?|(?P<start>-?{UNSIGNED})(?:(?P<step>[+-]{UNSIGNED})?x(?P<more>\d{{1,6}}))?"
)
LONGEST = 100_000


def expanded(text: str) -> list[float | None]:
    """Return the values of a series in promtool's notation. Raise ValueError for what is none, or too long."""
    values: list[float | None] = []
    for word in text.split():
        found = TOKEN.fullmatch(word)
        if found is None:
            raise ValueError(word)
        count = int(found["gaps"] or 1) if found["gap"] else int(found["more"] or 0) + 1
        if len(values) + count > LONGEST:
            raise ValueError(word)
        start, step = float(found["start"] or 0), float(found["step"] or 0)
        values += [None if found["gap"] else start + step * number for number in range(count)]
    return values


@dataclass(frozen=True, slots=True)
class Point:
    """A value of one answer of a node, None where the answer had none, and the seconds since the answer before."""

    at: int
    value: float | None
    span: float | None


@dataclass(frozen=True)
class NodeSeries:
    """All that one node said: values by metric, one each `every` seconds from 0 on."""

    every: int
    values: Mapping[str, Sequence[float | None]]
    # Means of the same hour a week ago, by metric.
    week_ago: Mapping[str, float] = field(default_factory=dict)

    @property
    def length(self) -> int:
        return max((len(one) for one in self.values.values()), default=0)

    def at(self, metric: str, tick: int) -> float | None:
        series, index = self.values.get(metric, ()), tick // self.every
        return series[index] if 0 <= index < len(series) else None

    @cached_property
    def answers(self) -> list[int]:
        """Return the ticks at which the node answered: it has any value then, and is not said to be down."""
        return [tick for tick in range(0, self.length * self.every, self.every) if self._answers(tick)]

    def _answers(self, tick: int) -> bool:
        is_said = any(self.at(name, tick) is not None for name in self.values)
        return is_said and not self.at(DOWN.name, tick)

    def answered_at(self, tick: int) -> int | None:
        """Return the tick of the last answer up to a tick; None before the first."""
        index = bisect_right(self.answers, tick)
        return self.answers[index - 1] if index else None

    def points(self, metric: str, start: int, end: int) -> list[Point]:
        """Return what was said of a metric after `start` and up to `end`; of a counter, its increase per second."""
        is_counter = metric in HOT_BY_NAME and HOT_BY_NAME[metric].kind is Kind.COUNTER
        found: list[Point] = []
        before: int | None = None
        first = bisect_left(self.answers, start - RATE_GAP_SECONDS)
        for at in self.answers[first : bisect_right(self.answers, end)]:
            value = self.at(metric, at)
            gap = None if before is None else at - before
            if is_counter:
                value = grown(None if before is None else self.at(metric, before), value, gap)
            if at > start:
                found.append(Point(at, value, None if gap is None else min(gap, RATE_GAP_SECONDS)))
            before = at
        return found

    def read(self, reading: Reading, tick: int) -> float | None:
        """Return a reading as it stands at a tick; None where there is nothing to read."""
        seconds = reading.seconds
        if reading.metric in DETAIL_POSITION:
            seconds = max(seconds, 2 * settings.DETAIL_INTERVAL_SECONDS)
        points = self.points(reading.metric, tick - seconds, tick)
        if is_counted(reading.metric):
            return mean([point.value for point in points if point.value is not None])
        value = READS[reading.how](points, reading.level)
        if reading.how is Read.DEVIATION:
            usual = self.week_ago.get(reading.metric)
            return value / usual if value is not None and usual else None
        return value


def grown(before: float | None, now: float | None, seconds: int | None) -> float | None:
    """Return how much a counter grew in a second; a fall means that it began again from zero."""
    if before is None or now is None or not seconds or seconds > RATE_GAP_SECONDS:
        return None
    return (now if now < before else now - before) / seconds


def values_of(points: Sequence[Point]) -> list[float]:
    return [point.value for point in points if point.value is not None]


def mean(values: Collection[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def last(points: Sequence[Point], level: float = 0) -> float | None:
    return points[-1].value if points else None


def increase(points: Sequence[Point], level: float = 0) -> float | None:
    parts = [p.value * p.span for p in points if p.value is not None and p.span is not None]
    return math.fsum(parts) if parts else None


def rate(points: Sequence[Point], level: float = 0) -> float | None:
    seconds = math.fsum(p.span for p in points if p.value is not None and p.span is not None)
    whole = increase(points)
    return whole / seconds if whole is not None and seconds else None


def forecast(points: Sequence[Point], level: float) -> float | None:
    known = [(float(point.at), point.value) for point in points if point.value is not None]
    return seconds_until(level, known, last(points))


READS = {
    Read.LAST: last,
    Read.AVG: lambda points, level: mean(values_of(points)),
    Read.DEVIATION: lambda points, level: mean(values_of(points)),
    Read.MIN: lambda points, level: min(values_of(points), default=None),
    Read.MAX: lambda points, level: max(values_of(points), default=None),
    Read.SUM: lambda points, level: math.fsum(values_of(points)) if values_of(points) else None,
    Read.RATE: rate,
    Read.INCREASE: increase,
    Read.SHARE: lambda points, level: mean([float(value > level) for value in values_of(points)]),
    Read.FORECAST: forecast,
}
