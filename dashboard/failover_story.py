"""A failover as a story: who was primary and who is, for how long slots had none, what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from collectors import series
from collectors.event import Event
from collectors.series import Series
from dashboard.commands import read_errors
from dashboard.error_words import meaning_of
from dashboard.event_words import moment
from dashboard.watched import WatchedNode, nodes_of
from fleet.models import Cache

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

# What is compared with the failover itself.
MARGIN = timedelta(minutes=5)
ERRORS_SHOWN = 5
# Later on the shard of today says nothing of this failover.
PRESENT_SPAN = timedelta(days=1)
COMMANDS, ERRORS = "commands_per_second", "error_replies_per_second"
STATE, SLOTS, RESYNCS = "cluster_state_ok", "cluster_slots_ok", "sync_full"


@dataclass(frozen=True, slots=True)
class Rates:
    """Commands and error replies per second of the whole cache; None is not known."""

    commands: float | None
    errors: float | None


@dataclass(frozen=True, slots=True)
class ErrorSeen:
    """A type of error that was answered since the failover began, per second; None is not known."""

    name: str
    before: float | None
    since: float

    @property
    def meaning(self) -> StrOrPromise:
        return meaning_of(self.name).sentence


@dataclass(frozen=True, slots=True)
class Present:
    """A node of the shard as it is now; None is not reported."""

    address: str
    role: str
    answers: bool
    master_link_up: bool | None
    lag_seconds: float | None


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
    errors: Sequence[ErrorSeen]
    # The shard today, where the event does not lie far back.
    present: Sequence[Present]
    is_young: bool


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
        errors_seen(event.cache, began, min(ended + MARGIN, now)),
        present(event) if now - ended < PRESENT_SPAN else (),
        now < ended + MARGIN,
    )


def errors_seen(cache: Cache, began: datetime, end: datetime) -> list[ErrorSeen]:
    """Return the most frequent errors of the whole cache since the failover began, and how often they came before."""
    if began >= end:
        return []
    usual, measured = read_errors(cache, began - MARGIN, began)
    before = {row.name: row.per_second for row in usual}
    rows, _seconds = read_errors(cache, began, end)
    return [
        ErrorSeen(row.name, before.get(row.name, 0.0) if measured else None, row.per_second)
        for row in rows[:ERRORS_SHOWN]
    ]


def present(event: Event) -> list[Present]:
    """Return the nodes of the shard as they are now, the primary first."""
    ids = {node["id"] for node in (*event.data["before"], *event.data["after"])}
    members = nodes_of([event.cache_id or 0]).get(event.cache_id or 0, [])
    shards = {member.node.shard_id for member in members if member.node.pk in ids}
    found = [member for member in members if member.node.shard_id in shards]
    return [present_of(member) for member in sorted(found, key=lambda member: not member.is_primary)]


def present_of(member: WatchedNode) -> Present:
    link = member.value("master_link_up")
    answers = member.latest is not None and not member.is_failing
    is_up = None if link is None else bool(link)
    return Present(member.node.address, member.node.role, answers, is_up, member.value("replication_lag_seconds"))


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
