"""Shardwatch's own health: its parts, its polls, and the nodes that do not answer it."""

from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.http import HttpRequest
from ninja import Query, Router, Schema
from pydantic import Field

from accounts.api_auth import callers
from collectors.models import NodeStatus, PollWorker
from dashboard import own_health, parts
from dashboard.api.answers import problems
from dashboard.api.paging import PageAnswer, PageQuery
from dashboard.own_health import CachePolls

router = Router(tags=["health"], auth=callers())


class CheckAnswer(Schema):
    name: str
    ok: bool
    sentence: str


class WorkerAnswer(Schema):
    name: str
    started_at: datetime
    seen_at: datetime


class TotalsAnswer(Schema):
    """Since each cache was added; paused caches do not count."""

    caches: int
    nodes: int
    answering: int
    failing: int
    polls: int
    late: int = Field(description="Polls that began more than two seconds after their time.")
    skipped: int = Field(description="Polls left out because the one before still ran.")
    commands_per_second: float = Field(description="Sent to all watched servers.")
    connections: int = Field(description="Open to watched servers.")
    slowest_seconds: float | None = Field(description="The longest of the last polls.")


class HealthAnswer(Schema):
    ok: bool
    checks: list[CheckAnswer]
    workers: list[WorkerAnswer]
    totals: TotalsAnswer


class PollAnswer(Schema):
    """How the polls of one cache go; null before the first."""

    cache: str
    is_paused: bool
    nodes: int
    failing: int
    worker: str | None
    finished_at: datetime | None
    duration_seconds: float | None
    polls: int | None
    late: int | None
    skipped: int | None
    commands_per_second: float | None
    connections: int | None


class PollPage(PageAnswer):
    caches: list[PollAnswer]


class SilentAnswer(Schema):
    cache: str
    node_id: int
    node: str
    role: str | None
    shard: int | None
    failing_since: datetime
    answered_at: datetime | None
    failed_step: str | None
    failed_reason: str | None


class SilentPage(PageAnswer):
    nodes: list[SilentAnswer]


@router.get(
    "", response={200: HealthAnswer, **problems()}, operation_id="read_health", summary="Read Shardwatch's own health"
)
def read_health(request: HttpRequest) -> dict[str, Any]:
    """A part that does not work is a 200 that says so; /readyz answers by its status."""
    checks, totals = parts.checks(), own_health.totals()
    return {
        "ok": all(check.ok for check in checks),
        "checks": checks,
        "workers": list(PollWorker.objects.order_by("name")),
        "totals": {**asdict(totals), "answering": totals.answering},
    }


@router.get(
    "/polls", response={200: PollPage, **problems()}, operation_id="list_polls", summary="List how polls of caches go"
)
def list_polls(request: HttpRequest, query: Query[PageQuery]) -> dict[str, Any]:
    rows = own_health.caches()
    page = [poll_answer(polls) for polls in own_health.polls_of(list(rows[query.cut]))]
    return {**query.told(rows.count()), "caches": page}


@router.get(
    "/silent",
    response={200: SilentPage, **problems()},
    operation_id="list_silent_nodes",
    summary="List nodes that do not answer",
)
def list_silent_nodes(request: HttpRequest, query: Query[PageQuery]) -> dict[str, Any]:
    """The longest silent first; those of paused caches are not asked."""
    rows = own_health.failing_nodes()
    page = [silent_answer(status) for status in rows[query.cut]]
    return {**query.told(rows.count()), "nodes": page}


def poll_answer(polls: CachePolls) -> dict[str, Any]:
    lease, cache = polls.lease, polls.cache
    same = ("finished_at", "duration_seconds", "polls", "late", "skipped", "connections")
    return {
        "cache": cache.name,
        "is_paused": cache.is_paused,
        "nodes": polls.nodes,
        "failing": polls.failing,
        "worker": (lease and lease.worker) or None,
        **{field: getattr(lease, field, None) for field in same},
        "commands_per_second": polls.commands_per_second,
    }


def silent_answer(status: NodeStatus) -> dict[str, Any]:
    node = status.node
    return {
        "cache": node.cache.name,
        "node_id": node.pk,
        "node": node.address,
        "role": node.role or None,
        "shard": node.shard.number if node.shard else None,
        "failing_since": status.failing_since,
        "answered_at": status.answered_at,
        "failed_step": status.failed_step or None,
        "failed_reason": status.failed_reason or None,
    }
