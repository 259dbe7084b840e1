"""Routes: where alerts go. They are changed on pages."""

from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Router, Schema
from pydantic import Field

from accounts.api_auth import callers
from alerts import route_changes
from alerts.models import Channel
from alerts.route import Tree
from dashboard.api.answers import problems
from dashboard.api.schemas import NO_NUL, Strict

router = Router(tags=["routes"], auth=callers())
Label = Annotated[str, Field(min_length=1, max_length=63, pattern=NO_NUL)]
Value = Annotated[str, Field(max_length=300, pattern=NO_NUL)]


class RouteStepAnswer(Schema):
    after_seconds: int
    channels: list[str]


class RouteAnswer(Schema):
    id: int
    parent: int | None = Field(description="Null for the first route, which takes what no other takes.")
    name: str
    position: int
    matchers: list[str]
    channels: list[str] = Field(description="Empty means those of the parent.")
    group_by: list[str]
    interval_seconds: int
    repeat_seconds: int
    goes_on: bool
    steps: list[RouteStepAnswer] = Field(
        description="Who is told as well when nobody acknowledged for so long; empty means the steps of the parent."
    )


class RouteList(Schema):
    routes: list[RouteAnswer]


class Sample(Strict):
    labels: Annotated[
        dict[Label, Value], Field(max_length=50, examples=[{"cache": "game-cache", "severity": "critical"}])
    ]


class WayAnswer(Schema):
    path: list[str]
    channels: list[str] = Field(description="Empty means that nobody would be told.")
    subject: str = Field(description="What the incident would be about.")


@router.get("", response={200: RouteList, **problems()}, operation_id="list_routes", summary="Show the tree of routes")
def list_routes(request: HttpRequest) -> dict[str, Any]:
    """In the order in which they are looked at."""
    same = ("id", "name", "position", "matchers", "group_by", "interval_seconds", "repeat_seconds", "goes_on")
    rows = [
        {
            **{name: getattr(route, name) for name in same},
            "parent": route.parent_id,
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
    way = Tree.load().way(body.labels)
    names = Channel.objects.filter(pk__in=way.channel_ids).values_list("name", flat=True)
    return {"path": list(way.path), "channels": list(names), "subject": way.subject(body.labels)}
