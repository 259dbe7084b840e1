"""Slow and command logs of a cache: groups of entries, and the entries."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router, Schema
from pydantic import Field

from accounts.api_auth import callers
from collectors import slowlog
from collectors.models import SlowEntry
from collectors.slowlog import SlowFilter, SlowGroup
from dashboard import slow_entries
from dashboard.api.answers import compressed_json, problems
from dashboard.api.caches import cache_named
from dashboard.api.commands import RangeQuery
from dashboard.api.paging import PageAnswer, PageQuery
from dashboard.api.schemas import NO_NUL
from dashboard.refusals import refusals

router = Router(tags=["caches"], auth=callers())
Text = Annotated[str, Field(max_length=100, pattern=NO_NUL)]


class SlowlogQuery(RangeQuery, PageQuery):
    log: Literal["", "slow", "large-request", "large-reply"] = Field(
        "", description="Only this log; all where left out."
    )
    command: Text = Field("", description="Only this command, as a group names it.")
    key_prefix: Text | None = Field(None, description="Only this prefix, as a group names it; it may be empty.")
    page_size: int = Field(50, ge=1, le=500)

    def filter(self, node_ids: list[int]) -> SlowFilter:
        chosen = [node_id for node_id in node_ids if self.node in {0, node_id}]
        return SlowFilter(chosen, *self.span(), self.log, self.command, self.key_prefix)


class RefusalAnswer(Schema):
    command: str
    reason: str = Field(description="The server's words.")
    count: int = Field(description="How many nodes refuse it.")
    nodes: int


class SlowGroupAnswer(Schema):
    """Entries of the same command and key prefix; amounts are in `unit`."""

    log: str
    unit: Literal["microseconds", "bytes"]
    command: str
    shape: str = Field(description="The command with the number of its arguments.")
    key_prefix: str = Field(description="Ids in it are *; empty where the command begins with no key.")
    count: int
    largest: int
    total: int
    fewest_arguments: int
    most_arguments: int
    last_at: datetime
    nodes: int


class SlowEntryAnswer(Schema):
    log: str
    unit: Literal["microseconds", "bytes"]
    node: str
    node_id: int
    entry_id: int
    started_at: datetime
    amount: int
    command: str
    arguments: int
    key_prefix: str
    missed: int = Field(description="So many entries before this one were lost before they were read.")


class SlowlogAnswer(PageAnswer):
    cache: str
    start: datetime
    end: datetime
    missed: int = Field(description="Entries of this time that servers dropped before they were read.")
    dropped: int = Field(description="Entries of today that were too many to keep.")
    refused: list[RefusalAnswer] = Field(description="Why logs of some nodes are not read.")
    groups: list[SlowGroupAnswer] = Field(description="The heaviest of each log, 100 in all.")
    count: int = Field(description="How many entries fit.")
    entries: list[SlowEntryAnswer] = Field(description="Newest first.")


@router.get(
    "/{name}/slowlog",
    response={200: SlowlogAnswer, **problems(404)},
    operation_id="read_slowlog",
    summary="Read slow and large commands",
)
def read_slowlog(request: HttpRequest, name: str, query: Query[SlowlogQuery]) -> HttpResponse:
    """Arguments are never kept: only the command, how many it had, and the prefix of its first key."""
    cache = cache_named(name)
    chosen = query.filter(list(cache.nodes.values_list("pk", flat=True)))
    losses = slow_entries.losses(chosen)
    present = list(cache.nodes.present().values_list("pk", flat=True))
    entries = chosen.entries()
    page = entries.select_related("node").order_by("-started_at", "-pk")[query.cut]
    answer: dict[str, Any] = {
        "cache": cache.name,
        "start": chosen.start,
        "end": chosen.end,
        "missed": losses.missed,
        "dropped": losses.dropped,
        "refused": [asdict(refusal) for refusal in refusals(present, slow_entries.COMMANDS)],
        "groups": [group_answer(group) for group in slowlog.groups(chosen)],
        **query.told(entries.count()),
        "entries": [entry_answer(entry) for entry in page],
    }
    return compressed_json(request, answer)


def group_answer(group: SlowGroup) -> dict[str, Any]:
    return {**asdict(group), "shape": group.shape, "unit": slow_entries.unit(group.log)}


def entry_answer(entry: SlowEntry) -> dict[str, Any]:
    fields = ("log", "node_id", "entry_id", "started_at", "amount", "command", "arguments", "key_prefix", "missed")
    named = {field: getattr(entry, field) for field in fields}
    return {**named, "node": entry.node.address, "unit": slow_entries.unit(entry.log)}
