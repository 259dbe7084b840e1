"""How long nodes take to answer, and what held servers up."""

from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router, Schema
from pydantic import Field

from accounts.api_auth import callers
from collectors.series import RangeError
from dashboard.api.answers import compressed_json, problems
from dashboard.api.caches import cache_named
from dashboard.api.commands import RangeQuery
from dashboard.api.paging import PageAnswer, PageQuery
from dashboard.api.slowlog import RefusalAnswer
from dashboard.latency import LatencyNode, NodeEvents, latency_of
from dashboard.latency_words import meaning_of

router = Router(tags=["caches"], auth=callers())
# Every answer of the range is looked at.
LONGEST_SECONDS = 7 * 86_400


class LatencyQuery(RangeQuery, PageQuery):
    page_size: int = Field(50, ge=1, le=500)

    def short_span(self) -> tuple[datetime, datetime]:
        """Return the ends of the range. Raise RangeError where it is too long."""
        start, end = self.span()
        if (end - start).total_seconds() > LONGEST_SECONDS:
            raise RangeError("The range is too long: ask for 7 days at most.")
        return start, end


class RoundTripAnswer(Schema):
    """Seconds; null where the node did not answer in this time."""

    node_id: int
    node: str
    role: str | None
    answers: int
    least: float | None
    mean: float | None
    p99: float | None = Field(description="What 99 of 100 answers did not exceed.")
    most: float | None
    threshold_milliseconds: int | None = Field(
        description="From so long on the server records what held it up; 0 is never, null is not known."
    )


class LatencyEventAnswer(Schema):
    """All moments of one event on one node, in milliseconds."""

    node_id: int
    node: str
    event: str
    meaning: str
    count: int
    longest: int
    total: int
    last_at: datetime


class MomentAnswer(Schema):
    node_id: int
    node: str
    event: str
    at: datetime = Field(description="By the server's clock, to the second.")
    milliseconds: int


class LatencyAnswer(PageAnswer):
    cache: str
    start: datetime
    end: datetime
    nodes: list[RoundTripAnswer]
    refused: list[RefusalAnswer] = Field(description="Why some nodes tell nothing.")
    events: list[LatencyEventAnswer] = Field(description="What took longest first, 200 at most.")
    count: int = Field(description="How many moments there are.")
    moments: list[MomentAnswer] = Field(description="Newest first.")


@router.get(
    "/{name}/latency",
    response={200: LatencyAnswer, **problems(404)},
    operation_id="read_latency",
    summary="Read round trips and latency events",
)
def read_latency(request: HttpRequest, name: str, query: Query[LatencyQuery]) -> HttpResponse:
    """Round trips are those of our polls, from raw samples. Events are what LATENCY of the servers told, kept."""
    cache, (start, end) = cache_named(name), query.short_span()
    found = latency_of(cache, start, end, query.node)
    answer: dict[str, Any] = {
        "cache": cache.name,
        "start": start,
        "end": end,
        "nodes": [round_trip_answer(node) for node in found.nodes],
        "refused": [asdict(refusal) for refusal in found.refused],
        "events": [event_answer(one) for one in found.events],
        **query.told(found.moments.count()),
        "moments": [
            {"node_id": one.node_id, "node": one.node.address, "event": one.event}
            | {"at": one.at, "milliseconds": one.milliseconds}
            for one in found.moments[query.cut]
        ],
    }
    return compressed_json(request, answer)


def round_trip_answer(one: LatencyNode) -> dict[str, Any]:
    node, trips = one.watched.node, one.round_trips
    figures = {field: getattr(trips, field) if trips else None for field in ("least", "mean", "p99", "most")}
    named = {"node_id": node.pk, "node": node.address, "role": node.role or None}
    return {**named, "answers": trips.answers if trips else 0, **figures, "threshold_milliseconds": one.threshold}


def event_answer(one: NodeEvents) -> dict[str, Any]:
    meaning = str(meaning_of(one.group.event))
    return {**asdict(one.group), "node": one.watched.node.address, "meaning": meaning}
