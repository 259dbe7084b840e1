"""What the page and the API show of slow logs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from django.db.models import Sum
from django.utils import timezone

from collectors.models import SlowMark
from collectors.slow_entry import Log
from collectors.slowlog import SlowFilter, SlowGroup

COMMANDS = ("SLOWLOG GET", "COMMANDLOG GET")
MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True)
class LogTable:
    """The groups of one log, heaviest first."""

    log: Log
    groups: Sequence[SlowGroup]

    @property
    def is_time(self) -> bool:
        return self.log == Log.SLOW


@dataclass(frozen=True, slots=True)
class Losses:
    """What is missing: entries that servers dropped before we came, and those of today beyond our bound."""

    missed: int
    dropped: int


def tables(groups: Iterable[SlowGroup]) -> list[LogTable]:
    return [LogTable(Log(log), list(members)) for log, members in groupby(groups, key=lambda group: group.log)]


def losses(chosen: SlowFilter) -> Losses:
    missed = chosen.entries().aggregate(total=Sum("missed"))["total"] or 0
    marks = SlowMark.objects.filter(node_id__in=chosen.node_ids, day=timezone.now().date())
    marks = marks.filter(log=chosen.log) if chosen.log else marks
    return Losses(missed, marks.aggregate(total=Sum("dropped"))["total"] or 0)


def unit(log: str) -> str:
    return "microseconds" if log == Log.SLOW else "bytes"


def seconds(amount: int) -> float:
    return amount / MICROSECONDS
