"""What commands and errors did over a range, as rows for the API and for pages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.http import Http404

from collectors import tally_queries
from collectors.tallies import COMMAND, ERROR
from collectors.tally_queries import Scope, Summary, Totals, total_of
from fleet.models import Cache, Node

# What is known of how long calls took; else their mean.
HISTOGRAM = "histogram"
# Which nodes count: replicas run the writes of their primaries a second time.
ROLES = {"primary": (True,), "replica": (False,), "all": (True, False)}


@dataclass(frozen=True, slots=True)
class CommandRow:
    """One command over a range. None is "not known": nothing measured, no call, or no histogram."""

    name: str
    calls_per_second: float | None
    # Of the nodes' time, 0 to 1, and of the time of all commands together.
    time_share: float | None
    command_time_share: float | None
    usec_per_call: float | None
    rejected_per_second: float | None
    failed_per_second: float | None
    p50_usec: float | None
    p99_usec: float | None
    p999_usec: float | None
    latency: str

    @classmethod
    def of(cls, totals: Totals, summary: Summary, usec_of_all: int) -> CommandRow:
        return cls(
            totals.name,
            summary.per_second(totals.calls),
            summary.time_share(totals.usec),
            totals.usec / usec_of_all if usec_of_all else None,
            totals.usec_per_call,
            summary.per_second(totals.rejected),
            summary.per_second(totals.failed),
            totals.percentile_usec(0.5),
            totals.percentile_usec(0.99),
            totals.percentile_usec(0.999),
            HISTOGRAM if totals.has_histogram else "mean",
        )

    @property
    def slowest_usec(self) -> float:
        """Return the highest latency that is known of it."""
        return max(self.p99_usec or 0.0, self.usec_per_call or 0.0)


@dataclass(frozen=True, slots=True)
class Commands:
    """The commands of a range, heaviest first, and their sum. `seconds` is 0 where nothing was measured."""

    rows: list[CommandRow]
    total: CommandRow
    seconds: float
    nodes: int


@dataclass(frozen=True, slots=True)
class ErrorRow:
    name: str
    per_second: float
    count: int


def scope_of(cache: Cache, kind: str, start: datetime, end: datetime, role: str = "all", node: int = 0) -> Scope:
    """Return what to read of a cache: all nodes that it ever had, or one. Raise Http404 for one of another cache."""
    ids = list(Node.objects.filter(cache=cache).values_list("pk", flat=True))
    if node and node not in ids:
        raise Http404
    return Scope([node] if node else ids, kind, start, end, (True, False) if node else ROLES[role])


def read_commands(cache: Cache, start: datetime, end: datetime, role: str = "primary", node: int = 0) -> Commands:
    summary = tally_queries.summary(scope_of(cache, COMMAND, start, end, role, node))
    total = total_of(summary.totals)
    rows = [CommandRow.of(totals, summary, total.usec) for totals in summary.totals]
    measured = summary.measured
    return Commands(rows, CommandRow.of(total, summary, total.usec), measured.seconds, len(measured.node_ids))


def read_by_node(
    cache: Cache, command: str, start: datetime, end: datetime, role: str = "all"
) -> list[tuple[int, CommandRow]]:
    """Return the row of one command on each node that was measured, the one it takes most time of first."""
    found = tally_queries.by_node(scope_of(cache, COMMAND, start, end, role), command)
    usec_of_all = sum(summary.totals[0].usec for summary in found.values())
    rows = [
        (node_id, CommandRow.of(summary.totals[0], summary, usec_of_all)) for node_id, summary in sorted(found.items())
    ]
    return sorted(rows, key=lambda pair: pair[1].time_share or 0, reverse=True)


def read_errors(cache: Cache, start: datetime, end: datetime, node: int = 0) -> tuple[list[ErrorRow], float]:
    """Return the errors of all nodes by type, most frequent first, and the seconds that were measured."""
    summary = tally_queries.summary(scope_of(cache, ERROR, start, end, "all", node))
    rows = [
        ErrorRow(totals.name, summary.per_second(totals.calls) or 0.0, totals.calls)
        for totals in summary.totals
        if totals.calls
    ]
    return sorted(rows, key=lambda row: row.per_second, reverse=True), summary.measured.seconds
