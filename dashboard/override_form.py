"""The form of an exception to a rule: where it holds, and what is different there."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from accounts.fields import StyledField
from alerts.amounts import amount_of
from alerts.durations import DurationField
from alerts.rule import Override, Rule
from alerts.spec import Spec
from alerts.spec_words import read_unit
from dashboard.rule_form import pairs
from fleet.models import Cache

SWITCHES = [("", _("as the rule is")), ("on", _("on")), ("off", _("off"))]


class OverrideForm(forms.Form):
    bound_field_class = StyledField

    cache = forms.ModelChoiceField(
        Cache.objects.order_by("name"), label=_("Cache"), required=False, empty_label=_("any"), to_field_name="name"
    )
    node = forms.CharField(label=_("Node"), required=False, max_length=300, help_text=_("Its address, host:port"))
    labels = forms.CharField(
        label=_("Or caches with the labels"),
        required=False,
        max_length=2_000,
        help_text=_("One a line: env=production"),
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false", "class": "form-control mono"}),
    )
    warning = forms.CharField(label=_("Warning bound"), required=False, max_length=60)
    critical = forms.CharField(label=_("Critical bound"), required=False, max_length=60)
    hold = DurationField(label=_("For"), required=False, empty_value=None)
    keep = DurationField(label=_("Keep firing"), required=False, empty_value=None)
    switch = forms.ChoiceField(label=_("The rule is"), choices=SWITCHES, required=False)
    note = forms.CharField(label=_("Why"), required=False, max_length=300)

    def override(self, rule: Rule) -> Override:
        """Return what was typed. Raise ValidationError where its place is not known."""
        given = self.cleaned_data
        leading = str(rule.spec.leading())
        bounds = self._bounds(rule.spec)
        made = Override(rule=rule, cache=given["cache"], labels=pairs(given["labels"]), note=given["note"])
        made.bounds = {leading: bounds} if bounds else {}
        made.hold, made.keep = given["hold"], given["keep"]
        made.is_enabled = {"on": True, "off": False}.get(given["switch"])
        if given["node"]:
            made.node = self._node(given["cache"], given["node"])
        if not (made.cache or made.node or made.labels):
            raise ValidationError(_("Say where: a cache, a node or labels."))
        return made

    def _bounds(self, spec: Spec) -> dict[str, float]:
        """Return the bounds in the unit of what they hold. Raise ValidationError where one is no amount."""
        unit, found = read_unit(spec.terms[spec.leading()].reading), dict[str, float]()
        for name in ("warning", "critical"):
            try:
                if text := self.cleaned_data[name]:
                    found[name] = amount_of(text, unit)
            except ValueError as error:
                raise ValidationError({name: str(error)}) from error
        return found

    @staticmethod
    def _node(cache: Cache | None, address: str) -> Any:
        nodes = cache.nodes.present() if cache else []
        found = next((node for node in nodes if node.address == address), None)
        if found is None:
            raise ValidationError({"node": _("Choose its cache, and give the address of a node that it has.")})
        return found

    def refuse(self, error: ValidationError) -> None:
        self.add_error(None, error)
