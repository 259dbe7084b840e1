"""The form of a silence: what it hides, why, and until when."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from accounts.fields import StyledField
from alerts.silence_changes import COMMENT_LIMIT

LENGTHS = {"1h": timedelta(hours=1), "4h": timedelta(hours=4), "1d": timedelta(days=1), "7d": timedelta(days=7)}
LENGTH_WORDS = (("1h", _("1 hour")), ("4h", _("4 hours")), ("1d", _("24 hours")), ("7d", _("7 days")))
CLOCK = forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")


class SilenceForm(forms.Form):
    bound_field_class = StyledField

    matchers = forms.CharField(
        label=_("What it hides"),
        max_length=6_000,
        help_text=_("One matcher a line, all must fit: cache=game-*, severity!=critical, node=~10\\.0\\..*"),
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false", "class": "form-control mono"}),
    )
    comment = forms.CharField(label=_("Why"), max_length=COMMENT_LIMIT)
    length = forms.ChoiceField(label=_("For"), choices=LENGTH_WORDS, initial="1h")
    ends_at = forms.DateTimeField(
        label=_("Or until"), widget=CLOCK, required=False, help_text=_("Empty means as long as chosen beside.")
    )

    def lines(self) -> list[str]:
        return str(self.cleaned_data["matchers"]).splitlines()

    def given(self, now: Any) -> dict[str, Any]:
        ends_at = self.cleaned_data["ends_at"] or now + LENGTHS[self.cleaned_data["length"]]
        return {"comment": self.cleaned_data["comment"], "starts_at": now, "ends_at": ends_at, "now": now}

    def refuse(self, error: ValidationError) -> None:
        self.add_error(None, error)
