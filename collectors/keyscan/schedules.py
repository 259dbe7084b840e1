"""Scans that begin by themselves in a quiet window, and pause when it is over."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from django.db.models import Q

from collectors.keyscan import starting
from collectors.keyscan.models import Scan, ScanSchedule, ScanState
from collectors.keyscan.reasons import Reason, ScanRefusedError


def window_day(schedule: ScanSchedule, now: datetime) -> date | None:
    """Return the local day on which the window began that is open now; None while it is closed."""
    local = now.astimezone(ZoneInfo(schedule.zone))
    at, day = local.time(), local.date()
    if schedule.begins <= schedule.ends:
        is_open = schedule.begins <= at < schedule.ends
    else:
        is_open = at >= schedule.begins or at < schedule.ends
        day = day if at >= schedule.begins else day - timedelta(days=1)
    return day if is_open and day.weekday() in schedule.weekdays else None


def is_window_over(scan: Scan, now: datetime | None = None) -> bool:
    """Return whether a scan was begun by a schedule whose window has closed since."""
    schedule = scan.schedule
    return schedule is not None and window_day(schedule, now or datetime.now(UTC)) is None


def begin_due(now: datetime | None = None) -> list[int]:
    """Begin the scans whose window is open, let those go on that the end of a window paused; return them."""
    moment = now or datetime.now(UTC)
    begun = []
    for schedule in ScanSchedule.objects.filter(is_active=True, cache__is_paused=False).select_related("cache"):
        day = window_day(schedule, moment)
        if day is not None and (scan := begin(schedule, day)):
            begun.append(scan.pk)
    return begun


def begin(schedule: ScanSchedule, day: date) -> Scan | None:
    """Begin a schedule's scan of this day, once."""
    paused = schedule.scans.filter(state=ScanState.PAUSED).order_by("-pk").first()
    if paused and is_paused_by_window(paused):
        starting.resume(paused, cause=Reason.SCHEDULED)
        return paused
    is_new = Q(last_day=None) | Q(last_day__lt=day)
    if not ScanSchedule.objects.filter(is_new, pk=schedule.pk).update(last_day=day):
        return None
    try:
        return starting.start(schedule.cache, schedule.asked, schedule.brake, schedule.author, schedule)
    except ScanRefusedError as refused:
        # Tried again while the window is open: a replica may catch up, another scan end.
        ScanSchedule.objects.filter(pk=schedule.pk).update(
            last_day=schedule.last_day, refused_cause=refused.cause, refused_data=refused.data
        )
        return None


def is_paused_by_window(scan: Scan) -> bool:
    """Return whether the end of a window was the last that paused a scan."""
    paused = scan.changes.filter(state=ScanState.PAUSED).exclude(cause=Reason.HANDED_OVER).order_by("-at", "-pk")
    last = paused.first()
    return last is not None and last.cause == Reason.WINDOW_OVER
