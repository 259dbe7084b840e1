"""INFO commandstats: calls, time, rejections and failures of each command. About 20 usec and 4 kB for 40 commands."""

from collections.abc import Sequence

from django.conf import settings

from collectors.source import Command, Readings, Reply, Source
from collectors.sources.counters import Counters, Names
from collectors.sources.fields import lines_of
from collectors.tallies import COMMAND, Tally

PREFIX = b"cmdstat_"
# The last two since Redis 6.2.
FIELDS = (b"calls", b"usec", b"rejected_calls", b"failed_calls")


class Commandstats(Source):
    """What each command did since the reply before."""

    name = "commandstats"

    def __init__(self) -> None:
        self._counters, self._names = Counters(), Names()

    def every(self) -> int:
        return int(settings.COMMANDS_INTERVAL_SECONDS)

    def commands(self) -> tuple[Command, ...]:
        return (("INFO", "commandstats"),)

    def forget(self) -> None:
        self._counters.forget()

    def parse(self, replies: Sequence[Reply]) -> Readings:
        text = replies[0] if isinstance(replies[0], bytes) else b""
        # INFO itself is counted, so that a server that keeps these statistics has some.
        if PREFIX not in text:
            self.forget()
            return Readings()
        grown = self._counters.grown(lines_of(text), PREFIX, FIELDS)
        if grown is None:
            return Readings()
        tallies: dict[str, Tally] = {}
        for raw, (calls, usec, rejected, failed) in grown.items():
            tallies.setdefault(self._names.of(raw), Tally()).add(Tally(calls, usec, rejected, failed))
        return Readings(tallies={COMMAND: tallies})
