"""Channels, for administrators: what they are, how they do, and the test of each."""

from datetime import datetime
from typing import Annotated, Any, Literal

from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Path, Query, Router, Schema, Status
from pydantic import Field

from accounts.access import signed_in
from accounts.api_auth import callers
from accounts.models import Role
from alerts import channel_changes, channel_health
from alerts.channel_health import Health
from alerts.channels import KINDS
from alerts.models import Attempt, Channel
from dashboard.api.answers import problems
from dashboard.api.schemas import BIGGEST, NO_NUL, Strict

router = Router(tags=["channels"], auth=callers(Role.ADMIN))
ChannelName = Annotated[str, Field(min_length=1, max_length=100, pattern=NO_NUL, examples=["on-call"])]
Value = Annotated[str, Field(max_length=2_000, pattern=NO_NUL)]
SettingName = Annotated[str, Field(min_length=1, max_length=40)]
Values = Annotated[
    dict[SettingName, Value],
    Field(
        max_length=20,
        description="As in the form of the kind. A secret that is left out stays as it was.",
        examples=[{"routing_key": "0123456789abcdef0123456789abcdef"}],
    ),
]
Fallback = Annotated[int, Field(ge=1, le=BIGGEST, description="The id of the channel that stands in.")]


Language = Annotated[
    Literal["en", "ja"], Field(description="Of messages, and of what the rules of the default pack advise.")
]


class NewChannel(Strict):
    name: ChannelName
    kind: Annotated[str, Field(max_length=20, description="One of the kinds.", examples=["pagerduty"])]
    settings: Values
    fallback: Fallback | None = None
    language: Language = "en"


class ChannelChange(Strict):
    name: ChannelName | None = None
    settings: Values | None = None
    fallback: Fallback | None = Field(None, description="null takes the fall-back away.")
    language: Language | None = None


class ChannelAnswer(Schema):
    id: int
    name: str
    kind: str
    can_page: bool = Field(description="False: not for paging.")
    settings: dict[str, Any] = Field(description="Of secrets only whether they are set.")
    fallback: int | None
    language: str
    proven_at: datetime | None = Field(description="When the service last accepted a message.")
    broken_at: datetime | None
    trouble: str = Field(description="Why it is broken, in a sentence.")
    waiting: int = Field(description="Messages in the outbox.")
    oldest_waiting_at: datetime | None
    last_result: str = Field(description="accepted, retry, final, unknown, or nothing.")
    last_sentence: str


SAME = ("id", "name", "kind", "language", "proven_at", "broken_at", "trouble")


class ChannelList(Schema):
    channels: list[ChannelAnswer]


class AttemptAnswer(Schema):
    id: int
    at: datetime
    incident: int
    kind: str
    sequence: int
    number: int
    result: str
    sentence: str = Field(description="What went wrong; empty where nothing did.")
    status: int | None
    answer: str = Field(description="The service's words, cut and without secrets.")
    duration_seconds: float | None


class AttemptList(Schema):
    attempts: list[AttemptAnswer]


class TestAnswer(Schema):
    incident: int = Field(description="The test: its attempts are in the list of attempts.")


class Page(Schema):
    limit: int = Field(100, ge=1, le=1_000)


@router.get("", response={200: ChannelList, **problems()}, operation_id="list_channels", summary="List channels")
def list_channels(request: HttpRequest) -> dict[str, Any]:
    return {"channels": [channel_answer(health) for health in channel_health.healths()]}


@router.post(
    "", response={201: ChannelAnswer, **problems(404, 413, 415)}, operation_id="add_channel", summary="Add a channel"
)
def add_channel(request: HttpRequest, body: NewChannel) -> Status[dict[str, Any]]:
    fallback = channel_numbered(body.fallback) if body.fallback else None
    made = channel_changes.add(signed_in(request), body.kind, body.name, body.settings, fallback, body.language)
    return Status(201, answer_of(made))


@router.get(
    "/{channel_id}",
    response={200: ChannelAnswer, **problems(404)},
    operation_id="get_channel",
    summary="Show a channel",
)
def get_channel(request: HttpRequest, channel_id: Path[int]) -> dict[str, Any]:
    return answer_of(channel_numbered(channel_id))


@router.patch(
    "/{channel_id}",
    response={200: ChannelAnswer, **problems(404, 409, 413, 415)},
    operation_id="change_channel",
    summary="Change a channel",
)
def change_channel(request: HttpRequest, channel_id: Path[int], body: ChannelChange) -> dict[str, Any]:
    """Fields and settings that are left out stay as they are. A change of settings takes the channel as mended."""
    channel = channel_numbered(channel_id)
    given = body.model_dump(exclude_unset=True)
    fallback = channel_numbered(body.fallback) if body.fallback else None
    changed = channel_changes.change(
        signed_in(request),
        channel,
        given.get("name") or channel.name,
        {**channel_changes.typed_settings(channel), **(given.get("settings") or {})},
        fallback if "fallback" in given else channel.fallback,
        channel.revision,
        given.get("language") or "",
    )
    return answer_of(changed)


@router.delete(
    "/{channel_id}", response={204: None, **problems(404)}, operation_id="delete_channel", summary="Remove a channel"
)
def delete_channel(request: HttpRequest, channel_id: Path[int]) -> Status[None]:
    channel_changes.delete(signed_in(request), channel_numbered(channel_id))
    return Status(204, None)


@router.post(
    "/{channel_id}/test",
    response={202: TestAnswer, **problems(404, 413, 415)},
    operation_id="test_channel",
    summary="Send a test",
)
def test_channel(request: HttpRequest, channel_id: Path[int]) -> Status[dict[str, Any]]:
    """The test takes the road of real pages; what came of it is in the attempts."""
    channel = channel_numbered(channel_id)
    link = request.build_absolute_uri(f"/channels/{channel.pk}/")
    return Status(202, {"incident": channel_changes.send_test(signed_in(request), channel, link).pk})


@router.get(
    "/{channel_id}/attempts",
    response={200: AttemptList, **problems(404)},
    operation_id="list_attempts",
    summary="List attempts, newest first",
)
def list_attempts(request: HttpRequest, channel_id: Path[int], page: Query[Page]) -> dict[str, Any]:
    found = channel_numbered(channel_id).attempts.select_related("delivery")[: page.limit]
    return {"attempts": [attempt_answer(attempt) for attempt in found]}


def channel_numbered(channel_id: int) -> Channel:
    if not 0 < channel_id <= BIGGEST:
        raise Http404
    return get_object_or_404(Channel, pk=channel_id)


def answer_of(channel: Channel) -> dict[str, Any]:
    (health,) = channel_health.healths(pk=channel.pk)
    return channel_answer(health)


def channel_answer(health: Health) -> dict[str, Any]:
    channel = health.channel
    return {
        **{name: getattr(channel, name) for name in SAME},
        "can_page": KINDS[channel.kind].can_page,
        "settings": channel_changes.shown_settings(channel),
        "fallback": channel.fallback_id,
        "waiting": health.waiting,
        "oldest_waiting_at": health.oldest,
        "last_result": health.last_result,
        "last_sentence": health.last_sentence,
    }


def attempt_answer(attempt: Attempt) -> dict[str, Any]:
    same = ("id", "at", "number", "result", "sentence", "status", "answer", "duration_seconds")
    about = {"incident": attempt.delivery.incident_id, "kind": attempt.delivery.kind}
    return {**{name: getattr(attempt, name) for name in same}, **about, "sequence": attempt.delivery.sequence}
