"""Making and removing maintenance windows, with the audit: what the pages and the API do."""

from collections.abc import Collection, Sequence
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo, available_timezones

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from accounts.models import AuditEntry, User
from alerts import hours, silence_changes
from alerts.silence_changes import checked_comment, parsed
from alerts.text import storable
from alerts.window import Window
from fleet.locking import locked

LONGEST = timedelta(days=731)
LIMIT = 200
FAR = gettext_noop("The end must lie ahead, two years at most: then look whether it is still needed.")


def built(
    lines: Sequence[str], weekdays: Collection[int], starts: time, ends: time, zone: str, until: datetime, now: datetime
) -> Window:
    """Return a window that is not kept yet. Raise ValidationError, by field."""
    kept = [str(matcher) for matcher in parsed([storable(line) for line in lines])]
    made = Window(matchers=kept, weekdays=weekdays, starts=starts, ends=ends, zone=zone, until=until)
    hours.check(made)
    if not now < until <= now + LONGEST:
        raise ValidationError({"until": _(FAR)})
    if not made.following(now, 1):
        raise ValidationError({"until": _("It would never come before its end.")})
    return made


def built_until_day(
    lines: Sequence[str], last: date, weekdays: Collection[int], starts: time, ends: time, zone: str, now: datetime
) -> Window:
    """Return a window whose last day is given, in its own zone. Raise ValidationError, by field."""
    if not now.date() - timedelta(days=1) <= last <= (now + LONGEST).date():
        raise ValidationError({"until": _(FAR)})
    local = ZoneInfo(zone) if zone in available_timezones() else UTC
    until = datetime.combine(last + timedelta(days=1), ends if ends <= starts else time.min, tzinfo=local)
    return built(lines, weekdays, starts, ends, zone, until, now)


def add(by: User, window: Window, comment: str) -> Window:
    """Keep a window that was built. Raise ValidationError, by field."""
    window.comment = checked_comment(comment)
    if Window.objects.count() >= LIMIT:
        raise ValidationError(_("There are %(limit)d windows already: remove some first.") % {"limit": LIMIT})
    window.author = by.username
    with transaction.atomic():
        window.save()
        AuditEntry.record(by, "window.add", ", ".join(window.matchers)[:200], until=window.until.isoformat())
    return window


def would_hide(window: Window, now: datetime) -> dict[str, int]:
    """Return how many alerts of now fit a window, and how many began to fire in its hours of the last week."""
    count = len(silence_changes.hidden_now(window.parsed))
    return {"count": count, "lately": silence_changes.hidden_lately(window.parsed, now, window.weekly.covers)}


def delete(by: User, window: Window) -> None:
    with transaction.atomic():
        locked(window).delete()
        AuditEntry.record(by, "window.delete", ", ".join(window.matchers)[:200])
