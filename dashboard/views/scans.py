"""Scans of keys: the list, starting one with a preview, steering it while it runs, and schedules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone, translation
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from accounts.access import operator_required, signed_in
from accounts.models import User
from collectors.keyscan.models import Scan, ScanSchedule, ScanState, Speed
from collectors.keyscan.reasons import Reason, ScanRefusedError, words
from dashboard.abilities import page_without
from dashboard.refresh import fingerprint, is_refresh, unchanged
from dashboard.scan_form import ScanForm, ScheduleForm
from dashboard.scans import live, steering
from dashboard.scans.naming import Naming
from dashboard.scans.preview import preview
from dashboard.views.scan_results import result_page
from fleet.engines import without
from fleet.models import Cache, Reach

ROWS_A_PAGE = 30


@require_safe
def scans(request: HttpRequest) -> HttpResponse:
    rows = Scan.objects.select_related("cache")
    page = Paginator(rows, ROWS_A_PAGE).get_page(request.GET.get("page"))
    caches = Cache.objects.filter(reach=Reach.NODES).exclude(engine__in=without("key_scans")).order_by("name")
    return render(request, "dashboard/scans.html", {"page": page, "caches": caches})


@require_safe
def cache_scans(request: HttpRequest, name: str) -> HttpResponse:
    cache = get_object_or_404(Cache, name=name)
    if page := page_without(request, cache, "key_scans", "scans"):
        return page
    form = ScanForm(cache, request.GET if "preview" in request.GET else None)
    return scans_page(request, cache, form, ScheduleForm(cache))


def scans_page(request: HttpRequest, cache: Cache, form: ScanForm, schedule_form: ScheduleForm) -> HttpResponse:
    page = Paginator(cache.scans.all(), ROWS_A_PAGE).get_page(request.GET.get("page"))
    context: dict[str, Any] = {"cache": cache, "form": form, "schedule_form": schedule_form, "page": page}
    context["schedules"] = [
        {"schedule": one, "refused": words(one.refused_cause, one.refused_data) if one.refused_cause else ""}
        for one in cache.scan_schedules.all()
    ]
    if form.is_bound and form.is_valid():
        try:
            context |= {"preview": preview(cache, form.asked(), form.speed), "speed": form.speed}
        except ScanRefusedError as refused:
            context["refused"] = str(refused)
    status = 400 if schedule_form.errors else 200
    return render(request, "dashboard/cache_scans.html", context, status=status)


@operator_required
@require_POST
def start_scan(request: HttpRequest, name: str) -> HttpResponse:
    cache = get_object_or_404(Cache, name=name)
    form = ScanForm(cache, request.POST)
    if not form.is_valid():
        return scans_page(request, cache, form, ScheduleForm(cache))
    try:
        scan = steering.start(signed_in(request), cache, form.asked(), form.speed)
    except ScanRefusedError as refused:
        messages.error(request, str(refused))
        return redirect("cache-scans", cache.name)
    return redirect(scan)


@require_safe
@vary_on_headers("HX-Request")
def scan(request: HttpRequest, pk: int) -> HttpResponse:
    """Show how far a scan is, and once it has ended what it found."""
    found = get_object_or_404(Scan.objects.select_related("cache"), pk=pk)
    if not found.is_open:
        if is_refresh(request):
            # The whole page is another one now.
            return HttpResponse(status=200, headers={"HX-Refresh": "true"})
        return result_page(request, found)
    naming = Naming.for_reader(request)
    seen = live.live(found, timezone.now(), naming)
    context: dict[str, Any] = {"scan": found, "cache": found.cache, "live": seen, "speeds": Speed.choices}
    context["changes"] = changes_of(found)
    context["halt"] = halt_of(found, context["changes"])
    context["version"] = fingerprint(found.state, found.brake, seen, translation.get_language())
    if is_refresh(request):
        return unchanged(request, context["version"]) or render(request, "dashboard/_scan_live.html", context)
    return render(request, "dashboard/scan_live.html", context)


def halt_of(scan: Scan, changes: Sequence[Mapping[str, Any]]) -> str:
    """Return why a scan paused by itself; "" where a person paused it, or it goes on."""
    told = (entry["change"] for entry in reversed(changes) if entry["change"].cause != Reason.BRAKE)
    last = next(told, None) if scan.state == ScanState.PAUSED else None
    return words(last.cause, last.data) if last and not last.author else ""


def changes_of(scan: Scan) -> list[dict[str, Any]]:
    return [{"change": change, "words": live.change_words(change)} for change in scan.changes.all()]


@operator_required
@require_POST
def steer_scan(request: HttpRequest, pk: int, what: str) -> HttpResponse:
    """Pause, resume or cancel a scan."""
    return told(request, pk, lambda by, found: steering.act(by, found, what))


@operator_required
@require_POST
def brake_scan(request: HttpRequest, pk: int) -> HttpResponse:
    brake = request.POST.get("brake", "")
    if brake not in Speed.values:
        raise Http404
    return told(request, pk, lambda by, found: steering.set_brake(by, found, brake))


def told(request: HttpRequest, pk: int, act: Callable[[User, Scan], None]) -> HttpResponse:
    """Tell a scan something, and show it again, with the reason where it is too late."""
    found = get_object_or_404(Scan.objects.select_related("cache"), pk=pk)
    try:
        act(signed_in(request), found)
    except ScanRefusedError as refused:
        messages.warning(request, refused.sentence())
    return redirect(found)


@operator_required
@require_POST
def add_schedule(request: HttpRequest, name: str) -> HttpResponse:
    cache = get_object_or_404(Cache, name=name)
    form = ScheduleForm(cache, request.POST)
    if not form.is_valid():
        return scans_page(request, cache, ScanForm(cache), form)
    by = signed_in(request)
    steering.add_schedule(by, cache, **form.schedule(by))
    return redirect("cache-scans", cache.name)


@operator_required
@require_POST
def remove_schedule(request: HttpRequest, pk: int) -> HttpResponse:
    schedule = get_object_or_404(ScanSchedule.objects.select_related("cache"), pk=pk)
    steering.remove_schedule(signed_in(request), schedule)
    return redirect("cache-scans", schedule.cache.name)
