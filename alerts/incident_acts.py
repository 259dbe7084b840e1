"""What a person does about an incident, with the audit: what the page and the API do."""

from datetime import UTC, datetime, timedelta

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from accounts.models import AuditEntry, User
from alerts import incidents, outbox, story
from alerts.acknowledge_links import Link
from alerts.languages import in_every_language
from alerts.message import Message, Severity
from alerts.models import Incident, Kind, Reason
from alerts.remark import BY_LINK, TEXT_LIMIT, Remark, person_words
from alerts.text import is_plain, storable

What = Remark.What
# How the end of a sleep is written down.
UNTIL = "%Y-%m-%d %H:%M UTC"
SHORTEST_SLEEP, LONGEST_SLEEP = timedelta(minutes=5), timedelta(days=7)


def acknowledge(by: User, incident: Incident, at: datetime) -> bool:
    """Say that somebody looks after it, and tell all who were told; return False where somebody did already."""
    return _acknowledge(incident, by.username, at, by)


def acknowledge_by_link(link: Link, at: datetime) -> bool:
    """Do the same for somebody who followed a signed link: we know which channel it left by, not who they are."""
    return _acknowledge(link.incident, BY_LINK + link.channel, at)


def acknowledge_elsewhere(incident: Incident, name: str, at: datetime) -> bool:
    """Do the same for somebody who did it at a service that told us who they are."""
    return _acknowledge(incident, name, at)


def _acknowledge(incident: Incident, name: str, at: datetime, by: User | None = None) -> bool:
    with transaction.atomic():
        waiting = Incident.objects.open().filter(pk=incident.pk, acknowledged_at=None)
        if not waiting.update(acknowledged_at=at, acknowledged_by=name):
            return False
        incident.acknowledged_at, incident.acknowledged_by = at, name
        _remark(by, incident, What.ACKNOWLEDGED, at, name=name)
        _tell(incident, Kind.ACKNOWLEDGE, gettext_noop("%(person)s looks after it."), {"person": name}, at)
    return True


def assign(by: User, incident: Incident, username: str, at: datetime) -> bool:
    """Give somebody an incident and tell all who were told. Return False where it is over or theirs already.

    Raise ValidationError where nobody of this name may act.
    """
    person = User.objects.filter(username=storable(username), is_active=True).first()
    if person is None or not person.is_operator:
        raise ValidationError({"to": _("Choose an operator or an administrator.")})
    with transaction.atomic():
        others = Incident.objects.open().filter(pk=incident.pk).exclude(assigned_to=person.username)
        if not others.update(assigned_to=person.username):
            return False
        incident.assigned_to = person.username
        _remark(by, incident, What.ASSIGNED, at, person.username)
        _tell(incident, Kind.UPDATE, gettext_noop("%(person)s is to look after it."), {"person": person.username}, at)
    return True


def snooze(by: User, incident: Incident, until: datetime, at: datetime) -> bool:
    """Let an incident sleep: somebody looks after it, and it is told again by itself if it still goes on then.

    Return False where it is over. Raise ValidationError where the time makes no sense, or where it stands for others.
    """
    if not SHORTEST_SLEEP <= until - at <= LONGEST_SLEEP:
        raise ValidationError({"until": _("Let it sleep for 5 minutes to 7 days.")})
    if not incident.alerts.exists():
        raise ValidationError({"until": _("Only incidents with alerts of rules can sleep.")})
    with transaction.atomic():
        fields = {"snoozed_until": until, "acknowledged_at": incident.acknowledged_at or at}
        fields_of_person = {"acknowledged_by": incident.acknowledged_by or by.username}
        if not Incident.objects.open().filter(pk=incident.pk).update(**fields, **fields_of_person):
            return False
        is_new = incident.acknowledged_at is None
        incident.refresh_from_db()
        times = {"person": by.username, "time": until.astimezone(UTC).strftime(UNTIL)}
        _remark(by, incident, What.SNOOZED, at, times["time"])
        kind = Kind.ACKNOWLEDGE if is_new else Kind.UPDATE
        _tell(
            incident,
            kind,
            gettext_noop("%(person)s looks after it. If it goes on, it is told again at %(time)s."),
            times,
            at,
        )
    return True


def _tell(incident: Incident, kind: Kind, words: str, given: dict[str, str], at: datetime) -> None:
    outbox.enqueue(incident, kind, _message(incident, words, given, at))


def add_note(by: User, incident: Incident, text: str, at: datetime) -> Remark:
    """Keep what somebody found out. Raise ValidationError where it is empty, too long or holds hidden characters."""
    text = storable(text).strip()
    if not 1 <= len(text) <= TEXT_LIMIT or not is_plain(text):
        words = _("Give a text of 1 to %(limit)d printable characters.") % {"limit": TEXT_LIMIT}
        raise ValidationError({"text": words})
    with transaction.atomic():
        return _remark(by, incident, What.NOTE, at, text)


def close(by: User, incident: Incident, at: datetime) -> bool:
    """End an incident whatever its alerts say; return False where it had ended already."""
    with transaction.atomic():
        message = _message(incident, gettext_noop("%(person)s closed it by hand."), {"person": by.username}, at)
        if not incidents.close_incident(incident, Reason.CLOSED_BY_PERSON, message):
            return False
        _remark(by, incident, What.CLOSED, at)
    return True


def _remark(
    by: User | None, incident: Incident, what: Remark.What, at: datetime, text: str = "", name: str = ""
) -> Remark:
    """Keep what was done, by a person or by somebody whom we only have a `name` for."""
    name = by.username if by else name
    AuditEntry.objects.create(user=by, username=name, action=f"incident.{what}", target=incident.title[:200])
    return Remark.objects.create(incident=incident, at=at, author=name, what=what, text=text)


@in_every_language
def _message(incident: Incident, words: str, given: dict[str, str], at: datetime) -> Message:
    source = incident.cache_name or "shardwatch"
    text = translation.gettext(words) % {key: person_words(value) for key, value in given.items()}
    return story.linked(Message(incident.heading, Severity(incident.severity), at, text, source), incident)
