"""The form of a route: what it takes, where that goes, and how often."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from accounts.fields import StyledField
from alerts.durations import DurationField
from alerts.models import Channel, Route


class RouteForm(forms.Form):
    bound_field_class = StyledField

    name = forms.CharField(label=_("Name"), max_length=100)
    matchers = forms.CharField(
        label=_("What it takes"),
        required=False,
        max_length=6_000,
        help_text=_("One matcher a line, all must fit: cache=game-*, severity=critical"),
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false", "class": "form-control mono"}),
    )
    channels = forms.ModelMultipleChoiceField(
        Channel.objects.all(),
        label=_("Channels"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("None means those of the route above."),
    )
    group_by = forms.CharField(
        label=_("One incident for each"),
        required=False,
        max_length=700,
        help_text=_("Labels with commas between them. Alerts that have them in common make one incident."),
    )
    interval_seconds = DurationField(label=_("Tell news once in"), required=False)
    repeat_seconds = DurationField(label=_("Tell again after"))
    position = forms.IntegerField(label=_("Position"), min_value=0, max_value=10_000, initial=0)
    goes_on = forms.BooleanField(label=_("Look at the routes after it, too"), required=False)

    @staticmethod
    def initial_of(route: Route) -> dict[str, Any]:
        same = ("name", "interval_seconds", "repeat_seconds", "position", "goes_on")
        return {
            **{name: getattr(route, name) for name in same},
            "matchers": "\n".join(route.matchers),
            "group_by": ", ".join(route.group_by),
            "channels": list(route.channels.all()) if route.pk else [],
        }

    def given(self) -> dict[str, Any]:
        given = {name: value for name, value in self.cleaned_data.items() if name != "channels"}
        given["matchers"] = given["matchers"].splitlines()
        given["group_by"] = [part.strip() for part in given["group_by"].split(",") if part.strip()]
        return given

    def refuse(self, error: ValidationError) -> None:
        self.add_error(None, error)


class StepForm(forms.Form):
    """One step for when nobody acknowledges."""

    bound_field_class = StyledField

    after_seconds = DurationField(label=_("When nobody acknowledged for"))
    step_channels = forms.ModelMultipleChoiceField(
        Channel.objects.all(), label=_("Tell"), widget=forms.CheckboxSelectMultiple
    )

    def refuse(self, error: ValidationError) -> None:
        self.add_error(None, error)
