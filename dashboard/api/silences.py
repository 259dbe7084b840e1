"""Silences: alerts that nobody is told of for a while."""

from datetime import datetime
from typing import Annotated, Any

from django.core.exceptions import ValidationError
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
from alerts import silence_changes
from alerts.silence import Silence
from collectors.event import Event
from collectors.series import RangeError
from dashboard.api.alerts import AlertAnswer, alert_answer
from dashboard.api.answers import problems
from dashboard.api.paging import PageAnswer, PageQuery
from dashboard.api.schemas import BIGGEST, NO_NUL, Strict, Whole
from dashboard.api.series import moment

router = Router(tags=["silences"], auth=callers())
operators = callers(Role.OPERATOR)
LISTED = 100
Line = Annotated[str, Field(min_length=1, max_length=300, pattern=NO_NUL, examples=["cache=game-*"])]
Lines = Annotated[list[Line], Field(min_length=1, max_length=20, description="All must fit: =, !=, =~, !~.")]
When = Annotated[str, Field(min_length=1, max_length=40, description="ISO 8601 (UTC where no zone is given).")]


class SilenceFilter(PageQuery):
    active: bool = Field(False, description="Only those in force now.")


class Matchers(Strict):
    matchers: Lines


class NewSilence(Matchers):
    comment: Annotated[str, Field(min_length=1, max_length=silence_changes.COMMENT_LIMIT, pattern=NO_NUL)]
    starts_at: When | None = Field(None, description="Now where it is left out.")
    ends_at: When
    event: Annotated[int, Field(ge=1, le=BIGGEST), Whole] | None = Field(
        None, description="An event, such as a note of yours: the silence ends with it, at `ends_at` at the latest."
    )


class SilenceAnswer(Schema):
    id: int
    matchers: list[str]
    author: str
    comment: str
    starts_at: datetime
    ends_at: datetime
    event_id: int | None = Field(description="The event that it ends with.")


class SilencePage(PageAnswer):
    silences: list[SilenceAnswer]


class SilencePreview(Schema):
    count: int
    lately: int = Field(description="Alerts that began to fire in the last 7 days and would have been hidden.")
    alerts: list[AlertAnswer] = Field(description="The first hundred.")


@router.get("", response={200: SilencePage, **problems()}, operation_id="list_silences", summary="List silences")
def list_silences(request: HttpRequest, filters: Query[SilenceFilter]) -> dict[str, Any]:
    """Those that end last come first."""
    rows = Silence.objects.active(timezone.now()) if filters.active else Silence.objects.all()
    found = list(rows.order_by("-ends_at", "-pk")[filters.cut])
    return {**filters.told(rows.count()), "silences": found}


@router.post(
    "",
    auth=operators,
    response={201: SilenceAnswer, **problems(404, 413, 415)},
    operation_id="add_silence",
    summary="Silence alerts",
)
def add_silence(request: HttpRequest, body: NewSilence) -> Status[Silence]:
    now = timezone.now()
    starts_at = time_of("starts_at", body.starts_at) if body.starts_at else now
    ends_at = time_of("ends_at", body.ends_at)
    event = get_object_or_404(Event, pk=body.event) if body.event else None
    made = silence_changes.add(signed_in(request), body.matchers, body.comment, starts_at, ends_at, now, event)
    return Status(201, made)


@router.post(
    "/preview",
    response={200: SilencePreview, **problems(413, 415)},
    operation_id="preview_silence",
    summary="Show what such a silence would hide now",
)
def preview_silence(request: HttpRequest, body: Matchers) -> dict[str, Any]:
    found = silence_changes.parsed(body.matchers)
    hidden = silence_changes.hidden_now(found)
    lately = silence_changes.hidden_lately(found, timezone.now())
    return {"count": len(hidden), "lately": lately, "alerts": [alert_answer(alert) for alert in hidden[:LISTED]]}


@router.post(
    "/{silence_id}/end",
    auth=operators,
    response={200: SilenceAnswer, **problems(404, 409)},
    operation_id="end_silence",
    summary="End a silence now",
)
def end_silence(request: HttpRequest, silence_id: Path[int]) -> Silence:
    """409 where it is over already."""
    if not 0 < silence_id <= BIGGEST:
        raise Http404
    found = get_object_or_404(Silence, pk=silence_id)
    if not silence_changes.end(signed_in(request), found, timezone.now()):
        raise HttpError(409, _("It is over already."))
    found.refresh_from_db()
    return found


def time_of(name: str, given: str) -> datetime:
    try:
        return moment(given)
    except RangeError as error:
        raise ValidationError({name: str(error)}) from error
