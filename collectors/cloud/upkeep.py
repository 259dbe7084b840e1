"""What Google does to an instance, as events: maintenance that is planned, and states while it is changed.

The events themselves tell what was known before, so that a look may come at any time, twice or after a pause.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from collectors.cloud.models import InstanceState
from collectors.cloud.service_facts import Schedule, ServiceFacts, Window
from collectors.event import Event, Kind
from fleet.models import Cache, Shard

PLANNED, MOVED, CANCELLED, OVER = "planned", "moved", "cancelled", "over"
BUSY = (InstanceState.CHANGING, InstanceState.REPAIR, InstanceState.MAINTENANCE)
IDLE = (InstanceState.UP, InstanceState.GONE)
# Google plans for an hour where it tells no end.
USUAL_LENGTH = timedelta(hours=1)


def note(cache: Cache, facts: ServiceFacts, now: datetime) -> None:
    """Write down what has changed in an instance's maintenance and state since the last look."""
    follow_schedule(cache, facts.schedule, now)
    follow_state(cache, facts, now)


def follow_schedule(cache: Cache, schedule: Schedule | None, now: datetime) -> None:
    known = planned(cache)
    if schedule is None or schedule.start is None:
        if known:
            conclude(known, now)
        return
    if known and known.at <= now and known.at != schedule.start:
        conclude(known, now)
        known = None
    if known is None:
        plan(cache, schedule, schedule.start, now)
    elif (known.at, known.until) != (schedule.start, end_of(schedule, schedule.start)):
        move(known, schedule, schedule.start, now)


def planned(cache: Cache) -> Event | None:
    """Return the maintenance that is ahead or under way, as it was planned last."""
    return Event.objects.filter(cache=cache, kind=Kind.MAINTENANCE, story=None, data__step=PLANNED).first()


def end_of(schedule: Schedule, start: datetime) -> datetime:
    return schedule.end or start + USUAL_LENGTH


def plan(cache: Cache, schedule: Schedule, start: datetime, now: datetime) -> None:
    """The event stands at its own time; that it was planned is a part of it, at the time when we learned of it."""
    event = Event(cache=cache, kind=Kind.MAINTENANCE, at=start, until=end_of(schedule, start), data={"step": PLANNED})
    event.save()
    tell(event, now, PLANNED, start=start.isoformat())


def move(event: Event, schedule: Schedule, start: datetime, now: datetime) -> None:
    before, event.at, event.until = event.at, start, end_of(schedule, start)
    event.save()
    if before != start:
        tell(event, now, MOVED, before=before.isoformat(), start=start.isoformat())


def conclude(event: Event, now: datetime) -> None:
    """Nothing is planned any more: it was cancelled before its time, or is over."""
    if now < event.at:
        start = event.at
        event.at = event.until = now
        event.data = {"step": CANCELLED, "start": start.isoformat()}
        event.save()
        tell(event, now, CANCELLED, start=start.isoformat())
        return
    # It may have run past its window; after a longer pause of ours nobody knows for how long.
    late = event.last_at + USUAL_LENGTH
    event.until = now if now <= late else event.until
    event.data["step"] = OVER
    event.save()


def tell(event: Event, now: datetime, step: str, **data: str) -> None:
    Event.objects.create(cache=event.cache, kind=Kind.MAINTENANCE, at=now, story=event, data={"step": step, **data})


def follow_state(cache: Cache, facts: ServiceFacts, now: datetime) -> None:
    known = Event.objects.filter(cache=cache, kind=Kind.SERVICE, until=None).first()
    if known and (facts.state in IDLE or (facts.state in BUSY and known.data["state_name"] != facts.state_name)):
        known.until = now
        known.save()
        known = None
    if facts.state not in BUSY:
        return
    if known is None:
        known = Event(cache=cache, kind=Kind.SERVICE, at=now, data=begun(facts))
    elif not changed(known.data, progress(cache, facts)):
        return
    known.data |= progress(cache, facts)
    known.save()


def begun(facts: ServiceFacts) -> dict[str, Any]:
    return {
        "state": str(facts.state),
        "state_name": facts.state_name,
        "shards_before": facts.shards,
        "replicas_before": facts.replicas_per_shard,
    }


def progress(cache: Cache, facts: ServiceFacts) -> dict[str, Any]:
    """Return where it leads and how many shards serve now: by our own look at the slots, where we have one."""
    serving = sum(
        bool(slots) for slots in Shard.objects.filter(cache=cache, left_at=None).values_list("slots", flat=True)
    )
    target = facts.target._asdict() if facts.target else {}
    return {
        "target": {name: value for name, value in target.items() if value not in {None, ""}},
        "shards_now": serving or facts.shards,
    }


def changed(data: dict[str, Any], newer: dict[str, Any]) -> bool:
    return any(data.get(name) != value for name, value in newer.items())


def next_window(windows: Iterable[Window], now: datetime) -> tuple[datetime, datetime] | None:
    """Return the next weekly window, from its start to its end; the one that is open counts."""
    return min((_next(window, now) for window in windows), default=None)


def _next(window: Window, now: datetime) -> tuple[datetime, datetime]:
    length = timedelta(seconds=window.seconds)
    today = now.replace(hour=window.begins.hour, minute=window.begins.minute, second=0, microsecond=0)
    start = today + timedelta(days=(window.day - now.weekday()) % 7)
    # The one of last week may reach over midnight into today; the one of today may be over.
    while start - timedelta(days=7) + length > now:
        start -= timedelta(days=7)
    while start + length <= now:
        start += timedelta(days=7)
    return start, start + length
