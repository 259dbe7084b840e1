"""The page of alerts: what fires now, and the history with its export."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from alerts import judged_rules
from alerts.alert import Alert
from alerts.models import Channel
from dashboard.alert_rows import ALERTS_SHOWN, SEVERITY_WORDS, AlertQuery, export_row, groups
from dashboard.refresh import fingerprint, is_refresh, unchanged
from dashboard.scans.export import TYPES, as_csv, as_list

ROWS_A_PAGE = 50
WRITERS = {"csv": as_csv, "json": as_list}


@require_safe
@vary_on_headers("HX-Request")
def alerts(request: HttpRequest) -> HttpResponse:
    query, now = AlertQuery.of(request.GET), timezone.now()
    rows = list(query.alerts(Alert.objects.active())[: ALERTS_SHOWN + 1])
    judged = judged_rules.current(now)
    told = [
        (row.pk, row.state, row.severity, row.reason, row.value, row.incident_id, row.kept_back, row.behind_id)
        for row in rows
    ]
    known = [(row.incident.heading, row.incident.acknowledged_at) for row in rows if row.incident]
    routes = set(Channel.objects.values_list("routes", flat=True))
    has_channels, is_routed = bool(routes), bool(routes - {None})
    version = fingerprint(translation.get_language(), told, known, has_channels, is_routed, judged.instances)
    if is_refresh(request) and (same := unchanged(request, version)):
        return same
    context: dict[str, Any] = {"query": query, "groups": groups(rows[:ALERTS_SHOWN]), "version": version, "tab": "now"}
    context |= {"has_more": len(rows) > ALERTS_SHOWN, "judged": judged, "has_channels": has_channels}
    context["is_routed"] = is_routed
    context["severities"] = SEVERITY_WORDS
    return render(request, "alerts/_alerts.html" if is_refresh(request) else "alerts/alerts.html", context)


@require_safe
def history(request: HttpRequest) -> HttpResponse:
    query = AlertQuery.of(request.GET)
    page = Paginator(query.incidents(timezone.now()), ROWS_A_PAGE).get_page(request.GET.get("page"))
    context = {"query": query, "page": page, "severities": SEVERITY_WORDS, "tab": "history"}
    return render(request, "alerts/history.html", context)


@require_safe
def export_history(request: HttpRequest) -> HttpResponseBase:
    """The history as a file; what is asked for in another form than these is said to be none."""
    name = request.GET.get("format", "csv")
    if name not in WRITERS:
        return HttpResponse(
            _("Ask for format=csv or format=json."), status=400, content_type="text/plain; charset=utf-8"
        )
    found = AlertQuery.of(request.GET).incidents(timezone.now())
    rows = WRITERS[name](map(export_row, found.iterator(1_000)))
    response = StreamingHttpResponse(rows, content_type=TYPES[name])
    response["Content-Disposition"] = f'attachment; filename="incidents.{name}"'
    return response
