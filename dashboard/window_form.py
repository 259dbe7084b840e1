"""The form of a maintenance window: what it hides, on which days, from when to when, and in which zone."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from accounts.fields import StyledField
from alerts import window_changes
from alerts.hours import WEEKDAYS
from alerts.silence_changes import COMMENT_LIMIT
from alerts.window import Window

CLOCK = forms.TimeInput(attrs={"type": "time"}, format="%H:%M")


class WindowForm(forms.Form):
    bound_field_class = StyledField

    matchers = forms.CharField(
        label=_("What it hides"),
        max_length=6_000,
        help_text=_("One matcher a line, all must fit: cache=game-*, severity!=critical"),
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false", "class": "form-control mono"}),
    )
    comment = forms.CharField(label=_("Why"), max_length=COMMENT_LIMIT)
    weekdays = forms.TypedMultipleChoiceField(
        label=_("On"), choices=WEEKDAYS, coerce=int, widget=forms.CheckboxSelectMultiple
    )
    starts = forms.TimeField(label=_("From"), widget=CLOCK)
    ends = forms.TimeField(label=_("To"), widget=CLOCK, help_text=_("Not after the start means on the next day."))
    zone = forms.CharField(
        label=_("Time zone"), max_length=63, help_text=_("Such as Europe/Berlin; its changes of clocks count.")
    )
    until = forms.DateField(label=_("Last day"), widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"))

    def window(self, now: datetime) -> Window:
        """Return the window that was typed. Raise ValidationError."""
        given: dict[str, Any] = dict(self.cleaned_data)
        given.pop("comment", None)
        lines, last = given.pop("matchers").splitlines(), given.pop("until")
        return window_changes.built_until_day(lines, last, now=now, **given)

    def refuse(self, error: ValidationError) -> None:
        self.add_error(None, error)


class WindowPreviewForm(WindowForm):
    """What says when a window comes; why is of no matter for that."""

    comment = forms.CharField(required=False)
