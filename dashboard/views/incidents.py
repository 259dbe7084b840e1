"""The page of one incident, and what a person does about it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from accounts.access import operator_required, signed_in
from accounts.models import Role, User
from alerts import escalation, incident_acts, incident_chart
from alerts import story as alert_story
from alerts.alert import Alert
from alerts.models import Incident
from alerts.remark import TEXT_LIMIT
from alerts.route import Tree
from collectors.event import Event
from dashboard import related, timeline
from dashboard.alert_rows import SEVERITY_WORDS, AlertRow
from dashboard.refresh import fingerprint, is_refresh, unchanged
from dashboard.views.events import EventRow, rows_of

BEFORE = timedelta(hours=1)
EVENTS_SHOWN = 20
SLEEPS = {
    "30m": timedelta(minutes=30),
    "1h": timedelta(hours=1),
    "4h": timedelta(hours=4),
    "1d": timedelta(days=1),
}
SLEEP_WORDS = (
    ("30m", gettext_lazy("30 minutes")),
    ("1h", gettext_lazy("1 hour")),
    ("4h", gettext_lazy("4 hours")),
    ("1d", gettext_lazy("24 hours")),
)


def incident_numbered(pk: int) -> Incident:
    return get_object_or_404(Incident.objects.select_related("cache", "route"), pk=pk)


@require_safe
@vary_on_headers("HX-Request")
def incident(request: HttpRequest, pk: int) -> HttpResponse:
    found, now = incident_numbered(pk), timezone.now()
    alerts = timeline.alerts_of(found)
    story = timeline.entries(found, alerts)
    hidden = [AlertRow(alert) for alert in timeline.hidden_behind(found)]
    told = [(alert.value, alert.kept_back) for alert in alerts]
    near = related.of(found, alerts)
    marks = (found.closed_at, told, story, [row.alert.pk for row in hidden], related.marks(near))
    version = fingerprint(translation.get_language(), *marks)
    if is_refresh(request) and (same := unchanged(request, version)):
        return same
    context: dict[str, Any] = {"incident": found, "rows": [AlertRow(alert) for alert in alerts], "story": story}
    context |= {"sleeps": SLEEP_WORDS, "people": people() if may_act(request, found) else []}
    context |= {"hidden": hidden, "next_step": escalation.next_step(found, Tree.load())}
    context |= {"version": version, "picture": incident_chart.of(found, alerts, now), "events": events_around(found)}
    context |= {"related": near, "pending": [AlertRow(alert) for alert in near.pending] if near else []}
    context |= {"severity_word": SEVERITY_WORDS.get(found.severity, found.severity), "text_limit": TEXT_LIMIT}
    context |= {"silence_query": silence_query(alerts), "cache": None}
    context |= advice_of(alerts[0]) if alerts else {}
    return render(request, "alerts/_incident.html" if is_refresh(request) else "alerts/incident.html", context)


def may_act(request: HttpRequest, found: Incident) -> bool:
    return found.is_open and signed_in(request).is_operator


def people() -> list[str]:
    """Return who may be given an incident."""
    able = [role for role in Role.values if role != Role.VIEWER]
    return list(
        User.objects.filter(is_active=True, role__in=able).order_by("username").values_list("username", flat=True)
    )


def advice_of(alert: Alert) -> dict[str, Any]:
    return {"advice": alert_story.advice(alert), "runbook": alert_story.runbook(alert)}


def events_around(found: Incident) -> list[EventRow]:
    """Return what happened to the incident's cache from an hour before it on, newest first."""
    if found.cache is None:
        return []
    events = Event.objects.about(found.cache).between(found.opened_at - BEFORE, found.closed_at or timezone.now())
    return rows_of(events.on_top().select_related("cache").prefetch_related("parts")[:EVENTS_SHOWN])


def silence_query(alerts: list[Alert]) -> str:
    """Return the matchers that the form for silences opens with: what all alerts have in common."""
    common = {"rule": {alert.rule_key for alert in alerts}, "cache": {alert.cache_name for alert in alerts}}
    common["node"] = {alert.node_address for alert in alerts}
    lines = [f"{name}={next(iter(values))}" for name, values in common.items() if len(values) == 1 and any(values)]
    return urlencode({"matchers": "\n".join(lines)})


@operator_required
@require_POST
def acknowledge(request: HttpRequest, pk: int) -> HttpResponse:
    found = incident_numbered(pk)
    if incident_acts.acknowledge(signed_in(request), found, timezone.now()):
        messages.success(request, _("You look after it. All who were told will hear that."))
    else:
        messages.warning(request, _("Somebody looks after it already, or it is over."))
    return redirect(found)


@operator_required
@require_POST
def add_note(request: HttpRequest, pk: int) -> HttpResponse:
    found = incident_numbered(pk)
    try:
        incident_acts.add_note(signed_in(request), found, request.POST.get("text", ""), timezone.now())
    except ValidationError as error:
        messages.error(request, error.messages[0])
    return redirect(found)


@operator_required
@require_POST
def close(request: HttpRequest, pk: int) -> HttpResponse:
    found = incident_numbered(pk)
    if not incident_acts.close(signed_in(request), found, timezone.now()):
        messages.warning(request, _("It is over already."))
    return redirect(found)


@operator_required
@require_POST
def assign(request: HttpRequest, pk: int) -> HttpResponse:
    found = incident_numbered(pk)
    try:
        if not incident_acts.assign(signed_in(request), found, request.POST.get("to", ""), timezone.now()):
            messages.warning(request, _("It is theirs already, or it is over."))
    except ValidationError as error:
        messages.error(request, error.messages[0])
    return redirect(found)


@operator_required
@require_POST
def snooze(request: HttpRequest, pk: int) -> HttpResponse:
    found, now = incident_numbered(pk), timezone.now()
    try:
        until = now + SLEEPS.get(request.POST.get("length", ""), timedelta(0))
        if incident_acts.snooze(signed_in(request), found, until, now):
            messages.success(request, _("It sleeps. If it goes on, it is told again by itself."))
        else:
            messages.warning(request, _("It is over already."))
    except ValidationError as error:
        messages.error(request, error.messages[0])
    return redirect(found)
