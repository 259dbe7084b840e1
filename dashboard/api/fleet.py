"""The fleet page: caches with their health and newest figures."""

from datetime import datetime
from typing import Annotated, Any, Literal

from django.http import HttpRequest
from django.utils import timezone
from ninja import Query, Router, Schema
from pydantic import Field

from accounts.api_auth import callers
from dashboard import overview
from dashboard.api.answers import problems
from dashboard.api.caches import LABEL_PATTERN
from dashboard.api.paging import PageAnswer, PageQuery
from dashboard.api.schemas import NO_NUL
from dashboard.overview import Row
from dashboard.service_row import counts_of, engine_of

router = Router(tags=["fleet"], auth=callers())
Health = Literal["unreachable", "critical", "warning", "waiting", "ok", "paused"]
Sort = Literal["health", "name", "memory", "cpu", "connections", "commands", "hits", "evictions", "replication", "age"]
FIGURES = (
    "nodes",
    "answering",
    "primaries",
    "replicas",
    "links_down",
    "slots_ok",
    "cluster_state_ok",
    "used_memory",
    "memory_limit_bytes",
    "memory_used_ratio",
    "cpu_ratio",
    "connected_clients",
    "connections_used_ratio",
    "commands_per_second",
    "hit_ratio",
    "evicted_keys_per_second",
    "rejected_connections_per_second",
    "replication_lag_bytes",
    "keys",
)


class FleetQuery(PageQuery):
    text: str = Field("", max_length=100, pattern=NO_NUL, description="Words of name, address, engine and labels.")
    label: Annotated[str, Field(pattern=f"^$|{LABEL_PATTERN}", max_length=264)] = Field("", description="key=value")
    state: Literal["", "attention"] | Health = Field("", description="attention is all that is less than ok.")
    sort: Sort = Field("health", description="Worst, highest or first in the alphabet first; unknown figures last.")

    def apply(self) -> list[Row]:
        upwards = self.sort not in overview.DESCENDING_FIRST
        query = overview.Query(self.text, self.label, self.state, self.sort if upwards else f"-{self.sort}")
        rows = overview.read(timezone.now())
        return query.sorted([row for row in rows if query.matches(row) and query.fits_state(row)])


class CacheHealth(Schema):
    """Sums are over primaries, ratios and shares those of the worst node; null is not reported."""

    cache: str
    url: str
    health: Health
    reason: str = Field(description="Why it is less than ok.")
    findings: int = Field(description="How many findings it has, notices included.")
    labels: dict[str, str]
    engine: str | None
    topology: str | None
    version: str | None = Field(description="By Google's API, where nobody here reaches the nodes; else null.")
    told_by: Literal["nodes", "google-api"] = Field(description="Who tells the engine, the shards and the nodes.")
    sampled_at: datetime | None
    shards: int
    nodes: int | None
    answering: int | None
    primaries: int | None
    replicas: int | None
    links_down: int | None
    slots_ok: int | None
    cluster_state_ok: bool | None
    used_memory: int | None
    memory_limit_bytes: int | None
    memory_used_ratio: float | None
    cpu_ratio: float | None
    connected_clients: int | None
    connections_used_ratio: float | None
    commands_per_second: float | None
    hit_ratio: float | None
    evicted_keys_per_second: float | None
    rejected_connections_per_second: float | None
    replication_lag_bytes: int | None
    keys: int | None


class FleetPage(PageAnswer):
    caches: list[CacheHealth]


@router.get(
    "", response={200: FleetPage, **problems()}, operation_id="read_fleet", summary="Read the health of all caches"
)
def read_fleet(request: HttpRequest, filters: Query[FleetQuery]) -> dict[str, Any]:
    rows = filters.apply()
    page = [row_answer(request, row) for row in rows[filters.cut]]
    return {**filters.told(len(rows)), "caches": page}


def row_answer(request: HttpRequest, row: Row) -> dict[str, Any]:
    cache, told = row.cache, row.told
    return {
        "cache": cache.name,
        "url": request.build_absolute_uri(cache.get_absolute_url()),
        "health": row.health,
        "reason": row.reason,
        "findings": len(row.findings),
        "labels": cache.labels,
        "engine": str(engine_of(told)) if told else cache.engine or None,
        "topology": cache.topology or None,
        "version": told.version or None if told else None,
        "told_by": "google-api" if told else "nodes",
        "sampled_at": row.latest.at if row.latest else None,
        "shards": row.shards,
        **{name: getattr(row.latest, name, None) for name in FIGURES},
        **(counts_of(told) if told else {}),
    }
