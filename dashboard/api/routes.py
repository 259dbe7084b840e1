"""Routes: where alerts go. They are changed on pages."""

from datetime import datetime, timedelta
from typing import Annotated, Any

from django.http import HttpRequest
from django.utils import timezone
from ninja import Router, Schema
from pydantic import Field

from accounts.api_auth import callers
from alerts import route_changes
from alerts.models import Channel
from alerts.route import Route, Tree
from alerts.spells import spells
from dashboard.api.answers import problems
from dashboard.api.schemas import NO_NUL, Strict
from dashboard.api.silences import When, time_of

WEEK = timedelta(days=7)
router = Router(tags=["routes"], auth=callers())
Label = Annotated[str, Field(min_length=1, max_length=63, pattern=NO_NUL)]
Value = Annotated[str, Field(max_length=300, pattern=NO_NUL)]


class RouteStepAnswer(Schema):
    after_seconds: int
    channels: list[str]


class HoursAnswer(Strict):
    weekdays: list[int] = Field(description="Monday is 0.")
    starts: str
    ends: str = Field(description="Not after the start means on the next day.")
    zone: str


class RouteAnswer(Schema):
    id: int
    parent: int | None = Field(description="Null for the first route, which takes what no other takes.")
    name: str
    position: int
    matchers: list[str]
    channels: list[str] = Field(description="Empty means those of the parent.")
    group_by: list[str]
    wait_seconds: int = Field(description="How long the first message of an incident waits for others of its group.")
    interval_seconds: int
    repeat_seconds: int
    goes_on: bool
    hours: HoursAnswer | None = Field(description="It takes alerts within these hours only; null means at any time.")
    steps: list[RouteStepAnswer] = Field(
        description="Who is told as well when nobody acknowledged for so long; empty means the steps of the parent."
    )


class RouteList(Schema):
    routes: list[RouteAnswer]


class Sample(Strict):
    labels: Annotated[
        dict[Label, Value], Field(max_length=50, examples=[{"cache": "game-cache", "severity": "critical"}])
    ]
    at: When | None = Field(None, description="When the alert is thought to fire; left out means now.")


class SpellAnswer(Strict):
    begins_at: datetime
    ends_at: datetime
    path: list[str]
    channels: list[str]


class WayAnswer(Schema):
    path: list[str]
    channels: list[str] = Field(description="Empty means that nobody would be told.")
    subject: str = Field(description="What the incident would be about.")
    week: list[SpellAnswer] = Field(description="Who would be told during the week after, as hours of routes come.")


@router.get("", response={200: RouteList, **problems()}, operation_id="list_routes", summary="Show the tree of routes")
def list_routes(request: HttpRequest) -> dict[str, Any]:
    """In the order in which they are looked at."""
    same = ("id", "name", "position", "matchers", "group_by", *route_changes.TIMES, "goes_on")
    rows = [
        {
            **{name: getattr(route, name) for name in same},
            "parent": route.parent_id,
            "hours": hours_of(route),
            "channels": [channel.name for channel in route.channels.all()],
            "steps": [
                {"after_seconds": step.after_seconds, "channels": [channel.name for channel in step.channels.all()]}
                for step in route.steps.all()
            ],
        }
        for _level, route in route_changes.branches()
    ]
    return {"routes": rows}


@router.post(
    "/test",
    response={200: WayAnswer, **problems(413, 415)},
    operation_id="test_route",
    summary="Show which way an alert with some labels takes",
)
def test_route(request: HttpRequest, body: Sample) -> dict[str, Any]:
    at = route_changes.moment_of(time_of("at", body.at) if body.at else None, timezone.now())
    names = dict(Channel.objects.values_list("pk", "name"))
    found = spells(Tree.load(), body.labels, at, at + WEEK)
    week = [
        {
            "begins_at": spell.begins_at,
            "ends_at": spell.ends_at,
            "path": list(spell.way.path),
            "channels": sorted(names[pk] for pk in spell.way.channel_ids),
        }
        for spell in found
    ]
    same = {name: week[0][name] for name in ("path", "channels")}
    return {**same, "subject": found[0].way.subject(body.labels), "week": week}


def hours_of(route: Route) -> dict[str, Any] | None:
    if not route.weekdays:
        return None
    hours = {"starts": f"{route.starts:%H:%M}", "ends": f"{route.ends:%H:%M}"}
    return {"weekdays": route.weekdays, **hours, "zone": route.zone}
