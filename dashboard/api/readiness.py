"""Readiness for maintenance and scaling, and what Google tells of a cache."""

from dataclasses import asdict
from datetime import date, datetime
from typing import Any, Literal

from django.http import Http404, HttpRequest
from django.utils import timezone
from ninja import Query, Router, Schema
from pydantic import Field

from accounts.api_auth import callers
from collectors.cloud import limits
from collectors.cloud.known import services
from collectors.cloud.service_facts import ServiceFacts
from dashboard.api.answers import problems
from dashboard.api.caches import cache_named
from dashboard.api.paging import PageAnswer, PageQuery
from dashboard.readiness.page import CacheRow, PartRow, fleet_rows, part_rows
from dashboard.readiness.rules import Check
from dashboard.service_page import upkeep_of

router = Router(tags=["readiness"], auth=callers())
MarkName = Literal["ready", "care", "not-ready", "unknown", "does-not-apply"]
PartName = Literal["maintenance", "scaling", "scale-in", "access"]
OriginName = Literal["cloud-monitoring", "info", "google-api", "published-limits", "key-scan", "address", "person"]


class MeasuredFigure(Schema):
    value: float = Field(description="Ratios are 0 to 1, memory is in bytes, a claim is 0 or 1.")
    origin: OriginName
    at: datetime | None


class ScaleInRoom(Schema):
    """What a smaller number of shards would hold, in bytes."""

    shards: int
    room: float
    needed: float
    fits: bool


class PublishedPage(Schema):
    title: str
    url: str
    date: date


class ReadinessCheck(Schema):
    name: str
    title: str
    mark: MarkName
    figure: str
    limit: str
    sentence: str = Field(description="What it means, or what to do.")
    measured: list[MeasuredFigure]
    rooms: list[ScaleInRoom] = Field(
        description="Of scale-in: each smaller number down to the first that is too small."
    )
    rule: str
    told_by: str = Field(description="Who published the rule beside its sources; empty where nobody else did.")
    sources: list[PublishedPage]


class ReadinessPart(Schema):
    part: PartName
    mark: MarkName = Field(description="The worst of its checks; what is not known is worse than ready.")


class ReadinessPartWithChecks(ReadinessPart):
    checks: list[ReadinessCheck]


class ReadinessAnswer(Schema):
    cache: str
    parts: list[ReadinessPartWithChecks]


class ReadinessRow(Schema):
    cache: str
    url: str
    parts: list[ReadinessPart]


class ReadinessPage(PageAnswer):
    caches: list[ReadinessRow]


class PublishedLimits(Schema):
    """What Google publishes for one node; null is not published."""

    maxclients: int | None
    maxclients_most: int | None = Field(description="Up to which the default may be raised.")
    memory_bytes: int | None
    writable_bytes: int | None
    vcpu: float | None
    in_sla: bool | None
    capacity_tier: str
    source: PublishedPage | None


class PlannedUpkeep(Schema):
    windows: list[str]
    next_start: datetime | None
    start: datetime | None = Field(description="Of the maintenance that is planned.")
    end: datetime | None
    deadline: datetime | None
    can_reschedule: bool | None
    versions: list[str] = Field(description="Maintenance versions that may be chosen.")
    silence: int | None = Field(description="A silence that hides all alerts of the cache for that time.")


class ServiceAnswer(Schema):
    """An instance in Google Cloud; null or empty is not told."""

    cache: str
    project: str
    name: str
    product: str
    region: str
    state: str
    state_name: str = Field(description="Google's own word.")
    seen_at: datetime
    gone_at: datetime | None
    tier: str
    node_type: str
    memory_bytes: int | None
    node_memory_bytes: int | None
    shards: int | None
    replicas_per_shard: int | None
    node_count: int | None
    units_most: int | None = Field(description="How many nodes an instance of this product may have.")
    version: str
    zones: list[str]
    endpoints: list[str]
    auth: str
    tls: bool | None
    ca_expires_at: datetime | None
    persistence: str
    messages: list[str] = Field(description="Health issues as Google names them.")
    limits: PublishedLimits
    upkeep: PlannedUpkeep


@router.get(
    "/readiness",
    response={200: ReadinessPage, **problems()},
    operation_id="list_readiness",
    summary="List the readiness of all caches",
)
def list_readiness(request: HttpRequest, filters: Query[PageQuery]) -> dict[str, Any]:
    """The worst first."""
    rows = fleet_rows(timezone.now())
    return {**filters.told(len(rows)), "caches": [row_answer(request, row) for row in rows[filters.cut]]}


@router.get(
    "/caches/{name}/readiness",
    response={200: ReadinessAnswer, **problems(404)},
    operation_id="read_readiness",
    summary="Read the readiness of one cache, check by check",
)
def read_readiness(request: HttpRequest, name: str) -> dict[str, Any]:
    cache = cache_named(name)
    return {"cache": cache.name, "parts": [whole_part(part) for part in part_rows(cache, timezone.now())]}


@router.get(
    "/caches/{name}/service",
    response={200: ServiceAnswer, **problems(404)},
    operation_id="read_service",
    summary="Read what Google tells of a cache",
)
def read_service(request: HttpRequest, name: str) -> dict[str, Any]:
    """404 for a cache that was not found in a Google Cloud project."""
    cache = cache_named(name)
    found = services([cache.pk]).get(cache.pk)
    if found is None:
        raise Http404
    facts, instance = found.facts, found.instance
    upkeep = upkeep_of(cache, facts, timezone.now())
    told = ("windows", "next_start", "start", "end", "deadline", "can_reschedule", "versions")
    return {
        **service_answer(facts),
        "cache": cache.name,
        "project": instance.project.project_id,
        "region": instance.region,
        "state": instance.state,
        "seen_at": instance.seen_at,
        "gone_at": instance.gone_at,
        "limits": asdict(limits.of(facts)),
        "upkeep": {name: getattr(upkeep, name) for name in told}
        | {"silence": upkeep.silence.pk if upkeep.silence else None},
    }


def service_answer(facts: ServiceFacts) -> dict[str, Any]:
    plain = [name for name in ServiceAnswer.model_fields if hasattr(facts, name)]
    ends = [one.expires_at for one in facts.ca_certs if one.expires_at]
    return {
        **{name: getattr(facts, name) for name in plain},
        "endpoints": [f"{one.host}:{one.port}" for one in facts.endpoints],
        "messages": [": ".join(filter(None, one)) for one in facts.messages],
        "units_most": limits.units_most(facts.product),
        "ca_expires_at": min(ends, default=None),
    }


def row_answer(request: HttpRequest, row: CacheRow) -> dict[str, Any]:
    return {
        "cache": row.cache.name,
        "url": request.build_absolute_uri(row.cache.get_absolute_url()),
        "parts": [{"part": str(part.part), "mark": str(part.mark)} for part in row.parts],
    }


def whole_part(row: PartRow) -> dict[str, Any]:
    return {"part": str(row.part), "mark": str(row.mark), "checks": [check_answer(one) for one in row.checks]}


def check_answer(one: Check) -> dict[str, Any]:
    rule, verdict = one.rule, one.verdict
    return {
        "name": rule.name,
        "title": str(rule.title),
        "mark": str(one.mark),
        "figure": verdict.figure,
        "limit": verdict.limit,
        "sentence": verdict.sentence,
        "measured": [asdict(measured) for measured in verdict.measured],
        "rooms": [{**asdict(room), "fits": room.fits} for room in verdict.rooms],
        "rule": str(rule.text),
        "told_by": str(rule.told_by),
        "sources": [asdict(page) for page in rule.pages],
    }
