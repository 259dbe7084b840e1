"""Routes: the tree, the form of a branch, and where a sample alert would go."""

from __future__ import annotations

from datetime import timedelta
from itertools import islice
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.access import admin_required, signed_in
from alerts import route_changes, route_words
from alerts.models import Channel, Route, Step
from alerts.route import Tree
from alerts.spells import spells
from dashboard.route_form import MomentForm, RouteForm, RoutePreviewForm, StepForm

SAMPLE = "cache=game-cache\nrule=node-down\nseverity=critical"
# How far ahead is shown who would be told, and how many of a route's next hours.
SHOWN, COMING = timedelta(days=7), 5


@require_safe
def routes(request: HttpRequest) -> HttpResponse:
    context: dict[str, Any] = {
        "branches": route_changes.branches(),
        "tab": "routes",
        "has_channels": Channel.objects.exists(),
        "is_routed": Channel.objects.filter(routes__isnull=False).exists(),
    }
    return render(request, "alerts/routes.html", context | {"sample": SAMPLE, "moment_form": MomentForm()})


@require_safe
def test_route(request: HttpRequest) -> HttpResponse:
    """Where an alert with the labels given would go."""
    try:
        labels = route_changes.labels_of(request.GET.get("labels", "")[:6_000].splitlines())
        at = MomentForm(request.GET).moment(timezone.now())
    except ValidationError as error:
        return render(request, "alerts/_route_test.html", {"error": error.messages[0]})
    found = spells(Tree.load(), labels, at, at + SHOWN)
    names = dict(Channel.objects.values_list("pk", "name"))
    rows = [(spell, sorted(names[pk] for pk in spell.way.channel_ids)) for spell in found]
    way = found[0].way
    shared = [(name, labels.get(name, "")) for name in way.route.group_by]
    return render(request, "alerts/_route_test.html", {"way": way, "shared": shared, "rows": rows})


@require_safe
def preview(request: HttpRequest, pk: int, is_new: bool) -> HttpResponse:
    """What a route as it is typed would do, and when."""
    known, form = get_object_or_404(Route.objects.select_related("parent"), pk=pk), RoutePreviewForm(request.GET)
    if not form.is_valid():
        return render(request, "alerts/_route_preview.html", {"errors": form.errors})
    try:
        route = route_changes.fill(Route(parent=known) if is_new else known, form.given() | {"name": "-"})
    except ValidationError as error:
        return render(request, "alerts/_route_preview.html", {"errors": error.message_dict})
    now = timezone.now()
    coming = list(islice(route.weekly.following(now, now + SHOWN), COMING)) if route.weekdays else []
    words = route_words.sentence(route, form.cleaned_data["channels"])
    return render(request, "alerts/_route_preview.html", {"words": words, "coming": coming})


@admin_required
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest, pk: int) -> HttpResponse:
    """Add a branch below the route `pk`."""
    parent = get_object_or_404(Route, pk=pk)
    form = RouteForm(request.POST or None, initial=RouteForm.initial_of(Route()))
    if request.method == "POST" and form.is_valid():
        try:
            route_changes.add(signed_in(request), parent, form.given(), form.cleaned_data["channels"])
        except ValidationError as error:
            form.refuse(error)
        else:
            return redirect("routes")
    return form_page(request, form, None, parent)


@admin_required
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, pk: int) -> HttpResponse:
    route = get_object_or_404(Route.objects.select_related("parent"), pk=pk)
    form = RouteForm(request.POST or None, initial=RouteForm.initial_of(route))
    if request.method == "POST" and form.is_valid():
        try:
            route_changes.change(signed_in(request), route, form.given(), form.cleaned_data["channels"])
        except ValidationError as error:
            form.refuse(error)
        else:
            messages.success(request, _("The changes are saved."))
            return redirect("routes")
    return form_page(request, form, route, route.parent)


def form_page(
    request: HttpRequest, form: RouteForm, route: Route | None, parent: Route | None, step: StepForm | None = None
) -> HttpResponse:
    context: dict[str, Any] = {"form": form, "route": route, "parent": parent, "step_form": step or StepForm()}
    # What a route is among others below the same one; the first stands alone and takes everything.
    context["only_branches"] = ("matchers", "position", "goes_on", *route_changes.HOURS)
    if route:
        own = list(route.steps.prefetch_related("channels"))
        context |= {"steps": own or Tree.load().steps(route.pk), "are_own": bool(own)}
    is_wrong = form.errors or (step and step.errors)
    return render(request, "alerts/route_form.html", context, status=400 if is_wrong else 200)


@admin_required
@require_POST
def add_step(request: HttpRequest, pk: int) -> HttpResponse:
    route = get_object_or_404(Route.objects.select_related("parent"), pk=pk)
    form = StepForm(request.POST)
    if form.is_valid():
        given = form.cleaned_data
        try:
            route_changes.add_step(signed_in(request), route, given["after_seconds"], list(given["step_channels"]))
        except ValidationError as error:
            form.refuse(error)
        else:
            return redirect("route-edit", pk)
    return form_page(request, RouteForm(initial=RouteForm.initial_of(route)), route, route.parent, form)


@admin_required
@require_POST
def delete_step(request: HttpRequest, pk: int, step: int) -> HttpResponse:
    route_changes.delete_step(signed_in(request), get_object_or_404(Step, pk=step, route=pk))
    return redirect("route-edit", pk)


@admin_required
@require_POST
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    route = get_object_or_404(Route, pk=pk)
    try:
        route_changes.delete(signed_in(request), route)
    except ValidationError as error:
        messages.error(request, error.messages[0])
    return redirect("routes")
