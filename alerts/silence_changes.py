"""Making and ending silences, with the audit: what the pages and the API do."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import AuditEntry, User
from alerts import matchers
from alerts.alert import FIRING_STATES, Alert, Transition
from alerts.hiding import labels_of
from alerts.matchers import Matcher, MatcherError
from alerts.silence import Silence
from alerts.text import is_plain, storable
from collectors.event import Event

COMMENT_LIMIT = 500
LONGEST = timedelta(days=366)
# What a preview counts of the present, and of the past, the newest first.
PREVIEWED, LATELY, COUNTED = 5_000, timedelta(days=7), 20_000
# A silence without an end is one that everybody forgets.
EARLIEST = timedelta(days=1)


def parsed(lines: Sequence[str]) -> tuple[Matcher, ...]:
    """Return the matchers of lines. Raise ValidationError where one cannot be read, or none is left."""
    try:
        found = matchers.typed(lines)
    except MatcherError as error:
        raise ValidationError({"matchers": str(error)}) from error
    if not found:
        raise ValidationError({"matchers": _("Give one matcher at least, such as cache=game-*.")})
    return found


def hidden(found: Sequence[Matcher], alerts: Iterable[Alert]) -> list[Alert]:
    """Return the alerts that such a silence hides."""
    return [alert for alert in alerts if matchers.fit(found, labels_of(alert))]


def hidden_now(found: Sequence[Matcher]) -> list[Alert]:
    return hidden(found, Alert.objects.active().select_related("rule", "cache")[:PREVIEWED])


def hidden_lately(found: Sequence[Matcher], now: datetime, lasts: Callable[[datetime], bool] = lambda _at: True) -> int:
    """Return how often in the last week an alert began to fire that such a silence would have hidden.

    `lasts` tells whether it would have been in force at a time.
    """
    begun = Transition.objects.filter(at__gt=now - LATELY, at__lte=now, state__in=FIRING_STATES)
    rows = begun.exclude(was__in=FIRING_STATES).select_related("alert").order_by("-at", "-pk")[:COUNTED]
    return sum(matchers.fit(found, labels_of(row.alert) | {"severity": row.severity}) and lasts(row.at) for row in rows)


def add(
    by: User,
    lines: Sequence[str],
    comment: str,
    starts_at: datetime,
    ends_at: datetime,
    now: datetime,
    event: Event | None = None,
) -> Silence:
    """Keep a silence. Raise ValidationError, by field, for one that cannot be kept."""
    kept = [str(matcher) for matcher in parsed([storable(line) for line in lines])]
    comment = checked_comment(comment)
    check_times(starts_at, ends_at, now)
    if event is not None and event.until is not None and event.until <= now:
        raise ValidationError({"event": _("This event is over already.")})
    with transaction.atomic():
        made = Silence.objects.create(
            matchers=kept, author=by.username, comment=comment, starts_at=starts_at, ends_at=ends_at, event=event
        )
        AuditEntry.record(by, "silence.add", ", ".join(kept)[:200], until=ends_at.isoformat())
    return made


def checked_comment(comment: str) -> str:
    """Return the reason as it is kept. Raise ValidationError where there is none, or one that hides characters."""
    comment = storable(comment).strip()
    if not 1 <= len(comment) <= COMMENT_LIMIT:
        words = _("Say why, in 1 to %(limit)d characters: others will ask.") % {"limit": COMMENT_LIMIT}
        raise ValidationError({"comment": words})
    if not is_plain(comment):
        words = _("Give a text of 1 to %(limit)d printable characters.") % {"limit": COMMENT_LIMIT}
        raise ValidationError({"comment": words})
    return comment


def check_times(starts_at: datetime, ends_at: datetime, now: datetime) -> None:
    if ends_at <= max(starts_at, now):
        raise ValidationError({"ends_at": _("The end must lie ahead, and after the start.")})
    if starts_at < now - EARLIEST or ends_at > now + LONGEST:
        raise ValidationError({"ends_at": _("A silence begins now or later, and lasts a year at most.")})


def end(by: User, silence: Silence, at: datetime) -> bool:
    """End a silence now; return False where it was over already."""
    with transaction.atomic():
        fields = {"ends_at": at} if silence.starts_at <= at else {"ends_at": at, "starts_at": at}
        if not Silence.objects.filter(pk=silence.pk, ends_at__gt=at).update(**fields):
            return False
        AuditEntry.record(by, "silence.end", ", ".join(silence.matchers)[:200])
    return True
