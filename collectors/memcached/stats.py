"""`stats`: nearly all numbers of a Memcached in one reply of about 2.5 kB; some 40 microseconds of its time."""

from collections.abc import Sequence

from django.conf import settings

from collectors.failures import printable
from collectors.memcached.lines import AFTER, BEFORE
from collectors.memcached.text import STATS
from collectors.metrics.catalogue import Column
from collectors.metrics.hot import HOT, HOT_INDEX
from collectors.metrics.memcached import COMMAND_COUNTERS, HOT_FIELDS, MEMCACHED_DETAIL, REFUSAL_COUNTERS
from collectors.source import Command, Readings, Reply, Source, Value, empty_row
from collectors.sources.fields import TOPS, Field, FieldReader, field_of, lines_of, plain_number
from fleet.engines import Engine

COMMANDS, REJECTED = HOT_INDEX["total_commands_processed"], HOT_INDEX["rejected_connections"]
USED_MEMORY, IS_PRIMARY = HOT_INDEX["used_memory"], HOT_INDEX["is_primary"]
TOP = TOPS[Column.INT8]
# Counters that one column adds up, in slots behind those of the row.
ADDED = (*COMMAND_COUNTERS, *REFUSAL_COUNTERS)
FACTS = {b"version": "memcached_version", b"pid": "process_id"}
FACT_BEGINNINGS = tuple(BEFORE + name + AFTER for name in FACTS)


def stats_fields() -> dict[bytes, Field]:
    """Return the fields of `stats` that fill the row, and those that are added up behind it."""
    fields = {name.encode(): field_of(HOT_INDEX[own], HOT[HOT_INDEX[own]]) for name, own in HOT_FIELDS.items()}
    return fields | {name.encode(): Field(len(HOT) + place, TOP) for place, name in enumerate(ADDED)}


STATS_FIELDS = stats_fields()


def total(values: Sequence[Value]) -> int | None:
    """Return the sum of those that are known; None where none is, or where no column holds it."""
    known = [int(value) for value in values if value is not None]
    return sum(known) if known and sum(known) <= TOP else None


class MemcachedStats(Source):
    """The hot row, and facts that changed. Each node holds keys of its own, so it counts as a primary."""

    name = "memcached_stats"
    engines = (Engine.MEMCACHED,)
    tells_kind = True

    def __init__(self) -> None:
        self._numbers = FieldReader(STATS_FIELDS, BEFORE, AFTER)
        self._facts: dict[str, bytes] = {}

    def commands(self) -> tuple[Command, ...]:
        return (STATS,)

    def parse(self, replies: Sequence[Reply]) -> Readings:
        lines = lines_of(replies[0])
        row = [*empty_row(), *[None] * len(ADDED)]
        self._numbers.fill(lines, row)
        added = row[len(HOT) :]
        del row[len(HOT) :]
        row[COMMANDS] = total(added[: len(COMMAND_COUNTERS)])
        row[REJECTED] = total(added[len(COMMAND_COUNTERS) :])
        row[IS_PRIMARY] = row[USED_MEMORY] is not None or None
        return Readings(row, facts=self._changed_facts(lines))

    def _changed_facts(self, lines: Sequence[bytes]) -> dict[str, str]:
        found: dict[str, bytes] = {}
        for line in lines:
            if line.startswith(FACT_BEGINNINGS):
                name, _, text = line.removeprefix(BEFORE).partition(AFTER)
                found.setdefault(FACTS[name], text)
        changed = {name: printable(text) for name, text in found.items() if self._facts.get(name) != text}
        self._facts |= found
        return changed


CLOCKS = {b"rusage_user": "user", b"rusage_system": "system", b"uptime": "uptime"}
DETAIL_FIELDS = {metric.name.encode(): metric.name for metric in MEMCACHED_DETAIL if metric.section == "memcached"}


class MemcachedDetail(Source):
    """All other numbers by name, from the reply that MemcachedStats asked for, and how busy its threads were."""

    name = "memcached_detail"
    engines = (Engine.MEMCACHED,)

    def __init__(self) -> None:
        # CPU seconds and uptime as they stood in the reply before.
        self._before: tuple[float, float] | None = None

    def every(self) -> int:
        return int(settings.DETAIL_INTERVAL_SECONDS)

    def commands(self) -> tuple[Command, ...]:
        return (STATS,)

    def parse(self, replies: Sequence[Reply]) -> Readings:
        lines = lines_of(replies[0])
        detail, clocks = numbers_by_name(lines, DETAIL_FIELDS), numbers_by_name(lines, CLOCKS)
        now = (clocks["user"] + clocks["system"], clocks["uptime"]) if len(clocks) == len(CLOCKS) else None
        before, self._before = self._before, now
        busy = busy_ratio(before, now, detail.get("threads", 0.0)) if before and now else None
        return Readings(detail=detail if busy is None else detail | {"threads_busy_ratio": busy})


def busy_ratio(before: tuple[float, float], now: tuple[float, float], threads: float) -> float | None:
    """Return the CPU time between two replies as a share of all threads; None over a restart or without threads."""
    cpu, seconds = now[0] - before[0], now[1] - before[1]
    return cpu / seconds / threads if cpu >= 0 and seconds > 0 and threads > 0 else None


def numbers_by_name(lines: Sequence[bytes], names: dict[bytes, str]) -> dict[str, float]:
    """Return every named number that the lines hold; of repeated ones the first counts."""
    found: dict[str, float] = {}
    for line in lines:
        field, _, text = line.removeprefix(BEFORE).partition(AFTER)
        name = names.get(field)
        if name is not None and name not in found and (number := plain_number(text)) is not None:
            found[name] = number
    return found
