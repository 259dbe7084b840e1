"""The section Errorstats of INFO, in the reply that Info asked for: error replies by their first word."""

from collections.abc import Sequence

from django.conf import settings

from collectors.source import Command, Readings, Reply, Source
from collectors.sources.counters import Counters, Names
from collectors.sources.fields import lines_of
from collectors.sources.info import INFO
from collectors.tallies import ERROR, Tally

# Since Redis 6.2. A server without an error so far shows the heading alone.
HEADING = b"# Errorstats"
PREFIX = b"errorstat_"


class Errorstats(Source):
    """How many errors of each type the server answered since the reply before."""

    name = "errorstats"
    since = (6, 2)

    def __init__(self) -> None:
        self._counters, self._names = Counters(), Names()

    def every(self) -> int:
        return int(settings.COMMANDS_INTERVAL_SECONDS)

    def commands(self) -> tuple[Command, ...]:
        return (INFO,)

    def forget(self) -> None:
        self._counters.forget()

    def parse(self, replies: Sequence[Reply]) -> Readings:
        text = replies[0] if isinstance(replies[0], bytes) else b""
        start = text.find(HEADING)
        if start < 0:
            self.forget()
            return Readings()
        section = text[start:].partition(b"\r\n\r\n")[0]
        grown = self._counters.grown(lines_of(section), PREFIX, (b"count",))
        if grown is None:
            return Readings()
        tallies: dict[str, Tally] = {}
        for raw, (count,) in grown.items():
            tallies.setdefault(self._names.of(raw), Tally()).add(Tally(calls=count))
        return Readings(tallies={ERROR: tallies})
