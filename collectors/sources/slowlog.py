"""SLOWLOG GET and COMMANDLOG GET: the commands that were slow or large, without their arguments.

128 entries cost a server 50 to 150 usec and 10 to 60 kB: it keeps at most 32 words of 128 bytes of each.
"""

from collections.abc import Iterator, Sequence

from django.conf import settings

from collectors.shapes import shape_of
from collectors.source import Command, Readings, Reply, SlowCall, Source, Standing
from fleet.engines import Engine

ENTRIES = 128
SLOW, LARGE_REQUEST, LARGE_REPLY = "slow", "large-request", "large-reply"
SLOWLOG_GET: Command = ("SLOWLOG", "GET", str(ENTRIES))
COMMANDLOG_VERSION = (8, 1)
NUMBER_LIMIT = 2**62
TIME_LIMIT = 2**32


class SlowLog(Source):
    """The slow log, which every server keeps; Valkey under this name too."""

    name = "slowlog"
    logs: tuple[tuple[str, Command], ...] = ((SLOW, SLOWLOG_GET),)

    def __init__(self) -> None:
        # What the last reply held, by log: servers answer the same entries until newer ones push them out.
        self._seen: dict[str, set[tuple[int, int]]] = {}

    def every(self) -> int:
        return int(settings.SLOWLOG_INTERVAL_SECONDS)

    def commands(self) -> tuple[Command, ...]:
        return tuple(command for _log, command in self.logs)

    def parse(self, replies: Sequence[Reply]) -> Readings:
        found: list[SlowCall] = []
        for (log, _command), reply in zip(self.logs, replies, strict=True):
            if isinstance(reply, list):
                found += self._new(log, reply)
        return Readings(slow_calls=found)

    def _new(self, log: str, entries: list[Reply]) -> list[SlowCall]:
        calls = list(calls_in(log, entries))
        before = self._seen.get(log, set())
        self._seen[log] = {(call.entry_id, call.started_at) for call in calls}
        return [call for call in calls if (call.entry_id, call.started_at) not in before]


class CommandLog(SlowLog):
    """Valkey's logs of large requests and replies."""

    name = "commandlog"
    engines = (Engine.VALKEY,)
    since = COMMANDLOG_VERSION
    logs = tuple((log, ("COMMANDLOG", "GET", str(ENTRIES), log)) for log in (LARGE_REQUEST, LARGE_REPLY))

    def wanted(self, standing: Standing) -> bool:
        return super().wanted(standing) and standing.valkey_version >= self.since


class CommandLogSlow(CommandLog):
    """The slow log under Valkey's own name, where a service refuses the older one."""

    name = "commandlog_slow"
    instead_of = (SLOWLOG_GET,)
    logs = ((SLOW, ("COMMANDLOG", "GET", str(ENTRIES), SLOW)),)


def calls_in(log: str, entries: list[Reply]) -> Iterator[SlowCall]:
    """Yield the readable entries among `(id, started, usec or bytes, words, ...)`."""
    for entry in entries[:ENTRIES]:
        if not isinstance(entry, list) or len(entry) < 4:
            continue
        entry_id, started_at, amount, words = entry[:4]
        if is_number(entry_id, NUMBER_LIMIT) and is_number(started_at, TIME_LIMIT) and is_number(amount, NUMBER_LIMIT):
            yield SlowCall(log, entry_id, started_at, amount, *shape_of(words))


def is_number(value: object, limit: int) -> bool:
    return isinstance(value, int) and 0 <= value < limit
