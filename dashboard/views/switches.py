"""Switches: the list, what one is, and the page on which one sees that it took effect."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe
from django.views.decorators.vary import vary_on_headers

from accounts.access import operator_required, signed_in
from collectors import latest
from dashboard import charts
from dashboard.refresh import fingerprint, is_refresh, unchanged
from dashboard.switch_form import (
    AutoOffForm,
    OffForm,
    OnForm,
    PlanForm,
    RefusableForm,
    RepointForm,
    SwitchForm,
    WhyForm,
)
from dashboard.switch_page import CHARTS_OF_A_SWITCH, SwitchPage
from dashboard.switch_rows import SHOWN, SwitchQuery, change_row, rows
from fleet.registration import ConflictError
from switches import changing, proof
from switches.models import AutoOff, Plan, Switch
from switches.proof import Standing

ROWS_A_PAGE = 100
CHANGES_A_PAGE = 50
USUAL_SPAN = 900


def found(key: str) -> Switch:
    return get_object_or_404(Switch.objects.select_related("cache_now", "cache_next"), key=key)


@require_safe
def switches(request: HttpRequest) -> HttpResponse:
    query, now = SwitchQuery.of(request.GET), timezone.now()
    seen = query.switches(now)
    context: dict[str, Any] = {"query": query, "rows": rows(seen[:SHOWN], now), "has_more": len(seen) > SHOWN}
    context["overdue"] = sum(row.is_overdue for row in context["rows"])
    return render(request, "dashboard/switches.html", context)


@operator_required
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    form = SwitchForm(request.POST or None, initial={"cache_now": request.GET.get("cache", "")[:63]})
    if request.method == "POST" and form.is_valid():
        try:
            made = changing.create(signed_in(request), form.cleaned_data["key"], form.given(), form.why())
        except ValidationError as error:
            form.refuse(error)
        else:
            messages.success(request, _("The switch is made, and on. Give its applications a client key."))
            return redirect("switch", made.key)
    return form_page(request, form, None)


@operator_required
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, key: str) -> HttpResponse:
    switch = found(key)
    form = SwitchForm(request.POST or None, switch=switch)
    is_conflict = False
    if request.method == "POST" and form.is_valid():
        try:
            changing.edit(switch, signed_in(request), form.given(), form.why(), form.seen_revision)
        except ConflictError:
            is_conflict = True
        except ValidationError as error:
            form.refuse(error)
        else:
            messages.success(request, _("The changes are saved."))
            return redirect("switch", key)
    return form_page(request, form, switch, is_conflict)


def form_page(request: HttpRequest, form: SwitchForm, switch: Switch | None, is_conflict: bool = False) -> HttpResponse:
    context: dict[str, Any] = {"form": form, "switch": switch}
    if is_conflict and switch and (last := switch.changes.first()):
        context["conflict"] = change_row(last)
    status = 409 if is_conflict else 400 if form.errors else 200
    return render(request, "dashboard/switch_form.html", context, status=status)


@require_safe
@vary_on_headers("HX-Request")
def switch(request: HttpRequest, key: str) -> HttpResponse:
    return switch_page(request, found(key))


def switch_page(
    request: HttpRequest, switch: Switch, form: RefusableForm | None = None, conflict: bool = False
) -> HttpResponse:
    """Show a switch, or its living part; with the form that was refused where there is one."""
    given = request.GET.get("revision", "")
    seen = SwitchPage(switch, timezone.now(), int(given) if given.isdecimal() and len(given) < 10 else switch.revision)
    version = fingerprint(translation.get_language(), seen.shown())
    context: dict[str, Any] = {"switch": switch, "page": seen, "version": version}
    if is_refresh(request) and request.method != "POST":
        return unchanged(request, version) or render(request, "dashboard/_switch_live.html", context)
    context |= {"cache": switch.cache_now, "off_form": OffForm(), "on_form": OnForm(), "plan_form": PlanForm()}
    context |= {"repoint_form": RepointForm(initial={"cache": switch.cache_next and switch.cache_next.name})}
    kept = AutoOff.objects.filter(switch=switch).first()
    context |= {"why_form": WhyForm(), "auto_off": kept, "rests_until": kept and kept.rests_until(seen.now)}
    context["auto_off_form"] = AutoOffForm(initial=AutoOffForm.initial_of(kept))
    context |= {"plans": switch.plans.filter(state__in=(*Plan.OPEN, Plan.State.SUSPENDED))}
    context |= {"proposals": switch.proposals.filter(state="waiting")}
    context |= {"charts": CHARTS_OF_A_SWITCH, "specs": [chart.spec() for chart in CHARTS_OF_A_SWITCH]}
    context |= {"chart_words": charts.words(), "usual_span": USUAL_SPAN}
    context["samples"] = bool(switch.cache_now_id and latest.caches([switch.cache_now_id]))
    if form is not None:
        context |= {NAMES[type(form)]: form, "refused": form}
        context["conflict"] = change_row(seen.last_change) if conflict and seen.last_change else None
    status = 200 if form is None else 409 if conflict else 400
    return render(request, "dashboard/switch.html", context, status=status)


NAMES = {
    OffForm: "off_form",
    OnForm: "on_form",
    RepointForm: "repoint_form",
    PlanForm: "plan_form",
    WhyForm: "why_form",
    AutoOffForm: "auto_off_form",
}


@require_safe
def instances(request: HttpRequest, key: str) -> HttpResponse:
    """All that report, a page at a time."""
    switch, standing = found(key), request.GET.get("standing", "")
    told = proof.of(switch, timezone.now())
    chosen = told.standing(standing) if standing in Standing.values else list(told.readers)
    page = Paginator(chosen, ROWS_A_PAGE).get_page(request.GET.get("page"))
    counts = [(kind.value, kind.label, len(told.standing(kind))) for kind in Standing]
    context: dict[str, Any] = {"switch": switch, "page": page, "parameter": f"standing={standing}&page"}
    context |= {"counts": counts, "standing": standing, "total": len(told.readers)}
    return render(request, "dashboard/switch_instances.html", context)


@require_safe
def changes(request: HttpRequest, key: str) -> HttpResponse:
    switch = found(key)
    page = Paginator(switch.changes.all(), CHANGES_A_PAGE).get_page(request.GET.get("page"))
    context = {"switch": switch, "page": page, "rows": [change_row(one) for one in page], "parameter": "page"}
    return render(request, "dashboard/switch_changes.html", context)
