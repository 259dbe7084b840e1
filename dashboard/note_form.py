"""The form of a note: what somebody did at some time."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from accounts.fields import StyledField
from collectors.event import NOTE_KINDS, TITLE_LIMIT, URL_LIMIT
from dashboard.event_notes import FIELDS

CLOCK = forms.DateTimeInput(attrs={"type": "datetime-local", "step": "1"}, format="%Y-%m-%dT%H:%M:%S")


class NoteForm(forms.Form):
    bound_field_class = StyledField

    kind = forms.ChoiceField(label=_("What"), choices=[(kind.value, kind.label) for kind in NOTE_KINDS])
    title = forms.CharField(
        label=_("Text"), max_length=TITLE_LIMIT, widget=forms.TextInput(attrs={"autocomplete": "off"})
    )
    at = forms.DateTimeField(label=_("Start"), widget=CLOCK, required=False, help_text=_("Empty means now."))
    until = forms.DateTimeField(label=_("End (optional)"), widget=CLOCK, required=False)
    url = forms.CharField(
        label=_("Link"),
        max_length=URL_LIMIT,
        required=False,
        widget=forms.URLInput(attrs={"autocomplete": "off", "placeholder": "https://"}),
    )

    def given(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] or None for name in FIELDS}

    def refuse(self, error: ValidationError) -> None:
        """Show what dashboard/event_notes.py refused beside the fields."""
        self.add_error(None, error)
