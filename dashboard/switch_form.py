"""The forms of switches: what one is, why it changes, and what shall happen later."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.utils.translation import gettext_lazy as _

from accounts.fields import StyledField
from alerts.durations import DurationField
from alerts.rule import Rule
from dashboard.silence_form import CLOCK
from fleet.models import Cache
from switches import changing
from switches.changing import REASON_LIMIT, TICKET_LIMIT, Why
from switches.models import AutoOff, Switch
from switches.run_book import BAKE_SECONDS, STEPS
from switches.switch import NOTE_LIMIT

FALLBACK_WORDS = (
    ("open", _("open: a reader that never heard of the switch uses the cache")),
    ("closed", _("closed: a reader that never heard of the switch leaves the cache alone")),
)
FALLBACK_HELP = _(
    "Open suits a cache whose loss costs time; closed suits one where a wrong write is worse than a slow answer."
)


class RefusableForm(forms.Form):
    """A form that shows what the domain refused, beside the field or above all of them."""

    bound_field_class = StyledField

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # Several of these stand on one page.
        super().__init__(*args, **kwargs)
        self.auto_id = f"{type(self).__name__.lower()}-%s"

    def refuse(self, error: ValidationError) -> None:
        if not hasattr(error, "error_dict"):
            self.add_error(None, error)
            return
        for field, errors in error.error_dict.items():
            self.add_error(field if field in self.fields and field != NON_FIELD_ERRORS else None, errors)


class WhyForm(RefusableForm):
    """The reason of a change, the ticket, and the revision that the person saw."""

    reason = forms.CharField(label=_("Why"), max_length=REASON_LIMIT)
    ticket = forms.CharField(label=_("Ticket"), max_length=TICKET_LIMIT, required=False)
    revision = forms.IntegerField(min_value=1, max_value=2**31 - 1, widget=forms.HiddenInput)

    def why(self) -> Why:
        return Why(self.cleaned_data["reason"], self.cleaned_data["ticket"])

    @property
    def seen_revision(self) -> int:
        return int(self.cleaned_data["revision"])


class OffForm(WhyForm):
    """Off is never refused because somebody else was quicker: it needs no revision."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self.fields["revision"]


class OnForm(WhyForm):
    percent = forms.IntegerField(
        label=_("Percent of the instances"),
        min_value=1,
        max_value=100,
        initial=100,
        help_text=_("Less than 100 is a canary: instances are chosen once and stay in as you go up."),
    )


class RepointForm(WhyForm):
    cache = forms.ModelChoiceField(Cache.objects.order_by("name"), label=_("Point it at"), to_field_name="name")


class PlanForm(WhyForm):
    percent = forms.IntegerField(
        label=_("Percent of the instances"), min_value=0, max_value=100, initial=0, help_text=_("0 is off.")
    )
    starts_at = forms.DateTimeField(
        label=_("At"), widget=CLOCK, required=False, help_text=_("Empty means now, within seconds.")
    )
    ends_at = forms.DateTimeField(
        label=_("Until"),
        widget=CLOCK,
        required=False,
        help_text=_("Then people are asked whether it is over; nothing turns on by itself."),
    )


class ExtendForm(RefusableForm):
    ends_at = forms.DateTimeField(label=_("Ask again at"), widget=CLOCK)


class RunBookForm(RefusableForm):
    """Where a run book leads, and how slowly."""

    target = forms.ModelChoiceField(
        Cache.objects.order_by("name"),
        label=_("Target"),
        required=False,
        to_field_name="name",
        empty_label=_("none: turn it on again where it points now"),
    )
    reason = forms.CharField(label=_("Why"), max_length=REASON_LIMIT)
    ticket = forms.CharField(label=_("Ticket"), max_length=TICKET_LIMIT, required=False)
    percents = forms.RegexField(
        r"\A\s*\d{1,3}%?([\s,]+\d{1,3}%?){0,19}\s*\Z",
        label=_("Percentages of the canary"),
        max_length=100,
        initial=" ".join(map(str, STEPS)),
        error_messages={"invalid": _("Give percentages with blanks between them, such as 1 10 25 50 100.")},
    )
    bake_seconds = DurationField(
        label=_("Bake time of each percentage"),
        initial=BAKE_SECONDS,
        help_text=_("An alert of the cache, or missing data, within it turns the switch off again."),
    )

    def given(self) -> dict[str, Any]:
        given = self.cleaned_data
        why = Why(given["reason"], given["ticket"])
        percents = [int(part) for part in re.findall(r"\d+", str(given["percents"]))]
        return {"target": given["target"], "why": why, "bake_seconds": given["bake_seconds"], "percents": percents}


class AutoOffForm(RefusableForm):
    """Which rules may turn a switch off."""

    rules = forms.ModelMultipleChoiceField(
        Rule.objects.enabled(), label=_("Rules"), required=False, to_field_name="key", widget=forms.SelectMultiple
    )
    cooldown_seconds = DurationField(label=_("Not again within"), initial=3_600)
    limit_per_day = forms.IntegerField(label=_("Times a day at most"), min_value=1, max_value=100, initial=2)

    @staticmethod
    def initial_of(kept: AutoOff | None) -> dict[str, Any]:
        return {name: getattr(kept, name) for name in ("rules", "cooldown_seconds", "limit_per_day")} if kept else {}

    def given(self) -> dict[str, Any]:
        return {**self.cleaned_data, "rules": [rule.key for rule in self.cleaned_data["rules"]]}


class SwitchForm(WhyForm):
    """What a switch is. A new one has a key to choose, and no revision yet."""

    key = forms.CharField(
        label=_("Key"),
        max_length=100,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
        help_text=_("What applications ask for, such as user-cache. It can never be changed or used again."),
    )
    label = forms.CharField(label=_("Name for people"), max_length=200, required=False)
    cache_now = forms.ModelChoiceField(
        Cache.objects.order_by("name"),
        label=_("Cache"),
        required=False,
        to_field_name="name",
        empty_label=_("none that Shardwatch watches"),
        help_text=_("Without one, nobody can count whether its traffic is gone."),
    )
    cache_next = forms.ModelChoiceField(
        Cache.objects.order_by("name"),
        label=_("Next cache"),
        required=False,
        to_field_name="name",
        empty_label=_("none"),
        help_text=_("Where it will point after a migration."),
    )
    fallback = forms.ChoiceField(
        label=_("When nothing is known"), choices=FALLBACK_WORDS, initial="open", help_text=FALLBACK_HELP
    )
    ttl_seconds = forms.IntegerField(
        label=_("Readers ask again after (seconds)"),
        min_value=1,
        max_value=300,
        initial=5,
        help_text=_("A change reaches everybody within this time and a quarter more."),
    )
    floor_per_second = forms.FloatField(
        label=_("Commands per second that count as silence"),
        min_value=0,
        max_value=1e9,
        initial=5.0,
        help_text=_("Our own commands and those of replicas are taken off before."),
    )
    owner = forms.CharField(label=_("Owner"), max_length=150, required=False)
    note = forms.CharField(
        label=_("Note"), max_length=NOTE_LIMIT, required=False, widget=forms.Textarea(attrs={"rows": 3})
    )
    needs_two_people = forms.BooleanField(label=_("Turning it on needs two people"), required=False)

    field_order = ("key", "label", *changing.FIELDS[1:], "reason", "ticket")

    def __init__(self, *args: Any, switch: Switch | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if switch:
            del self.fields["key"]
            self.initial = initial_of(switch)
        else:
            del self.fields["revision"]
            self.fields["reason"].initial = _("new")

    def given(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in changing.FIELDS}


def initial_of(switch: Switch) -> dict[str, Any]:
    caches = {name: cache.name if (cache := getattr(switch, name)) else None for name in ("cache_now", "cache_next")}
    return {**{name: getattr(switch, name) for name in changing.FIELDS}, **caches, "revision": switch.revision}


class ClientKeyForm(RefusableForm):
    name = forms.CharField(
        label=_("Application"), max_length=100, help_text=_("Two keys of one application are valid at once.")
    )
    scope = forms.CharField(
        label=_("Switches that it reads"),
        required=False,
        max_length=12_000,
        help_text=_("Keys with blanks between them, such as user-cache shop.*; empty means all of them."),
    )

    def patterns(self) -> list[str]:
        return str(self.cleaned_data["scope"]).replace(",", " ").split()


def span_of(form: PlanForm, now: datetime) -> tuple[datetime, datetime | None]:
    """Return when a plan begins and ends; no beginning means now."""
    return form.cleaned_data["starts_at"] or now, form.cleaned_data["ends_at"]
