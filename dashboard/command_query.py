"""What the URL asks of the page of commands. Unknown values fall back to the defaults."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict
from django.utils import timezone

from collectors.series import RangeError
from dashboard.api.series import moment
from dashboard.commands import ROLES, CommandRow

LEAST_SPAN, MOST_SPAN = 60, 400 * 86_400
DEFAULT_SORT = "-time"
SORTS: dict[str, Callable[[CommandRow], Any]] = {
    "name": lambda row: row.name,
    "calls": lambda row: row.calls_per_second,
    "time": lambda row: row.time_share,
    "usec": lambda row: row.usec_per_call,
    "p50": lambda row: row.p50_usec,
    "p99": lambda row: row.p99_usec,
    "p999": lambda row: row.p999_usec,
    "rejected": lambda row: row.rejected_per_second,
    "failed": lambda row: row.failed_per_second,
}


@dataclass(frozen=True, slots=True)
class CommandQuery:
    """The range (`span` seconds up to now, or from `start` to `end`), the nodes, the order, one command to compare."""

    span: int
    start: datetime | None = None
    end: datetime | None = None
    role: str = "primary"
    node: int = 0
    sort: str = DEFAULT_SORT
    command: str = ""
    # The range as it stood in the URL.
    kept: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, given: QueryDict, usual_span: int) -> CommandQuery:
        span = given.get("span", "")
        start, end = _time(given.get("from", "")), _time(given.get("to", ""))
        nodes, sort = given.get("nodes", ""), given.get("sort", DEFAULT_SORT)
        kept = tuple((name, given.get(name, "")) for name in ("span", "from", "to") if given.get(name))
        return cls(
            span=min(max(int(span), LEAST_SPAN), MOST_SPAN) if span.isdecimal() and len(span) < 10 else usual_span,
            start=start,
            end=end if start and end and end > start else None,
            role=nodes if nodes in ROLES else "primary",
            node=int(nodes) if nodes.isdecimal() and len(nodes) < 10 else 0,
            sort=sort if sort.removeprefix("-") in SORTS else DEFAULT_SORT,
            command=given.get("command", "")[:40],
            kept=kept,
        )

    def range(self) -> tuple[datetime, datetime]:
        now = timezone.now()
        if self.start and self.start < (self.end or now):
            return self.start, self.end or now
        return now - timedelta(seconds=self.span), now

    @property
    def nodes(self) -> str:
        return str(self.node or self.role)

    def url(self, **changes: object) -> str:
        """Return the query string of this query with some parts changed; defaults are left out."""
        parts = {
            **dict(self.kept),
            "nodes": "" if self.nodes == "primary" else self.nodes,
            "sort": "" if self.sort == DEFAULT_SORT else self.sort,
            "command": self.command,
            **changes,
        }
        return "?" + urlencode({name: value for name, value in parts.items() if value})

    @property
    def without_command(self) -> str:
        return self.url(command="")

    def sort_url(self, name: str) -> str:
        first, other = (name, f"-{name}") if name == "name" else (f"-{name}", name)
        return self.url(sort=other if self.sort == first else first)

    def sorted(self, rows: Sequence[CommandRow]) -> list[CommandRow]:
        """Return the rows in order; those without a figure come last."""
        measure, backwards = SORTS[self.sort.removeprefix("-")], self.sort.startswith("-")
        known = [row for row in rows if measure(row) is not None]
        return sorted(known, key=measure, reverse=backwards) + [row for row in rows if measure(row) is None]


def _time(text: str) -> datetime | None:
    try:
        return moment(text[:40]) if text else None
    except RangeError:
        return None
