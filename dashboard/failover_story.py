"""A failover as a story: who was primary and who is, for how long slots had none, what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from collectors import series
from collectors.event import Event
from collectors.series import Series
from dashboard.event_words import moment

# What is compared with the failover itself.
MARGIN = timedelta(minutes=5)
COMMANDS, ERRORS = "commands_per_second", "error_replies_per_second"
STATE, SLOTS, RESYNCS = "cluster_state_ok", "cluster_slots_ok", "sync_full"


@dataclass(frozen=True, slots=True)
class Rates:
    """Commands and error replies per second of the whole cache; None is not known."""

    commands: float | None
    errors: float | None


@dataclass(frozen=True, slots=True)
class Story:
    """What the samples around a failover tell. Times in seconds; None is not known."""

    before: Sequence[dict[str, Any]]
    after: Sequence[dict[str, Any]]
    began_at: datetime
    ended_at: datetime
    # For how long nodes said that slots were not served; 0 where no sample did.
    unserved_seconds: float | None
    # From the old primary's last answer to the first poll that saw the new one: it was no longer than this.
    at_most_seconds: float | None
    interval_seconds: int
    rates: tuple[tuple[str, Rates], ...]
    full_resyncs: int | None


def tell(event: Event, now: datetime) -> Story:
    """Return the story of a failover; it grows until some minutes after it."""
    assert event.cache
    data = event.data
    last_answer = moment(data.get("old_answered_at"))
    began = min(event.at, last_answer) if last_answer else event.at
    # The poll that saw the new primary stands for the interval before it.
    interval = event.cache.poll_interval_seconds
    ended = event.last_at
    found = {
        one.metric: one
        for one in series.read(
            event.cache, [COMMANDS, ERRORS, STATE, SLOTS], began - MARGIN, min(ended + MARGIN, now), by="cache"
        )
    }
    during = (began, ended + timedelta(seconds=interval))
    return Story(
        data["before"],
        data["after"],
        began,
        ended,
        unserved_seconds(found[STATE], found[SLOTS]),
        (ended - last_answer).total_seconds() if last_answer else None,
        interval,
        (
            ("before", rates(found, (began - MARGIN, began))),
            ("during", rates(found, during)),
            ("after", rates(found, (during[1], during[1] + MARGIN))),
        ),
        full_resyncs(event, began - MARGIN, min(ended + MARGIN, now)),
    )


def line_of(one: Series, label: str) -> list[float | None]:
    return next((line.mean for line in one.lines if line.label == label), [])


def unserved_seconds(state: Series, slots: Series) -> float | None:
    """Return for how long some node called the cluster failed, or missed slots that it had at other times."""
    points = list(zip(line_of(state, "min"), line_of(slots, "min"), strict=False))
    if all(ok is None and count is None for ok, count in points):
        return None
    usual = max((count for _ok, count in points if count is not None), default=0)
    bad = [(ok is not None and ok < 1) or (count is not None and count < usual) for ok, count in points]
    return float(sum(bad) * state.step)


def rates(found: dict[str, Series], span: tuple[datetime, datetime]) -> Rates:
    return Rates(mean(found[COMMANDS], span), mean(found[ERRORS], span))


def mean(one: Series, span: tuple[datetime, datetime]) -> float | None:
    """Return the mean of the whole cache's sum over a time, None without samples."""
    start, end = (at.timestamp() for at in span)
    values = [
        value
        for at, value in zip(one.times, line_of(one, "sum"), strict=False)
        if value is not None and start <= at < end
    ]
    return sum(values) / len(values) if values else None


def full_resyncs(event: Event, start: datetime, end: datetime) -> int | None:
    """Return how many full resyncs the nodes of the shard served; None where they do not tell."""
    assert event.cache
    ids = {node["id"] for node in (*event.data["before"], *event.data["after"])}
    (one,) = series.read(event.cache, [RESYNCS], start, end, by="node")
    lines = [[value for value in line.mean if value is not None] for line in one.lines if line.node_id in ids]
    if not any(lines):
        return None
    return round(sum(sum(values) for values in lines) * one.step)
