"""The form of a route: what it takes, where that goes, and how often."""

from __future__ import annotations

from datetime import datetime, time
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.fields import StyledField
from alerts import route_changes
from alerts.durations import DurationField
from alerts.hours import WEEKDAYS
from alerts.models import Channel, Route
from dashboard.window_form import CLOCK


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
    wait_seconds = DurationField(
        label=_("Wait before the first message"),
        required=False,
        help_text=_("So that alerts which begin together are told together. Nothing means at once."),
    )
    interval_seconds = DurationField(
        label=_("Tell news once in"),
        required=False,
        help_text=_("Such as 1m: so often at most is told who joins or leaves. What gets worse is told at once."),
    )
    repeat_seconds = DurationField(label=_("Tell again after"), help_text=_("Such as 4h, while nobody acknowledges."))
    position = forms.IntegerField(
        label=_("Position"),
        min_value=0,
        max_value=10_000,
        required=False,
        help_text=_("Of the routes below the same one, that with the smallest number is looked at first."),
    )
    goes_on = forms.BooleanField(label=_("Look at the routes after it, too"), required=False)
    weekdays = forms.TypedMultipleChoiceField(
        label=_("Only on"),
        choices=WEEKDAYS,
        coerce=int,
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("No day means at any time."),
    )
    starts = forms.TimeField(label=_("From"), widget=CLOCK, required=False)
    ends = forms.TimeField(
        label=_("To"), widget=CLOCK, required=False, help_text=_("Not after the start means on the next day.")
    )
    zone = forms.CharField(
        label=_("Time zone"),
        max_length=63,
        required=False,
        help_text=_("Such as Europe/Berlin; its changes of clocks count."),
    )

    def clean(self) -> dict[str, Any]:
        """Hours without a day, or days without hours, would surprise: both or none."""
        given: dict[str, Any] = super().clean() or self.cleaned_data
        has_hours = given.get("starts") is not None and given.get("ends") is not None
        if given.get("weekdays") and not has_hours and not {"starts", "ends"} & set(self.errors):
            self.add_error("starts", _("Give the hours of these days, from and to."))
        if not given.get("weekdays") and has_hours and "weekdays" not in self.errors:
            self.add_error("weekdays", _("Choose the days of these hours."))
        return given

    @staticmethod
    def initial_of(route: Route) -> dict[str, Any]:
        same = ("name", "wait_seconds", "interval_seconds", "repeat_seconds", "position", "goes_on")
        zone = route.zone if route.weekdays else timezone.get_current_timezone_name()
        limited = {"weekdays": route.weekdays, "starts": route.starts, "ends": route.ends} if route.weekdays else {}
        return {
            **{name: getattr(route, name) for name in same},
            "matchers": "\n".join(route.matchers),
            "group_by": ", ".join(route.group_by),
            "channels": list(route.channels.all()) if route.pk else [],
            "zone": zone,
            **limited,
        }

    def given(self) -> dict[str, Any]:
        given = {name: value for name, value in self.cleaned_data.items() if name != "channels"}
        if not given["weekdays"]:
            given |= {"starts": time.min, "ends": time.min, "zone": "UTC"}
        given["position"] = given["position"] or 0
        given["matchers"] = given["matchers"].splitlines()
        given["group_by"] = [part.strip() for part in given["group_by"].split(",") if part.strip()]
        return given

    def refuse(self, error: ValidationError) -> None:
        self.add_error(None, error)


class RoutePreviewForm(RouteForm):
    """What says what a route does while one types; its name is of no matter for that."""

    name = forms.CharField(required=False)


class MomentForm(forms.Form):
    """When an alert is thought to fire; nothing means now."""

    bound_field_class = StyledField

    at = forms.DateTimeField(
        label=_("At"),
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        help_text=_("In your time zone; nothing means now."),
    )

    def moment(self, now: datetime) -> datetime:
        """Return the time that was typed, now where none was. Raise ValidationError."""
        if not self.is_valid():
            raise ValidationError(self.errors["at"].as_data())
        return route_changes.moment_of(self.cleaned_data["at"], now)


class StepForm(forms.Form):
    """One step for when nobody acknowledges."""

    bound_field_class = StyledField

    after_seconds = DurationField(label=_("When nobody acknowledged for"), help_text=_("Such as 15m."))
    step_channels = forms.ModelMultipleChoiceField(
        Channel.objects.all(), label=_("Tell"), widget=forms.CheckboxSelectMultiple
    )

    def refuse(self, error: ValidationError) -> None:
        self.add_error(None, error)
