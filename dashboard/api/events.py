"""Events: what Shardwatch saw happen, and the notes of people and CI."""

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import Path, Query, Router, Schema, Status
from ninja.errors import HttpError
from pydantic import Field

from accounts.access import signed_in
from accounts.api_auth import callers
from accounts.models import Role
from alerts.models import Incident
from collectors.event import TITLE_LIMIT, URL_LIMIT, Event, Kind
from collectors.series import RangeError
from dashboard import event_notes, failover_story
from dashboard.api.answers import problems
from dashboard.api.caches import cache_named
from dashboard.api.paging import PageAnswer, PageQuery
from dashboard.api.schemas import BIGGEST, NO_NUL, Labels, Name, Strict
from dashboard.api.series import moment
from dashboard.event_words import mark_of, sentence

router = Router(tags=["events"], auth=callers())
operators = callers(Role.OPERATOR)
KindName = Literal[
    "failover",
    "role",
    "restart",
    "unreachable",
    "scaling",
    "joined",
    "left",
    "slots",
    "moved",
    "version",
    "config",
    "eviction",
    "key-scan",
    "switch",
    "maintenance",
    "service",
    "cloud",
    "deploy",
    "scale-out",
    "load-test",
    "other",
]
NoteKind = Literal["deploy", "scale-out", "load-test", "other"]
Title = Annotated[str, Field(min_length=1, max_length=TITLE_LIMIT, pattern=NO_NUL)]
When = Annotated[str, Field(min_length=1, max_length=40, description="ISO 8601 (UTC where no zone is given).")]
Url = Annotated[str, Field(max_length=URL_LIMIT, pattern=NO_NUL, description="http:// or https://.")]
USUAL_SPAN = timedelta(days=7)
MARKERS = 200


class EventFilter(PageQuery):
    cache: str = Field("", max_length=63, description="One cache's events, and the notes that concern it.")
    from_: str = Field("", alias="from", max_length=40, description="Epoch seconds or ISO 8601; 7 days before `to`.")
    to: str = Field("", max_length=40, description="Epoch seconds or ISO 8601; now where it is left out.")
    kind: list[KindName] = Field([], max_length=len(Kind), description="Given several times, any may fit.")
    parts: bool = Field(False, description="Also list events that are told as part of another one.")
    incidents: bool = Field(False, description="With a cache: also give its incidents, for markers on charts.")

    def times(self) -> tuple[datetime, datetime]:
        """Return the range. Raise RangeError for times that are none, or that go back."""
        end = moment(self.to) if self.to else timezone.now()
        start = moment(self.from_) if self.from_ else end - USUAL_SPAN
        if start > end:
            raise RangeError("The range ends before it begins: make `to` later than `from`.")
        return start, end

    def apply(self) -> QuerySet[Event]:
        """Return the events asked for. Raise Http404 for an unknown cache and RangeError for times that are none."""
        events = Event.objects.between(*self.times())
        events = events.about(cache_named(self.cache)) if self.cache else events
        events = events.of_kinds(self.kind) if self.kind else events
        return (events if self.parts else events.on_top()).select_related("cache")


class NewNote(Strict):
    """A note on one cache, on all that have some labels, or (with neither) on the whole fleet."""

    cache: Name | None = None
    labels: Labels | None = None
    kind: NoteKind
    title: Title
    at: When | None = Field(None, description="Now where it is left out.")
    until: When | None = None
    url: Url | None = None


class NoteChange(Strict):
    kind: NoteKind | None = None
    title: Title | None = None
    at: When | None = None
    until: When | None = Field(None, description="When it ended; null takes the end away.")
    url: Url | None = None


class EventAnswer(Schema):
    id: int
    url: str = Field(description="The event's page.")
    cache: str | None = Field(description="Null for a note on several caches.")
    labels: dict[str, str] = Field(description="The labels of the caches that a note is on; empty is all of them.")
    kind: KindName
    title: str = Field(description="What happened, in a sentence.")
    at: datetime
    until: datetime | None = Field(description="Null for a moment, and for what goes on.")
    goes_on: bool
    count: int = Field(description="How many times it happened between `at` and `until`.")
    source: str = Field(description="detected, person or api.")
    author: str
    link: str = Field(description="The address that was given with a note.")
    story: int | None = Field(description="The event that this one is part of.")
    letter: str
    tone: str
    data: dict[str, Any]


class MarkerAnswer(Schema):
    url: str = Field(description="The incident's page.")
    title: str
    at: datetime
    until: datetime | None
    goes_on: bool
    letter: str
    tone: str


class EventPage(PageAnswer):
    events: list[EventAnswer]
    incidents: list[MarkerAnswer] = Field(description="Empty unless asked for; at most two hundred, the newest.")


class StoryRates(Schema):
    when: Literal["before", "during", "after"]
    commands: float | None = Field(description="Per second, of the whole cache.")
    errors: float | None = Field(description="Error replies per second.")


class StoryError(Schema):
    name: str
    before: float | None = Field(description="Per second in the five minutes before.")
    since: float = Field(description="Per second since it began.")


class StoryNode(Schema):
    address: str
    role: str
    answers: bool
    master_link_up: bool | None
    lag_seconds: float | None


class StoryAnswer(Schema):
    """What the samples around a failover tell; null is not known."""

    event: int
    before: list[dict[str, Any]] = Field(description="The nodes of the shard.")
    after: list[dict[str, Any]]
    began_at: datetime
    ended_at: datetime
    unserved_seconds: float | None = Field(description="For how long nodes said that slots were not served.")
    at_most_seconds: float | None = Field(description="From the old primary's last answer to the new one's first.")
    interval_seconds: int = Field(description="Between two polls: nothing is known more exactly.")
    full_resyncs: int | None
    rates: list[StoryRates]
    errors: list[StoryError] = Field(description="The most frequent types, of the whole cache.")
    present: list[StoryNode] = Field(description="The shard as it is now; empty a day later.")
    is_young: bool = Field(description="Less than five minutes have passed: the figures still change.")


@router.get("", response={200: EventPage, **problems(404)}, operation_id="list_events", summary="List events")
def list_events(request: HttpRequest, filters: Query[EventFilter]) -> dict[str, Any]:
    """Newest first. What began before the range and reaches into it is listed too."""
    found = filters.apply()
    events = [event_answer(request, event) for event in found[filters.cut]]
    return {**filters.told(found.count()), "events": events, "incidents": incident_markers(filters)}


def incident_markers(filters: EventFilter) -> list[dict[str, Any]]:
    if not filters.incidents or not filters.cache:
        return []
    start, end = filters.times()
    rows = Incident.objects.real().filter(cache__name=filters.cache, opened_at__lte=end)
    in_time = rows.filter(Q(closed_at=None) | Q(closed_at__gte=start))
    return [
        {
            "url": row.get_absolute_url(),
            "title": row.heading,
            "at": row.opened_at,
            "until": row.closed_at,
            "goes_on": row.is_open,
            "letter": "!",
            "tone": "trouble" if row.severity == "critical" else "change",
        }
        for row in in_time[:MARKERS]
    ]


@router.post(
    "",
    auth=operators,
    response={201: EventAnswer, **problems(404, 413, 415)},
    operation_id="add_event",
    summary="Add a note",
)
def add_event(request: HttpRequest, body: NewNote) -> Status[dict[str, Any]]:
    if body.cache and body.labels:
        raise HttpError(400, "Give a cache or labels, not both.")
    given = with_times(body.model_dump(exclude_unset=True))
    given["cache"] = cache_named(body.cache) if body.cache else None
    return Status(201, event_answer(request, event_notes.add(signed_in(request), given, Event.Source.API)))


@router.get(
    "/{event_id}", response={200: EventAnswer, **problems(404)}, operation_id="get_event", summary="Show one event"
)
def get_event(request: HttpRequest, event_id: Path[int]) -> dict[str, Any]:
    return event_answer(request, event_numbered(event_id))


@router.get(
    "/{event_id}/story",
    response={200: StoryAnswer, **problems(404)},
    operation_id="read_story",
    summary="Read a failover as a story",
)
def read_story(request: HttpRequest, event_id: Path[int]) -> dict[str, Any]:
    """404 for events that are no failover. It grows until five minutes after the event."""
    event = event_numbered(event_id)
    if event.kind != Kind.FAILOVER:
        raise Http404
    story = failover_story.tell(event, timezone.now())
    return {**asdict(story), "event": event.pk, "rates": [{"when": when, **asdict(one)} for when, one in story.rates]}


@router.patch(
    "/{event_id}",
    auth=operators,
    response={200: EventAnswer, **problems(404, 413, 415)},
    operation_id="change_event",
    summary="Change or end a note",
)
def change_event(request: HttpRequest, event_id: Path[int], body: NoteChange) -> dict[str, Any]:
    """Only notes can be changed. Fields that are left out stay as they are."""
    given = with_times(body.model_dump(exclude_unset=True))
    kept = {name: value for name, value in given.items() if value is not None or name == "until"}
    return event_answer(request, event_notes.change(signed_in(request), event_numbered(event_id), kept))


def with_times(given: dict[str, Any]) -> dict[str, Any]:
    """Return the fields with times in place of texts. Raise ValidationError for what is no time."""
    for name in ("at", "until"):
        if given.get(name) is not None:
            try:
                given[name] = moment(given[name]).astimezone(UTC)
            except RangeError as error:
                raise ValidationError({name: str(error)}) from error
    return given


def event_numbered(event_id: int) -> Event:
    if not 0 < event_id <= BIGGEST:
        raise Http404
    return get_object_or_404(Event.objects.select_related("cache"), pk=event_id)


def event_answer(request: HttpRequest, event: Event) -> dict[str, Any]:
    same = ("id", "labels", "kind", "at", "until", "goes_on", "count", "source", "author", "data")
    mark = mark_of(event)
    return {
        **{name: getattr(event, name) for name in same},
        "url": request.build_absolute_uri(event.get_absolute_url()),
        "cache": event.cache.name if event.cache else None,
        "title": sentence(event),
        "link": event.url,
        "story": event.story_id,
        "letter": mark.letter,
        "tone": mark.tone,
    }
