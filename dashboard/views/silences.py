"""Silences: what is hidden now, the form with its preview, and ending one."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.access import operator_required, signed_in
from alerts import silence_changes
from alerts.silence import Silence
from dashboard.alert_rows import AlertRow
from dashboard.silence_form import SilenceForm, initial

ROWS_A_PAGE = 50
LISTED = 20


@require_safe
def silences(request: HttpRequest) -> HttpResponse:
    return silences_page(request, SilenceForm(initial=initial(request.GET)))


def silences_page(request: HttpRequest, form: SilenceForm) -> HttpResponse:
    now = timezone.now()
    page = Paginator(Silence.objects.select_related("event").order_by("-ends_at", "-pk"), ROWS_A_PAGE).get_page(
        request.GET.get("page")
    )
    active = set(Silence.objects.active(now).values_list("pk", flat=True))
    context = {"form": form, "page": page, "active": active, "now": now, "tab": "silences", "parameter": "page"}
    return render(request, "alerts/silences.html", context, status=400 if form.errors else 200)


@operator_required
@require_POST
def add_silence(request: HttpRequest) -> HttpResponse:
    form = SilenceForm(request.POST)
    if form.is_valid():
        try:
            silence_changes.add(signed_in(request), form.lines(), **form.given(timezone.now()))
        except ValidationError as error:
            form.refuse(error)
        else:
            messages.success(request, _("The silence is in force. What was told before is still told to be over."))
            return redirect("silences")
    return silences_page(request, form)


@require_safe
def preview(request: HttpRequest) -> HttpResponse:
    """What a silence with these matchers would hide now."""
    try:
        found = silence_changes.parsed(request.GET.get("matchers", "").splitlines())
    except ValidationError as error:
        return render(request, "alerts/_silence_preview.html", {"error": error.messages[0]})
    hidden = silence_changes.hidden_now(found)
    rows = [AlertRow(alert) for alert in hidden[:LISTED]]
    lately = silence_changes.hidden_lately(found, timezone.now())
    return render(request, "alerts/_silence_preview.html", {"count": len(hidden), "rows": rows, "lately": lately})


@operator_required
@require_POST
def end_silence(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(Silence, pk=pk)
    if not silence_changes.end(signed_in(request), found, timezone.now()):
        messages.warning(request, _("It is over already."))
    return redirect("silences")
