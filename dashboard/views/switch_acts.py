"""What operators do to a switch: each act is a POST of its own, and keeps what was typed where it is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.access import operator_required, signed_in
from dashboard.switch_form import (
    AutoOffForm,
    ExtendForm,
    OffForm,
    OnForm,
    PlanForm,
    RefusableForm,
    RepointForm,
    WhyForm,
    span_of,
)
from dashboard.views.switches import found, switch_page
from fleet.registration import ConflictError
from switches import allowing, approving, changing, schedules
from switches.models import Plan, Proposal, Switch

F = TypeVar("F", bound=RefusableForm)


def act(request: HttpRequest, key: str, kind: type[F], do: Callable[[Switch, F], object]) -> HttpResponse:
    """Do what a form asks for; where it is refused, show the page with the form as it was filled in."""
    switch = found(key)
    form = kind(request.POST)
    if not form.is_valid():
        return switch_page(request, switch, form)
    try:
        do(switch, form)
    except ValidationError as error:
        switch, seen = found(key), form.cleaned_data.get("revision")
        is_overtaken = isinstance(error, ConflictError) and seen not in {None, switch.revision}
        form.refuse(error)
        return switch_page(request, switch, form, conflict=is_overtaken)
    return redirect("switch", key)


@operator_required
@require_POST
def off(request: HttpRequest, key: str) -> HttpResponse:
    """Turn it off, whatever revision the page was at: this must never wait for a second look."""
    return act(request, key, OffForm, lambda switch, form: changing.turn_off(switch, signed_in(request), form.why()))


@operator_required
@require_POST
def on(request: HttpRequest, key: str) -> HttpResponse:
    def do(switch: Switch, form: OnForm) -> None:
        percent = form.cleaned_data["percent"]
        made = approving.turn_on(switch, signed_in(request), form.why(), form.seen_revision, percent)
        if isinstance(made, Proposal):
            messages.info(request, _("It is proposed. Another person must agree before the switch turns on."))

    return act(request, key, OnForm, do)


@operator_required
@require_POST
def repoint(request: HttpRequest, key: str) -> HttpResponse:
    def do(switch: Switch, form: RepointForm) -> None:
        changing.repoint(switch, signed_in(request), form.why(), form.seen_revision, form.cleaned_data["cache"])

    return act(request, key, RepointForm, do)


@operator_required
@require_POST
def retire(request: HttpRequest, key: str) -> HttpResponse:
    def do(switch: Switch, form: WhyForm) -> None:
        changing.retire(switch, signed_in(request), form.why(), form.seen_revision)

    return act(request, key, WhyForm, do)


@operator_required
@require_POST
def auto_off(request: HttpRequest, key: str) -> HttpResponse:
    """Say which rules may turn it off."""

    def do(switch: Switch, form: AutoOffForm) -> None:
        allowing.allow(switch, signed_in(request), **form.given())
        messages.success(request, _("The changes are saved."))

    return act(request, key, AutoOffForm, do)


@operator_required
@require_POST
def plan(request: HttpRequest, key: str) -> HttpResponse:
    def do(switch: Switch, form: PlanForm) -> None:
        now = timezone.now()
        starts_at, ends_at = span_of(form, now)
        if switch.revision != form.seen_revision:
            raise ConflictError(_("Somebody changed this switch in the meantime: look before you plan."))
        schedules.add(switch, signed_in(request), form.cleaned_data["percent"], starts_at, ends_at, form.why(), now)

    return act(request, key, PlanForm, do)


@operator_required
@require_POST
def cancel_plan(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    found_plan = get_object_or_404(Plan.objects.select_related("switch"), pk=pk, switch__key=key)
    return tried(request, key, lambda: schedules.cancel(found_plan, signed_in(request)))


@operator_required
@require_POST
def extend_plan(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    found_plan = get_object_or_404(Plan.objects.select_related("switch"), pk=pk, switch__key=key)
    form = ExtendForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("Give a time until which it shall stay as it is."))
        return redirect("switch", key)
    until, now = form.cleaned_data["ends_at"], timezone.now()
    return tried(request, key, lambda: schedules.extend(found_plan, signed_in(request), until, now))


@operator_required
@require_POST
def approve(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    proposal = get_object_or_404(Proposal.objects.select_related("switch"), pk=pk, switch__key=key)
    return tried(request, key, lambda: approving.approve(proposal, signed_in(request)))


@operator_required
@require_POST
def decline(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    proposal = get_object_or_404(Proposal.objects.select_related("switch"), pk=pk, switch__key=key)
    return tried(request, key, lambda: approving.decline(proposal, signed_in(request)))


def tried(request: HttpRequest, key: str, do: Callable[[], object]) -> HttpResponse:
    """Do what needs no form, and say why where it is refused."""
    try:
        do()
    except ValidationError as error:
        messages.error(request, error.messages[0])
    return redirect("switch", key)
