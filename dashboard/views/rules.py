"""Rules: the list with their state, the form and the YAML text, and exceptions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import groupby
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.access import operator_required, signed_in
from alerts import judged_rules, rule_changes, spec_words
from alerts.cache_figures import FIGURES
from alerts.measures import DOWN
from alerts.rule import Override, Rule
from alerts.spec import Spec
from alerts.spec_form import SpecError
from collectors.cloud.service_metrics import POSITION
from collectors.metrics.lookup import NAMES
from dashboard import override_values, rule_trial
from dashboard.override_form import OverrideForm
from dashboard.override_values import Counting
from dashboard.rule_form import RulePage
from fleet.registration import ConflictError

# What a rule that is written as YAML begins with.
EXAMPLE = """rule: my-rule
title: Memory of my caches
when: {metric: memory_used_ratio, is: '>', warning: 80%, critical: 90%}
where: {cache: '*'}
for: 5m
"""
# The longest interval between polls is two minutes.
POLLS_AWAITED = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class RuleRow:
    """A rule as the list shows it."""

    rule: Rule
    instances: int

    @property
    def area(self) -> str:
        return str(self.rule.text.get("area", ""))

    @property
    def title(self) -> str:
        return self.rule.title if not self.broken else self.rule.key

    @property
    def broken(self) -> str:
        """Why the text cannot be read; "" where it can."""
        try:
            return "" if self.rule.spec.terms else _("It has no condition.")
        except SpecError as error:
            return str(error)

    @property
    def meaning(self) -> str:
        return "" if self.broken else spec_words.meaning(self.rule.spec)

    @property
    def is_new(self) -> bool:
        """Return whether the next polls may still bring its first value."""
        return timezone.now() - self.rule.edited_at < POLLS_AWAITED


def area_words(area: str) -> str:
    """Return what an area of the default pack is called; that of a rule made here is as its author wrote it."""
    words = {
        "connections": _("Connections"),
        "cpu": _("CPU"),
        "errors": _("Errors"),
        "latency": _("Latency"),
        "memory": _("Memory"),
        "persistence": _("Persistence"),
        "quality": _("Quality"),
        "reachability": _("Reachability"),
        "topology": _("Topology"),
    }
    return words.get(area, area)


@require_safe
def rules(request: HttpRequest) -> HttpResponse:
    judged = judged_rules.current(timezone.now())
    rows = [RuleRow(rule, judged.by_rule.get(rule.pk, 0)) for rule in Rule.objects.all()]
    rows.sort(key=lambda row: (row.area, row.rule.key))
    areas = [(area_words(area), list(members)) for area, members in groupby(rows, key=lambda row: row.area)]
    return render(request, "alerts/rules.html", {"areas": areas, "judged": judged, "tab": "rules"})


@operator_required
@require_POST
def switch(request: HttpRequest, key: str) -> HttpResponse:
    rule = get_object_or_404(Rule, key=key)
    rule_changes.switch(signed_in(request), rule, request.POST.get("on") == "1")
    return redirect("rules")


@operator_required
@require_POST
def delete(request: HttpRequest, key: str) -> HttpResponse:
    try:
        rule_changes.delete(signed_in(request), get_object_or_404(Rule, key=key))
    except ValidationError as error:
        messages.error(request, error.messages[0])
    return redirect("rules")


@require_safe
def rule(request: HttpRequest, key: str) -> HttpResponse:
    """The form of a rule; people who may not change it see it all the same."""
    found = get_object_or_404(Rule, key=key)
    return rule_page(request, RulePage(rule=found), found)


@operator_required
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    if request.method == "POST":
        return _saved(request, None)
    begun = RulePage.begun(request.GET.get("metric", ""), request.GET.get("cache", ""))
    return rule_page(request, begun, None)


@operator_required
@require_POST
def save(request: HttpRequest, key: str) -> HttpResponse:
    return _saved(request, get_object_or_404(Rule, key=key))


def _saved(request: HttpRequest, found: Rule | None) -> HttpResponse:
    page = RulePage(request.POST, found)
    try:
        spec = typed(request.POST, page)
        if found is None:
            kept = rule_changes.add(signed_in(request), spec)
        else:
            revision = request.POST.get("revision", "")
            kept = rule_changes.change(
                signed_in(request), found, spec, int(revision) if re.fullmatch("[0-9]{1,9}", revision) else 0
            )
    except SpecError as error:
        if "yaml" in request.POST:
            return rule_page(request, page, found, status=400, errors=list(error.errors.items()))
        page.refuse(error)
        return rule_page(request, page, found, status=400, errors=[("", _("Not saved: see what is marked below."))])
    except ConflictError as error:
        return rule_page(request, page, found, status=409, errors=[(_("Not saved"), error.messages[0])])
    messages.success(request, _("The rule is saved. It counts from the next poll on."))
    return redirect("rule", kept.key)


def typed(given: Mapping[str, Any], page: RulePage) -> Spec:
    """Return the rule that was typed, as YAML or in the form. Raise SpecError."""
    return rule_changes.from_yaml(given["yaml"]) if "yaml" in given else page.spec()


@operator_required
@require_POST
def meaning(request: HttpRequest, key: str = "") -> HttpResponse:
    """Say what is typed means, or what cannot be read of it yet."""
    page = RulePage(request.POST, Rule.objects.filter(key=key).first())
    context: dict[str, Any] = {}
    try:
        context["meaning"] = spec_words.meaning(typed(request.POST, page))
    except SpecError as error:
        context["errors"] = trouble(error, request.POST, page)
    return render(request, "alerts/_meaning.html", context)


def trouble(error: SpecError, given: Mapping[str, Any], page: RulePage) -> list[tuple[str, str]]:
    """Return what cannot be read, in the words of the way in which it was written."""
    return list(error.errors.items()) if "yaml" in given else page.named(error)


@operator_required
@require_POST
def try_out(request: HttpRequest, key: str = "") -> HttpResponse:
    """Show what the rule as it is typed would have found of late, beside what it does as it is kept."""
    found = Rule.objects.filter(key=key).first()
    page = RulePage(request.POST, found)
    context: dict[str, Any] = {}
    try:
        context["columns"] = rule_trial.columns(typed(request.POST, page), found, timezone.now())
    except SpecError as error:
        context["errors"] = trouble(error, request.POST, page)
    return render(request, "alerts/_trial.html", context)


@operator_required
@require_POST
def add_override(request: HttpRequest, key: str) -> HttpResponse:
    found = get_object_or_404(Rule, key=key)
    form = OverrideForm(request.POST)
    if form.is_valid():
        try:
            rule_changes.add_override(signed_in(request), found, form.override(found))
        except SpecError as error:
            form.refuse(ValidationError(str(error)))
        except ValidationError as error:
            form.refuse(error)
        else:
            return redirect("rule", key)
    return rule_page(request, RulePage(rule=found), found, status=400, override_form=form)


@operator_required
@require_POST
def delete_override(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    rule_changes.delete_override(signed_in(request), get_object_or_404(Override, pk=pk, rule__key=key))
    return redirect("rule", key)


@dataclass(frozen=True, slots=True)
class OverrideRow:
    """An exception as the page of its rule shows it: where it holds, and each value that comes from it."""

    override: Override
    spec: Spec
    values: Sequence[Counting]

    @property
    def place(self) -> str:
        return override_values.place(self.override)

    @property
    def level(self) -> str:
        return (_("one node"), _("one cache"), _("caches with these labels"))[self.override.width]

    @property
    def meaning(self) -> str:
        if self.override.is_enabled is False:
            return _("The rule is off there.")
        return spec_words.meaning(self.override.applied(self.spec))


def override_rows(found: Rule) -> list[OverrideRow]:
    """Return the exceptions of a rule, the narrowest, which counts, first."""
    try:
        known = list(found.overrides.select_related("cache", "node__cache"))
        rows = [OverrideRow(one, found.spec, override_values.counting(found.spec, one, known)) for one in known]
    except SpecError:
        return []
    return sorted(rows, key=lambda row: row.override.width)


def rule_page(
    request: HttpRequest,
    page: RulePage,
    found: Rule | None,
    status: int = 200,
    errors: Sequence[tuple[str, str]] = (),
    override_form: OverrideForm | None = None,
) -> HttpResponse:
    row = RuleRow(found, judged_rules.current(timezone.now()).by_rule.get(found.pk, 0)) if found else None
    context: dict[str, Any] = {"page": page, "rule": found, "row": row, "errors": errors}
    context["yaml"] = request.POST.get("yaml") or (rule_changes.as_yaml(found.text) if found else EXAMPLE)
    context["is_yaml"] = "yaml" in request.GET or "yaml" in request.POST
    context["revision"] = request.POST.get("revision") or (found.revision if found else 0)
    context["metrics"] = [DOWN.name, *NAMES, *FIGURES, *POSITION]
    context["override_form"] = override_form or OverrideForm()
    context["overrides"] = override_rows(found) if found else []
    return render(request, "alerts/rule.html", context, status=status)
