"""A picture of what an incident is about: the metric around the time, against its bound. Drawn on the server.

Pages show its line as a path, mails as an image (alerts/chart_image.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from alerts import story
from alerts.alert import Alert
from alerts.figures import figure
from alerts.measures import DOWN, is_counted, is_whole, measure
from alerts.models import Incident
from alerts.spec_form import SpecError
from collectors.cloud.series import of_place, read_all
from collectors.metrics.lookup import UnknownMetricError
from collectors.windows import Read

BEFORE, AFTER, LONGEST = timedelta(minutes=30), timedelta(minutes=10), timedelta(days=7)
WIDTH, HEIGHT, MARGIN = 720, 160, 8
# Readings whose bound is an amount of the metric itself.
SAME_UNIT = frozenset({Read.LAST, Read.AVG, Read.MIN, Read.MAX})


@dataclass(frozen=True, slots=True)
class Picture:
    """One line with its bound; heights are those of the drawing, None where there is no bound to draw."""

    title: str
    about: str
    # From above; None where nothing was measured.
    heights: tuple[float | None, ...]
    bound_y: float | None
    bound: str
    highest: str
    lowest: str
    start: datetime
    end: datetime
    # Where on the line the incident began, and ended.
    opened_x: float
    closed_x: float | None

    width, height = WIDTH, HEIGHT

    @property
    def path(self) -> str:
        return path(self.heights)


def of(incident: Incident, alerts: Sequence[Alert], now: datetime) -> Picture | None:
    """Return the picture of the first alert that has a metric to draw; None where none has."""
    start = max(min([incident.opened_at, *(alert.began_at for alert in alerts)]), incident.opened_at - LONGEST) - BEFORE
    end = min((incident.closed_at or now) + AFTER, now, start + LONGEST)
    for alert in alerts[:5]:
        if alert.cache and (found := _picture(incident, alert, start, end)):
            return found
    return None


def _picture(incident: Incident, alert: Alert, start: datetime, end: datetime) -> Picture | None:
    try:
        reading = alert.rule.spec.terms[alert.rule.spec.leading()].reading if alert.rule else None
        if reading is None or reading.metric == DOWN.name or is_counted(reading.metric) or is_whole(reading.metric):
            return None
        metric = measure(reading.metric)
    except (SpecError, UnknownMetricError):
        return None
    values = _values(alert, metric.name, start, end)
    if not any(value is not None for value in values):
        return None
    bound = alert.bound if reading.how in SAME_UNIT else None
    return _drawn(incident, alert, values, bound, metric.unit, start, end)


def _values(alert: Alert, metric: str, start: datetime, end: datetime) -> list[float | None]:
    assert alert.cache
    if alert.target.startswith("p"):
        return of_place(int(alert.target[1:]), metric, start, end)
    (found,) = read_all(alert.cache, [metric], start, end, by="node" if alert.node_id else "cache")
    if alert.node_id:
        return next((line.mean for line in found.lines if line.node_id == alert.node_id), [])
    return next((line.mean for line in found.lines if line.label == "max"), [])


def _drawn(
    incident: Incident,
    alert: Alert,
    values: Sequence[float | None],
    bound: float | None,
    unit: str,
    start: datetime,
    end: datetime,
) -> Picture:
    known = [value for value in values if value is not None]
    low, high = min([*known, *([bound] if bound is not None else [])]), max([*known, bound or known[0]])
    span = (high - low) or abs(high) or 1.0

    def y(value: float) -> float:
        return round(HEIGHT - MARGIN - (value - low) / span * (HEIGHT - 2 * MARGIN), 1)

    def x(at: datetime) -> float:
        return round(min(max((at - start) / (end - start), 0.0), 1.0) * WIDTH, 1)

    return Picture(
        title=story.rule_title(alert),
        about=story.place(alert) or alert.cache_name,
        heights=tuple(None if value is None else y(value) for value in values),
        bound_y=None if bound is None else y(bound),
        bound="" if bound is None else figure(bound, unit),
        highest=figure(high, unit),
        lowest=figure(low, unit),
        start=start,
        end=end,
        opened_x=x(incident.opened_at),
        closed_x=x(incident.closed_at) if incident.closed_at else None,
    )


def path(heights: Sequence[float | None]) -> str:
    """Return the line with a gap for each None; a lone point is a dot."""
    step, parts, is_open = WIDTH / max(len(heights) - 1, 1), [], False
    for position, height in enumerate(heights):
        if height is not None:
            parts.append(f"{'L' if is_open else 'M'}{position * step:.1f} {height}{'' if is_open else 'h0'}")
        is_open = height is not None
    return "".join(parts)
