"""What a person does about an incident, with the audit: what the page and the API do."""

from datetime import datetime

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import translation
from django.utils.translation import gettext as _

from accounts.models import AuditEntry, User
from alerts import incidents, outbox, story
from alerts.acknowledge_links import Link
from alerts.message import Message, Severity
from alerts.models import Incident, Kind, Reason
from alerts.remark import TEXT_LIMIT, Remark
from alerts.text import is_plain, storable

What = Remark.What


def acknowledge(by: User, incident: Incident, at: datetime) -> bool:
    """Say that somebody looks after it, and tell all who were told; return False where somebody did already."""
    return _acknowledge(incident, by.username, at, by)


def acknowledge_by_link(link: Link, at: datetime) -> bool:
    """Do the same for somebody who followed a signed link: we know which channel it left by, not who they are."""
    with translation.override(settings.LANGUAGE_CODE):
        name = _("link in %(channel)s") % {"channel": link.channel}
    return _acknowledge(link.incident, name, at)


def _acknowledge(incident: Incident, name: str, at: datetime, by: User | None = None) -> bool:
    with transaction.atomic():
        waiting = Incident.objects.open().filter(pk=incident.pk, acknowledged_at=None)
        if not waiting.update(acknowledged_at=at, acknowledged_by=name):
            return False
        incident.acknowledged_at, incident.acknowledged_by = at, name
        _remark(by, incident, What.ACKNOWLEDGED, at, name=name)
        with translation.override(settings.LANGUAGE_CODE):
            text = _("%(person)s looks after it.") % {"person": name}
        outbox.enqueue(incident, Kind.ACKNOWLEDGE, _message(incident, text, at))
    return True


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
        with translation.override(settings.LANGUAGE_CODE):
            text = _("%(person)s closed it by hand.") % {"person": by.username}
        if not incidents.close_incident(incident, Reason.CLOSED_BY_PERSON, _message(incident, text, at)):
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


def _message(incident: Incident, text: str, at: datetime) -> Message:
    source = incident.cache_name or "shardwatch"
    return story.linked(Message(incident.title, Severity(incident.severity), at, text, source), incident)
