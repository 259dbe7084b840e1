"""What commands and errors did on a cache: tables over a range, and series."""

from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, Literal

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Query, Router, Schema
from pydantic import Field

from accounts.api_auth import callers
from collectors import tally_series
from collectors.series import RangeError
from collectors.tallies import COMMAND, ERROR
from collectors.tally_queries import Scope
from dashboard import commands
from dashboard.api.answers import compressed_json, problems
from dashboard.api.caches import cache_named
from dashboard.api.schemas import NO_NUL, CommandList, CommandNodes, ErrorList, TallySeriesAnswer
from dashboard.api.series import moment
from dashboard.command_advice import advice_for
from dashboard.commands import CommandRow, ErrorRow
from dashboard.error_words import meaning_of
from fleet.models import Cache, Topology

router = Router(tags=["caches"], auth=callers())
LINE_CEILING = 50
Role = Literal["primary", "replica", "all"]


class RangeQuery(Schema):
    from_: str = Field("", alias="from", max_length=40, description="Epoch seconds or ISO 8601; an hour before `to`.")
    to: str = Field("", max_length=40, description="Epoch seconds or ISO 8601; now where it is left out.")
    node: int = Field(0, ge=0, le=2**31 - 1, description="Only this node, by its id; 0 is all of them.")

    def span(self) -> tuple[datetime, datetime]:
        """Return the ends of the range. Raise RangeError where it is empty."""
        end = moment(self.to) if self.to else timezone.now()
        start = moment(self.from_) if self.from_ else end - timedelta(hours=1)
        if start >= end:
            raise RangeError("The range ends before it begins: make `to` later than `from`.")
        return start, end


class CommandQuery(RangeQuery):
    role: Role = Field("primary", description="Which nodes count, by their role at the time. Ignored with `node`.")


class ByNodeQuery(RangeQuery):
    command: str = Field(min_length=1, max_length=40, pattern=NO_NUL, description="Its name, such as hgetall.")


class PiecesQuery(Schema):
    step: int | None = Field(None, ge=1, le=31_536_000, description="Seconds between points; chosen where left out.")
    limit: int = Field(10, ge=1, le=LINE_CEILING, description="So many names; the others are added up as `other`.")


class CommandSeriesQuery(CommandQuery, PiecesQuery):
    measure: Literal["calls", "time", "usec", "rejected", "failed", "p50", "p99", "p999"] = Field(
        "calls", description="time is a share of the nodes' time, usec the mean of the interval."
    )


class ErrorSeriesQuery(RangeQuery, PiecesQuery):
    pass


@router.get(
    "/{name}/commands",
    response={200: CommandList, **problems(404)},
    operation_id="list_commands",
    summary="List what each command did",
)
def list_commands(request: HttpRequest, name: str, query: Query[CommandQuery]) -> HttpResponse:
    """Percentiles are of the range, from histograms that were added up over nodes and time; never averaged."""
    cache, (start, end) = cache_named(name), query.span()
    found = commands.read_commands(cache, start, end, query.role, query.node)
    answer = _range_answer(cache, start, end, found.seconds)
    rows = [command_answer(cache, row) for row in found.rows]
    return compressed_json(request, answer | {"role": query.role, "nodes": found.nodes, "commands": rows})


@router.get(
    "/{name}/commands/nodes",
    response={200: CommandNodes, **problems(404)},
    operation_id="read_command_by_node",
    summary="Compare one command over nodes",
)
def read_command_by_node(request: HttpRequest, name: str, query: Query[ByNodeQuery]) -> HttpResponse:
    cache, (start, end) = cache_named(name), query.span()
    rows = commands.read_by_node(cache, query.command, start, end)
    nodes = [{"node_id": node_id, **command_answer(cache, row)} for node_id, row in rows if query.node in {0, node_id}]
    answer = {"cache": cache.name, "start": int(start.timestamp()), "end": int(end.timestamp())}
    return compressed_json(request, answer | {"command": query.command, "nodes": nodes})


@router.get(
    "/{name}/commands/series",
    response={200: TallySeriesAnswer, **problems(404)},
    operation_id="read_command_series",
    summary="Read what commands did over time",
)
def read_command_series(request: HttpRequest, name: str, query: Query[CommandSeriesQuery]) -> HttpResponse:
    """Lines of calls, time, rejected and failed add up to the whole; the last of them is `other`."""
    cache, (start, end) = cache_named(name), query.span()
    scope = commands.scope_of(cache, COMMAND, start, end, query.role, query.node)
    return _series(request, cache, scope, query.measure, query)


@router.get(
    "/{name}/errors",
    response={200: ErrorList, **problems(404)},
    operation_id="list_errors",
    summary="List error replies by type",
)
def list_errors(request: HttpRequest, name: str, query: Query[RangeQuery]) -> HttpResponse:
    """Types are the first word of the reply, such as OOM or MOVED, over all nodes, replicas as well."""
    cache, (start, end) = cache_named(name), query.span()
    rows, seconds = commands.read_errors(cache, start, end, query.node)
    answer = _range_answer(cache, start, end, seconds)
    return compressed_json(request, answer | {"errors": [error_answer(row) for row in rows]})


@router.get(
    "/{name}/errors/series",
    response={200: TallySeriesAnswer, **problems(404)},
    operation_id="read_error_series",
    summary="Read error replies over time",
)
def read_error_series(request: HttpRequest, name: str, query: Query[ErrorSeriesQuery]) -> HttpResponse:
    cache, (start, end) = cache_named(name), query.span()
    scope = commands.scope_of(cache, ERROR, start, end, "all", query.node)
    return _series(request, cache, scope, "calls", query)


def command_answer(cache: Cache, row: CommandRow) -> dict[str, Any]:
    return asdict(row) | {"advice": str(advice_for(row, cache.topology == Topology.CLUSTER))}


def error_answer(row: ErrorRow) -> dict[str, Any]:
    meaning = meaning_of(row.name)
    words = {"meaning": str(meaning.sentence), "action": str(meaning.action), "is_usual": meaning.is_usual}
    return asdict(row) | words


def _range_answer(cache: Cache, start: datetime, end: datetime, seconds: float) -> dict[str, Any]:
    ends = {"start": int(start.timestamp()), "end": int(end.timestamp())}
    return {"cache": cache.name, **ends, "measured_seconds": seconds}


def _series(request: HttpRequest, cache: Cache, scope: Scope, measure: str, query: PiecesQuery) -> HttpResponse:
    found = tally_series.read(scope, measure, query.limit, query.step)
    return compressed_json(request, {"cache": cache.name, **asdict(found)})
