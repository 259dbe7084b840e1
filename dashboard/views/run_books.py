"""Run books: the guided way of a switch from one cache to another, and back into use."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from accounts.access import operator_required, signed_in
from dashboard.refresh import fingerprint, is_refresh, unchanged
from dashboard.run_book_page import RunBookPage
from dashboard.switch_form import RunBookForm
from dashboard.switch_page import SwitchPage
from dashboard.views.switches import found
from switches import run_book_steps
from switches.models import RunBook, Switch


def rows() -> QuerySet[RunBook]:
    return RunBook.objects.select_related("target", "switch__cache_now", "switch__cache_next")


@require_safe
@vary_on_headers("HX-Request")
def run_book(request: HttpRequest, key: str) -> HttpResponse:
    """Show the run book that is under way, else how to begin one and what the last ones did."""
    switch = found(key)
    initial = {"target": switch.cache_next and switch.cache_next.name}
    return run_book_page(request, switch, RunBookForm(initial=initial))


def run_book_page(request: HttpRequest, switch: Switch, form: RunBookForm) -> HttpResponse:
    past = list(rows().filter(switch=switch)[:20])
    book = next((one for one in past if one.is_open), None)
    context: dict[str, Any] = {"switch": switch, "form": form, "past": [one for one in past if not one.is_open]}
    if book:
        page = RunBookPage(book, SwitchPage(book.switch, timezone.now(), switch.revision))
        version = fingerprint(translation.get_language(), page.shown())
        context |= {"book": book, "page": page, "version": version}
        if is_refresh(request):
            return unchanged(request, version) or render(request, "dashboard/_run_book.html", context)
    elif is_refresh(request):
        # It ended: the whole page is another one now.
        return HttpResponse(status=200, headers={"HX-Refresh": "true"})
    return render(request, "dashboard/run_book.html", context, status=400 if form.errors else 200)


@require_safe
def past_run_book(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    """Show the record of one run book."""
    book = get_object_or_404(rows(), pk=pk, switch__key=key)
    page = RunBookPage(book, SwitchPage(book.switch, timezone.now(), book.switch.revision))
    return render(request, "dashboard/run_book_past.html", {"switch": book.switch, "book": book, "page": page})


@operator_required
@require_POST
def begin(request: HttpRequest, key: str) -> HttpResponse:
    switch, form = found(key), RunBookForm(request.POST)
    if form.is_valid():
        try:
            run_book_steps.begin(switch, signed_in(request), **form.given())
        except ValidationError as error:
            form.refuse(error)
        else:
            return redirect("run-book", key)
    return run_book_page(request, switch, form)


@operator_required
@require_POST
def act(request: HttpRequest, key: str, pk: int, what: str) -> HttpResponse:
    """Take a step, forward or back, where the run book is still where the person saw it."""
    book = get_object_or_404(rows(), pk=pk, switch__key=key)
    if what not in run_book_steps.ACTS:
        raise Http404
    if request.POST.get("at") != book.at:
        messages.warning(request, _("The run book has moved on since you opened the page. Nothing was done."))
        return redirect("run-book", key)
    try:
        run_book_steps.ACTS[what](book, signed_in(request))
    except ValidationError as error:
        messages.error(request, error.messages[0])
    return redirect("run-book", key)
