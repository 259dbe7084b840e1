"""The form of a silence: what it hides, why, and until when."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext_lazy as _

from accounts.fields import StyledField
from alerts.silence_changes import COMMENT_LIMIT
from collectors.event import TITLE_LIMIT, Event

LENGTHS = {"1h": timedelta(hours=1), "4h": timedelta(hours=4), "1d": timedelta(days=1), "7d": timedelta(days=7)}
LENGTH_WORDS = (("1h", _("1 hour")), ("4h", _("4 hours")), ("1d", _("24 hours")), ("7d", _("7 days")))
CLOCK = forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")


if TYPE_CHECKING:
    EventField = forms.ModelChoiceField[Event]
else:
    EventField = forms.ModelChoiceField


class NoteField(EventField):
    """A note that has not ended yet, by its title."""

    def label_from_instance(self, note: Any) -> str:
        about = note.cache.name if note.cache else ", ".join(f"{key}={value}" for key, value in note.labels.items())
        return ": ".join(filter(None, (about, note.title or str(note.get_kind_display()))))[:TITLE_LIMIT]


def open_notes() -> QuerySet[Event]:
    goes_on = Q(until=None) | Q(until__gt=timezone.now())
    return Event.objects.exclude(source=Event.Source.DETECTED).filter(goes_on).select_related("cache")


class SilenceForm(forms.Form):
    bound_field_class = StyledField

    matchers = forms.CharField(
        label=_("What it hides"),
        max_length=6_000,
        help_text=_("One matcher a line, all must fit: cache=game-*, severity!=critical, node=~10\\.0\\..*"),
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false", "class": "form-control mono"}),
    )
    comment = forms.CharField(label=_("Why"), max_length=COMMENT_LIMIT)
    starts_at = forms.DateTimeField(
        label=_("From"), widget=CLOCK, required=False, help_text=_("Empty means from now on.")
    )
    length = forms.ChoiceField(label=_("For"), choices=LENGTH_WORDS, initial="1h")
    ends_at = forms.DateTimeField(
        label=_("Or until"), widget=CLOCK, required=False, help_text=_("Empty means as long as chosen above.")
    )

    event = NoteField(
        Event.objects.none(),
        label=_("Ends with the event"),
        required=False,
        empty_label=_("none"),
        help_text=_("At the time above at the latest, and before it when this event ends."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["event"].queryset = open_notes()  # type: ignore[attr-defined]

    def lines(self) -> list[str]:
        return str(self.cleaned_data["matchers"]).splitlines()

    def given(self, now: Any) -> dict[str, Any]:
        starts_at = self.cleaned_data["starts_at"] or now
        ends_at = self.cleaned_data["ends_at"] or starts_at + LENGTHS[self.cleaned_data["length"]]
        times = {"starts_at": starts_at, "ends_at": ends_at, "now": now}
        return {"comment": self.cleaned_data["comment"], "event": self.cleaned_data["event"], **times}

    def refuse(self, error: ValidationError) -> None:
        self.add_error(None, error)


def proposal(matchers: str, comment: str, starts_at: datetime, ends_at: datetime) -> str:
    """Return the address of the form with everything filled in, for a person to look at and confirm."""
    times = {"starts_at": starts_at.isoformat(), "ends_at": ends_at.isoformat()}
    return f"{reverse('silences')}?{urlencode({'matchers': matchers, 'comment': comment, **times})}#new-silence-title"


def initial(asked: Mapping[str, str]) -> dict[str, Any]:
    """Return what an address fills in; a time that is none is left out."""
    texts: dict[str, Any] = {
        "matchers": asked.get("matchers", "")[:6_000],
        "comment": asked.get("comment", "")[:COMMENT_LIMIT],
    }
    event = asked.get("event", "")
    texts["event"] = int(event) if re.fullmatch("[0-9]{1,9}", event) else None
    return {**texts, **{name: moment(asked.get(name, "")) for name in ("starts_at", "ends_at")}}


def moment(text: str) -> datetime | None:
    try:
        found = parse_datetime(text[:40])
    except ValueError:
        return None
    # At the ends of the calendar another time zone has no such day.
    return found if found and found.tzinfo and 2000 <= found.year <= 2100 else None
