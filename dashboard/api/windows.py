"""Maintenance windows: silences that come again every week."""

from datetime import datetime, time
from typing import Annotated, Any

from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import Path, Router, Schema, Status
from pydantic import Field

from accounts.access import signed_in
from accounts.api_auth import callers
from accounts.models import Role
from alerts import window_changes
from alerts.silence_changes import COMMENT_LIMIT
from alerts.window import Window
from dashboard.api.answers import problems
from dashboard.api.schemas import BIGGEST, NO_NUL, Strict, Whole
from dashboard.api.silences import Matchers, When, time_of

router = Router(tags=["silences"], auth=callers())
operators = callers(Role.OPERATOR)
COMING = 10
Day = Annotated[int, Field(ge=0, le=6), Whole]
Clock = Annotated[str, Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$", examples=["02:30"])]


class Weekly(Matchers):
    weekdays: Annotated[list[Day], Field(min_length=1, max_length=7, description="Monday is 0.")]
    starts: Clock = Field(description="By the clock on the wall of the zone.")
    ends: Clock = Field(description="Not after the start means on the next day.")
    zone: Annotated[str, Field(min_length=1, max_length=63, pattern=NO_NUL, examples=["Europe/Berlin"])]
    until: When = Field(description="From then on there is none any more; two years ahead at most.")

    def built(self, now: datetime) -> Window:
        starts, ends = time.fromisoformat(self.starts), time.fromisoformat(self.ends)
        until = time_of("until", self.until)
        return window_changes.built(self.matchers, self.weekdays, starts, ends, self.zone, until, now)


class NewWindow(Weekly):
    comment: Annotated[str, Field(min_length=1, max_length=COMMENT_LIMIT, pattern=NO_NUL)]


class Occurrence(Strict):
    begins_at: datetime
    ends_at: datetime


class WindowAnswer(Schema):
    id: int
    matchers: list[str]
    author: str
    comment: str
    weekdays: list[int]
    starts: str
    ends: str
    zone: str
    until: datetime
    is_active: bool
    coming: list[Occurrence] = Field(description="The next ten times; the first may last now.")


class WindowList(Schema):
    windows: list[WindowAnswer]


class WindowPreview(Schema):
    coming: list[Occurrence]
    count: int = Field(description="Alerts that are active now and fit, whatever the hour.")
    lately: int = Field(description="Alerts that began to fire in its hours of the last 7 days and fit.")


@router.get(
    "", response={200: WindowList, **problems()}, operation_id="list_windows", summary="List maintenance windows"
)
def list_windows(request: HttpRequest) -> dict[str, Any]:
    return {"windows": [window_answer(window) for window in Window.objects.all()]}


@router.post(
    "",
    auth=operators,
    response={201: WindowAnswer, **problems(413, 415)},
    operation_id="add_window",
    summary="Add a maintenance window",
)
def add_window(request: HttpRequest, body: NewWindow) -> Status[dict[str, Any]]:
    made = window_changes.add(signed_in(request), body.built(timezone.now()), body.comment)
    return Status(201, window_answer(made))


@router.post(
    "/preview",
    response={200: WindowPreview, **problems(413, 415)},
    operation_id="preview_window",
    summary="Show when such a window would come, and what it would hide",
)
def preview_window(request: HttpRequest, body: Weekly) -> dict[str, Any]:
    now = timezone.now()
    made = body.built(now)
    return {"coming": occurrences(made, now), **window_changes.would_hide(made, now)}


@router.delete(
    "/{window_id}",
    auth=operators,
    response={204: None, **problems(404)},
    operation_id="delete_window",
    summary="Remove a maintenance window",
)
def delete_window(request: HttpRequest, window_id: Path[int]) -> Status[None]:
    if not 0 < window_id <= BIGGEST:
        raise Http404
    window_changes.delete(signed_in(request), get_object_or_404(Window, pk=window_id))
    return Status(204, None)


def window_answer(window: Window) -> dict[str, Any]:
    same = ("id", "matchers", "author", "comment", "weekdays", "zone", "until")
    now = timezone.now()
    return {
        **{name: getattr(window, name) for name in same},
        "starts": f"{window.starts:%H:%M}",
        "ends": f"{window.ends:%H:%M}",
        "is_active": window.covers(now),
        "coming": occurrences(window, now),
    }


def occurrences(window: Window, now: datetime) -> list[dict[str, datetime]]:
    return [{"begins_at": begins, "ends_at": ends} for begins, ends in window.following(now, COMING)]
