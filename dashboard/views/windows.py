"""Maintenance windows: those that are kept, when they come next, and the form."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.access import operator_required, signed_in
from alerts import window_changes
from alerts.window import Window
from dashboard.window_form import WindowForm, WindowPreviewForm

# The next times of one that is kept, and of one that is typed.
COMING, PREVIEWED = 3, 10


@require_safe
def windows(request: HttpRequest) -> HttpResponse:
    given = {"matchers": request.GET.get("matchers", "")[:6_000], "zone": timezone.get_current_timezone_name()}
    return windows_page(request, WindowForm(initial=given))


def windows_page(request: HttpRequest, form: WindowForm) -> HttpResponse:
    now = timezone.now()
    rows = [
        {"window": one, "coming": one.following(now, COMING), "is_on": one.covers(now)} for one in Window.objects.all()
    ]
    context = {"form": form, "rows": rows, "tab": "windows"}
    return render(request, "alerts/windows.html", context, status=400 if form.errors else 200)


@operator_required
@require_POST
def add_window(request: HttpRequest) -> HttpResponse:
    form = WindowForm(request.POST)
    if form.is_valid():
        try:
            window = form.window(timezone.now())
            window_changes.add(signed_in(request), window, form.cleaned_data["comment"])
        except ValidationError as error:
            form.refuse(error)
        else:
            messages.success(request, _("The window is kept. What was told before is still told to be over."))
            return redirect("windows")
    return windows_page(request, form)


@require_safe
def preview(request: HttpRequest) -> HttpResponse:
    """When a window as it is typed would come, and what it would hide."""
    form, now = WindowPreviewForm(request.GET), timezone.now()
    if not form.is_valid():
        return render(request, "alerts/_window_times.html", {})
    try:
        made = form.window(now)
    except ValidationError as error:
        return render(request, "alerts/_window_times.html", {"error": error.messages[0]})
    context = {"coming": made.following(now, PREVIEWED), **window_changes.would_hide(made, now)}
    return render(request, "alerts/_window_times.html", context)


@operator_required
@require_POST
def delete_window(request: HttpRequest, pk: int) -> HttpResponse:
    window_changes.delete(signed_in(request), get_object_or_404(Window, pk=pk))
    return redirect("windows")
