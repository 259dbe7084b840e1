"""Registering, changing and removing a cache, and testing its connection."""

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from accounts.access import operator_required, signed_in
from collectors import probe
from dashboard import cache_changes
from dashboard.forms import CacheForm, ConnectionForm, DeleteForm
from fleet.models import Cache


@operator_required
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    form = CacheForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            cache, discovery = cache_changes.add(signed_in(request), form.given())
        except ValidationError as error:
            form.refuse(error)
        else:
            tell(request, discovery)
            return redirect(cache)
    return form_page(request, form)


@operator_required
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, name: str) -> HttpResponse:
    cache = get_object_or_404(Cache, name=name)
    form = CacheForm(request.POST or None, cache=cache)
    if request.method == "POST" and form.is_valid():
        try:
            revision = form.cleaned_data["revision"] or cache.revision
            changed, discovery = cache_changes.change(signed_in(request), cache, form.given(), revision)
        except ValidationError as error:
            form.refuse(error)
        else:
            messages.success(request, _("The changes have been saved."))
            if discovery:
                tell(request, discovery)
            return redirect(changed)
    return form_page(request, form)


@operator_required
@require_http_methods(["GET", "POST"])
def delete(request: HttpRequest, name: str) -> HttpResponse:
    cache = get_object_or_404(Cache, name=name)
    form = DeleteForm(request.POST or None, cache=cache)
    if request.method == "POST" and form.is_valid():
        cache_changes.delete(signed_in(request), cache)
        messages.success(request, _("%(name)s has been removed.") % {"name": name})
        return redirect("fleet")
    status = 400 if form.errors else 200
    return render(request, "dashboard/cache_delete.html", {"cache": cache, "form": form}, status=status)


@operator_required
@require_POST
def test(request: HttpRequest) -> HttpResponse:
    """Test what the form holds. htmx asks for the steps alone; without scripts the form comes again with them."""
    stored = Cache.objects.filter(name=request.POST.get("editing", "").replace("\0", "")).first()
    form, steps = ConnectionForm(request.POST, cache=stored), list[probe.StepResult]()
    if form.is_valid():
        try:
            steps = cache_changes.try_connection(stored or Cache(), form.given())
        except ValidationError as error:
            form.refuse(error)
    if "HX-Request" in request.headers:
        return render(request, "dashboard/_connection_steps.html", {"form": form, "steps": steps})
    return form_page(request, form, steps)


def tell(request: HttpRequest, discovery: probe.Discovery) -> None:
    """Say what was found at the address when it was looked at for the first time."""
    messages.add_message(request, messages.SUCCESS if discovery.ok else messages.WARNING, discovery.sentence)


def form_page(request: HttpRequest, form: CacheForm, steps: list[probe.StepResult] | None = None) -> HttpResponse:
    status = 400 if form.errors else 200
    return render(request, "dashboard/cache_form.html", {"form": form, "steps": steps}, status=status)
