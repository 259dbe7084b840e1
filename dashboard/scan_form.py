"""The forms of scans: what to look at, how hard, and when."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from accounts.fields import StyledField
from accounts.models import User
from alerts.hours import WEEKDAYS
from collectors.keyscan.models import Speed
from collectors.keyscan.options import FIELDS, TOP_LIMIT, ScanOptions
from fleet.models import Cache

MATCH_LIMIT, TYPE_LIMIT = 500, 40
SAMPLES_LIMIT = 1_000_000
TYPES = ("string", "hash", "list", "set", "zset", "stream")
FIELD_WORDS = {
    "type": _("type"),
    "ttl": _("TTL"),
    "idle": _("idle time or frequency"),
    "encoding": _("encoding"),
    "len": _("number of elements"),
}
CLOCK = forms.TimeInput(attrs={"type": "time"}, format="%H:%M")


class ScanForm(forms.Form):
    """What people may choose; what they leave out is that of ScanOptions."""

    bound_field_class = StyledField

    brake = forms.ChoiceField(label=_("Speed"), choices=Speed.choices, required=False)
    match = forms.CharField(
        label=_("Only names like"),
        max_length=MATCH_LIMIT,
        required=False,
        strip=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "placeholder": "user:*", "spellcheck": "false"}),
    )
    type = forms.ChoiceField(
        label=_("Only the type"), choices=[("", _("all types")), *((name, name) for name in TYPES)], required=False
    )
    top = forms.IntegerField(
        label=_("Largest keys to keep"),
        min_value=1,
        max_value=TOP_LIMIT,
        required=False,
        widget=forms.NumberInput(attrs={"placeholder": ScanOptions().top}),
    )
    shards = forms.MultipleChoiceField(
        label=_("Shards"), required=False, widget=forms.CheckboxSelectMultiple, help_text=_("None chosen means all.")
    )
    details = forms.MultipleChoiceField(
        label=_("Read of every key"),
        choices=list(FIELD_WORDS.items()),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Else these are read of the largest keys, and of one key in 50 for estimates."),
    )
    samples = forms.IntegerField(
        label=_("SAMPLES of MEMORY USAGE"),
        min_value=1,
        max_value=SAMPLES_LIMIT,
        required=False,
        widget=forms.NumberInput(attrs={"placeholder": ScanOptions().samples}),
        help_text=_("150 and more lead to exact sizes. The server's own default of 5 misjudges some giants by 90%."),
    )
    may_use_primary = forms.BooleanField(label=_("Primaries may be scanned where no replica is fit"), required=False)
    ignores_budget = forms.BooleanField(label=_("Go on when the daily budget is spent"), required=False)

    def __init__(self, cache: Cache, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        numbers = cache.shards.filter(left_at=None).values_list("number", flat=True)
        shards = self.fields["shards"]
        assert isinstance(shards, forms.MultipleChoiceField)
        shards.choices = [(str(number), str(number)) for number in numbers]

    def asked(self) -> ScanOptions:
        """Return the options of a valid form."""
        data, usual = self.cleaned_data, ScanOptions()
        return ScanOptions(
            match=data["match"],
            type=data["type"],
            shards=tuple(sorted(int(number) for number in data["shards"])),
            top=data["top"] or usual.top,
            fields=tuple(name for name in FIELDS if name in data["details"]),
            samples=data["samples"] or usual.samples,
            may_use_primary=data["may_use_primary"],
            ignores_budget=data["ignores_budget"],
        )

    @property
    def speed(self) -> str:
        return str(self.cleaned_data["brake"] or Speed.GENTLE)

    def given(self) -> list[tuple[str, str]]:
        """Return names and values of the form as it came, for the form that starts what was previewed."""
        return [(name, value) for name in self.fields for value in self.data.getlist(name)]  # type: ignore[attr-defined]


class ScheduleForm(ScanForm):
    """A scan with its window. It stands on one page with a form of a scan, so that its fields have ids of their own."""

    weekdays = forms.TypedMultipleChoiceField(
        label=_("On"), choices=WEEKDAYS, coerce=int, widget=forms.CheckboxSelectMultiple
    )
    begins = forms.TimeField(label=_("From"), widget=CLOCK)
    ends = forms.TimeField(label=_("Until"), widget=CLOCK, help_text=_("In your time zone. It pauses at the end."))

    def __init__(self, cache: Cache, *given: Any, **named: Any) -> None:
        super().__init__(cache, *given, **{"auto_id": "schedule_%s", **named})

    def clean(self) -> dict[str, Any] | None:
        data = super().clean()
        if data and data.get("begins") and data.get("begins") == data.get("ends"):
            raise ValidationError(_("The window ends when it begins."))
        return data

    def schedule(self, by: User) -> dict[str, Any]:
        data = self.cleaned_data
        asked = {"asked": self.asked(), "brake": self.speed, "weekdays": data["weekdays"]}
        return {**asked, "begins": data["begins"], "ends": data["ends"], "zone": by.time_zone or "UTC"}
