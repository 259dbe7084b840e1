"""Entries of slow and command logs: keeping what is new, counting what was missed, reading it in groups."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Count, F, Max, Min, QuerySet, Sum
from django.utils import timezone

from collectors.models import SlowEntry, SlowMark
from collectors.source import SlowCall
from fleet.models import Node

# What one node and log may add in a day; of more, the heaviest are kept.
ENTRIES_A_DAY = 2_000
# A server whose clock is further ahead is not believed.
FUTURE_LIMIT = timedelta(days=1)
GROUPS_SHOWN = 100

Place = tuple[int, str]


@dataclass(frozen=True, slots=True)
class NodeSlowCalls:
    """What one node newly showed in its logs."""

    node_id: int
    calls: Sequence[SlowCall]


@dataclass(frozen=True, slots=True)
class SlowFilter:
    """Which entries are meant: of these nodes, in this time; empty texts stand for all."""

    node_ids: Sequence[int]
    start: datetime
    end: datetime
    log: str = ""
    command: str = ""
    # None stands for all: commands without a key have an empty prefix.
    key_prefix: str | None = None

    def entries(self) -> QuerySet[SlowEntry]:
        found = SlowEntry.objects.filter(node_id__in=self.node_ids, started_at__gte=self.start, started_at__lt=self.end)
        named = {"log": self.log, "command": self.command}
        found = found.filter(**{field: value for field, value in named.items() if value})
        return found if self.key_prefix is None else found.filter(key_prefix=self.key_prefix)


@dataclass(frozen=True, slots=True)
class SlowGroup:
    """Entries of one log with the same command and key prefix; amounts are microseconds or bytes."""

    log: str
    command: str
    key_prefix: str
    count: int
    largest: int
    total: int
    fewest_arguments: int
    most_arguments: int
    last_at: datetime
    nodes: int

    @property
    def shape(self) -> str:
        """Return the command with the number of its arguments, from the fewest to the most."""
        few, many = self.fewest_arguments, self.most_arguments
        if not many:
            return self.command
        return f"{self.command} ×{few}" if few == many else f"{self.command} ×{few}–{many}"


def groups(chosen: SlowFilter) -> list[SlowGroup]:
    """Return the groups that took most in all, log by log."""
    rows = (
        chosen.entries()
        .order_by()
        .values("log", "command", "key_prefix")
        .annotate(
            count=Count("pk"),
            largest=Max("amount"),
            total=Sum("amount"),
            fewest_arguments=Min("arguments"),
            most_arguments=Max("arguments"),
            last_at=Max("started_at"),
            nodes=Count("node", distinct=True),
        )
        .order_by(F("log").desc(), F("total").desc(), "command", "key_prefix")
    )
    return [SlowGroup(**row) for row in rows[:GROUPS_SHOWN]]


def write(given: Sequence[NodeSlowCalls]) -> None:
    """Store calls that are new, in one transaction. Those dated out of bounds are left out."""
    now = timezone.now()
    oldest, newest = now - timedelta(days=settings.RETENTION_SLOWLOG_DAYS), now + FUTURE_LIMIT
    by_place: dict[Place, list[SlowCall]] = {}
    for node in given:
        for call in node.calls:
            if oldest < moment(call) < newest:
                by_place.setdefault((node.node_id, call.log), []).append(call)
    if not by_place:
        return
    with transaction.atomic():
        marks = _marks(by_place)
        entries = [entry for place, mark in marks.items() for entry in _take(mark, by_place[place], now.date())]
        SlowEntry.objects.bulk_create(entries, ignore_conflicts=True)
        SlowMark.objects.bulk_create(
            marks.values(),
            update_conflicts=True,
            unique_fields=["node", "log"],
            update_fields=["newest_id", "newest_at", "day", "kept", "dropped"],
        )


def moment(call: SlowCall) -> datetime:
    return datetime.fromtimestamp(call.started_at, UTC)


def _marks(by_place: dict[Place, list[SlowCall]]) -> dict[Place, SlowMark]:
    """Return how far each log was read; those of nodes that were removed meanwhile are missing."""
    node_ids = {node_id for node_id, _log in by_place}
    present = set(Node.objects.filter(pk__in=node_ids).values_list("pk", flat=True))
    known = {(mark.node_id, mark.log): mark for mark in SlowMark.objects.filter(node_id__in=node_ids)}
    return {place: known.get(place) or _first_mark(place) for place in sorted(by_place) if place[0] in present}


def _first_mark(place: Place) -> SlowMark:
    began = datetime.fromtimestamp(0, UTC)
    return SlowMark(node_id=place[0], log=place[1], newest_id=-1, newest_at=began, day=began.date())


def _take(mark: SlowMark, calls: Iterable[SlowCall], day: date) -> list[SlowEntry]:
    """Return the entries to keep of what a log shows, and move its mark on."""
    fresh = [call for call in calls if call.entry_id > mark.newest_id or moment(call) > mark.newest_at]
    if not fresh:
        return []
    first = min(fresh, key=lambda call: call.entry_id)
    missed = _missed(mark, first)
    mark.newest_id = max(call.entry_id for call in fresh)
    mark.newest_at = max(mark.newest_at, *map(moment, fresh))
    kept = _within_day(mark, fresh, day)
    gap_before = min(kept, key=lambda call: call.entry_id, default=first)
    return [_entry(mark, call, missed if call is gap_before else 0) for call in kept]


def _missed(mark: SlowMark, first: SlowCall) -> int:
    """Return how many ids lie between the newest that was read and the first new one; unknown is none."""
    if mark.pk is None:
        return 0
    # Ids that began anew: the server restarted, and counts from zero.
    return first.entry_id - (mark.newest_id + 1 if first.entry_id > mark.newest_id else 0)


def _within_day(mark: SlowMark, fresh: Sequence[SlowCall], day: date) -> list[SlowCall]:
    if mark.day != day:
        mark.day, mark.kept, mark.dropped = day, 0, 0
    ranked = sorted(fresh, key=lambda call: call.amount, reverse=True)
    kept = ranked[: max(ENTRIES_A_DAY - mark.kept, 0)]
    mark.kept += len(kept)
    mark.dropped += len(fresh) - len(kept)
    return kept


def _entry(mark: SlowMark, call: SlowCall, missed: int) -> SlowEntry:
    return SlowEntry(
        node_id=mark.node_id,
        log=mark.log,
        entry_id=call.entry_id,
        started_at=moment(call),
        amount=call.amount,
        command=call.command,
        arguments=call.arguments,
        key_prefix=call.key_prefix,
        missed=missed,
    )


def forget_old(now: datetime) -> int:
    """Remove entries past their keeping; return how many."""
    oldest = now - timedelta(days=settings.RETENTION_SLOWLOG_DAYS)
    return SlowEntry.objects.filter(started_at__lt=oldest).delete()[0]
