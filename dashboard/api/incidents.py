"""Incidents: alerts that people were told of together, and what a person does about them."""

from datetime import datetime
from typing import Annotated, Any, Literal

from django.db.models import QuerySet
from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _
from ninja import Path, Query, Router, Schema, Status
from ninja.errors import HttpError
from pydantic import Field

from accounts.access import signed_in
from accounts.api_auth import callers
from accounts.models import Role
from alerts import incident_acts
from alerts.models import Incident
from alerts.remark import TEXT_LIMIT
from dashboard import timeline
from dashboard.alert_rows import AlertQuery
from dashboard.api.alerts import AlertAnswer, Severity, alert_answer
from dashboard.api.answers import problems
from dashboard.api.paging import PageAnswer, PageQuery
from dashboard.api.schemas import BIGGEST, NO_NUL, Strict
from dashboard.api.silences import When, time_of

router = Router(tags=["incidents"], auth=callers())
operators = callers(Role.OPERATOR)


class IncidentFilter(PageQuery):
    q: str = Field("", max_length=100, description="Part of the title or of the cache's name.")
    label: str = Field("", max_length=100, description="A label of the cache, such as env=production.")
    severity: Severity | None = None
    state: Literal["open", "closed"] | None = None
    span: Literal["1d", "7d", "30d", "all"] = Field("all", description="Opened within this time.")

    def apply(self) -> QuerySet[Incident]:
        query = AlertQuery(self.q.strip(), self.label.strip(), self.severity or "", self.span)
        found = query.incidents(timezone.now())
        return found if self.state is None else found.filter(closed_at__isnull=self.state == "open")


class Assignment(Strict):
    to: Annotated[str, Field(min_length=1, max_length=150, pattern=NO_NUL, description="The name of an operator.")]


class Sleep(Strict):
    until: When = Field(description="5 minutes to 7 days ahead.")


class NoteText(Strict):
    text: Annotated[str, Field(min_length=1, max_length=TEXT_LIMIT, pattern=NO_NUL)]


class IncidentAnswer(Schema):
    id: int
    url: str = Field(description="The incident's page.")
    title: str
    severity: str
    reason: str = Field(description="Why it was opened.")
    end_reason: str = Field(description="Why it ended; empty while it is open.")
    cache: str
    opened_at: datetime
    acknowledged_at: datetime | None
    acknowledged_by: str
    assigned_to: str
    snoozed_until: datetime | None = Field(description="Until then nobody hears of it unless it gets worse.")
    closed_at: datetime | None
    dedup_key: str = Field(description="Its name at every pager.")


class TimelineAnswer(Schema):
    at: datetime
    kind: Literal["alert", "decision", "delivery", "person"]
    words: str
    detail: str
    author: str


class WholeIncident(IncidentAnswer):
    alerts: list[AlertAnswer]
    timeline: list[TimelineAnswer] = Field(description="Every change, decision, message and answer, oldest first.")


class IncidentPage(PageAnswer):
    incidents: list[IncidentAnswer]


@router.get("", response={200: IncidentPage, **problems()}, operation_id="list_incidents", summary="List incidents")
def list_incidents(request: HttpRequest, filters: Query[IncidentFilter]) -> dict[str, Any]:
    """Newest first."""
    found = filters.apply()
    rows = [incident_answer(request, row) for row in found[filters.cut]]
    return {**filters.told(found.count()), "incidents": rows}


@router.get(
    "/{incident_id}",
    response={200: WholeIncident, **problems(404)},
    operation_id="get_incident",
    summary="Show one incident with its alerts and its timeline",
)
def get_incident(request: HttpRequest, incident_id: Path[int]) -> dict[str, Any]:
    found = incident_numbered(incident_id)
    alerts = timeline.alerts_of(found)
    told = timeline.entries(found, alerts)
    return {**incident_answer(request, found), "alerts": [alert_answer(alert) for alert in alerts], "timeline": told}


@router.post(
    "/{incident_id}/acknowledge",
    auth=operators,
    response={200: IncidentAnswer, **problems(404, 409)},
    operation_id="acknowledge_incident",
    summary="Acknowledge an incident",
)
def acknowledge_incident(request: HttpRequest, incident_id: Path[int]) -> dict[str, Any]:
    """All channels that were told hear of it. 409 where somebody did already, or where it is over."""
    found = incident_numbered(incident_id)
    if not incident_acts.acknowledge(signed_in(request), found, timezone.now()):
        raise HttpError(409, _("Somebody looks after it already, or it is over."))
    return incident_answer(request, found)


@router.post(
    "/{incident_id}/close",
    auth=operators,
    response={200: IncidentAnswer, **problems(404, 409)},
    operation_id="close_incident",
    summary="Close an incident by hand",
)
def close_incident(request: HttpRequest, incident_id: Path[int]) -> dict[str, Any]:
    """All channels that were told hear of it. 409 where it is over already."""
    found = incident_numbered(incident_id)
    if not incident_acts.close(signed_in(request), found, timezone.now()):
        raise HttpError(409, _("It is over already."))
    return incident_answer(request, found)


@router.post(
    "/{incident_id}/assign",
    auth=operators,
    response={200: IncidentAnswer, **problems(404, 409, 413, 415)},
    operation_id="assign_incident",
    summary="Give somebody an incident",
)
def assign_incident(request: HttpRequest, incident_id: Path[int], body: Assignment) -> dict[str, Any]:
    """All channels that were told hear of it. 409 where it is theirs already, or over."""
    found = incident_numbered(incident_id)
    if not incident_acts.assign(signed_in(request), found, body.to, timezone.now()):
        raise HttpError(409, _("It is theirs already, or it is over."))
    return incident_answer(request, found)


@router.post(
    "/{incident_id}/snooze",
    auth=operators,
    response={200: IncidentAnswer, **problems(404, 409, 413, 415)},
    operation_id="snooze_incident",
    summary="Let an incident sleep",
)
def snooze_incident(request: HttpRequest, incident_id: Path[int], body: Sleep) -> dict[str, Any]:
    """It counts as acknowledged, and is told again by itself if it goes on then. 409 where it is over."""
    found, now = incident_numbered(incident_id), timezone.now()
    if not incident_acts.snooze(signed_in(request), found, time_of("until", body.until), now):
        raise HttpError(409, _("It is over already."))
    return incident_answer(request, found)


@router.post(
    "/{incident_id}/notes",
    auth=operators,
    response={201: TimelineAnswer, **problems(404, 413, 415)},
    operation_id="add_incident_note",
    summary="Add a note to an incident",
)
def add_incident_note(request: HttpRequest, incident_id: Path[int], body: NoteText) -> Status[dict[str, Any]]:
    found = incident_numbered(incident_id)
    note = incident_acts.add_note(signed_in(request), found, body.text, timezone.now())
    return Status(201, {"at": note.at, "kind": "person", "words": note.text, "detail": "", "author": note.author})


def incident_numbered(incident_id: int) -> Incident:
    if not 0 < incident_id <= BIGGEST:
        raise Http404
    return get_object_or_404(Incident, pk=incident_id)


def incident_answer(request: HttpRequest, incident: Incident) -> dict[str, Any]:
    same = ("id", "title", "severity", "reason", "end_reason", "opened_at", "acknowledged_at", "acknowledged_by")
    more = ("assigned_to", "snoozed_until", "closed_at", "dedup_key")
    return {
        **{name: getattr(incident, name) for name in (*same, *more)},
        "url": request.build_absolute_uri(incident.get_absolute_url()),
        "cache": incident.cache_name,
    }
