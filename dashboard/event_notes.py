"""Notes that people and CI add: what the form and the API do, with the audit."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import URLValidator
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import AuditEntry, User
from alerts.text import is_plain
from collectors.event import NOTE_KINDS, TITLE_LIMIT, URL_LIMIT, Event
from fleet.labels import check_labels

FIELDS = ("kind", "title", "at", "until", "url")
EARLIEST, LATEST = datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
is_web_address = URLValidator(schemes=["http", "https"])


def add(by: User, given: Mapping[str, Any], source: Event.Source) -> Event:
    """Keep a note on one cache, on those with some labels, or on all. Raise ValidationError."""
    named = {name: value for name, value in given.items() if value is not None}
    note = Event(**{"at": timezone.now(), **named}, source=source, author=by.username)
    check(note)
    with transaction.atomic():
        note.save()
        AuditEntry.record(by, "event.add", target_of(note), kind=note.kind, title=note.title)
    return note


def change(by: User, note: Event, given: Mapping[str, Any]) -> Event:
    """Change a note, most often to say when it ended. Raise ValidationError."""
    if not note.is_note:
        raise ValidationError(_("Shardwatch saw this event itself: only notes can be changed."))
    for name in FIELDS:
        if name in given:
            setattr(note, name, given[name])
    check(note)
    with transaction.atomic():
        note.save()
        told = {name: str(given[name]) for name in FIELDS if name in given}
        AuditEntry.record(by, "event.change", target_of(note), **told)
    return note


def target_of(note: Event) -> str:
    return note.cache.name if note.cache else " ".join(f"{key}={note.labels[key]}" for key in sorted(note.labels))[:200]


def check(note: Event) -> None:
    """Raise ValidationError, by field, for a note that cannot be kept."""
    note.title = " ".join((note.title or "").split())
    if note.kind not in NOTE_KINDS:
        refuse("kind", _("Choose one of: %(kinds)s.") % {"kinds": ", ".join(NOTE_KINDS)})
    if not note.title or len(note.title) > TITLE_LIMIT or not is_plain(note.title):
        refuse("title", _("Give a text of 1 to %(limit)d printable characters.") % {"limit": TITLE_LIMIT})
    check_times(note)
    check_url(note)
    try:
        check_labels(note.labels)
    except ValidationError as error:
        refuse("labels", error.messages[0])


def check_times(note: Event) -> None:
    for name in ("at", "until"):
        moment = getattr(note, name)
        if moment is None and name == "until":
            continue
        if moment is None or not EARLIEST <= moment <= LATEST:
            refuse(name, _("Times lie between the years 2000 and 2100."))
    if note.until and note.until < note.at:
        refuse("until", _("The end lies before the start."))


def check_url(note: Event) -> None:
    note.url = note.url or ""
    if not note.url:
        return
    try:
        is_web_address(note.url)
    except ValidationError:
        refuse("url", _("Give an address that begins with http:// or https://."))
    if len(note.url) > URL_LIMIT:
        refuse("url", _("Give an address of at most %(limit)d characters.") % {"limit": URL_LIMIT})


def refuse(field: str, sentence: str) -> None:
    raise ValidationError({field: sentence})
