"""LATENCY LATEST and LATENCY HISTORY: what held a server up, as it recorded that itself.

Servers record only what takes longer than their latency-monitor-threshold, which is 0, off, unless somebody sets
it. LATEST costs 2 usec. HISTORY, 5 to 15 usec, is asked only for events that happened since the time before.
"""

from collections.abc import Iterator, Sequence

from django.conf import settings

from collectors.failures import printable
from collectors.source import Command, Readings, Reply, Source, Spike
from collectors.sources.slowlog import TIME_LIMIT, is_number

LATENCY_LATEST: Command = ("LATENCY", "LATEST")
THRESHOLD: Command = ("CONFIG", "GET", "latency-monitor-threshold")
# Servers know some twenty events and keep 160 moments of each.
EVENTS_READ, MOMENTS_READ = 32, 200
EVENT_LIMIT = 40
MILLISECONDS_LIMIT = 2**31


class LatencyEvents(Source):
    """Moments in which the server was held up, each by its event and second."""

    name = "latency_events"

    def __init__(self) -> None:
        # What was seen of each event, and the events that happened since their history was read.
        self._seen: dict[str, set[Spike]] = {}
        self._wanted: tuple[str, ...] = ()

    def every(self) -> int:
        return int(settings.LATENCY_INTERVAL_SECONDS)

    def commands(self) -> tuple[Command, ...]:
        return (LATENCY_LATEST, *(("LATENCY", "HISTORY", event) for event in self._wanted))

    def parse(self, replies: Sequence[Reply]) -> Readings:
        latest = list(latest_in(replies[0]))
        found = {spike.event: {spike} for spike in latest}
        for event, reply in zip(self._wanted, replies[1:], strict=True):
            found.setdefault(event, set()).update(moments_in(event, reply))
        before, self._seen = self._seen, found
        self._wanted = tuple(spike.event for spike in latest if spike not in before.get(spike.event, ()))
        fresh = [spikes - before.get(event, set()) for event, spikes in found.items()]
        return Readings(spikes=[spike for spikes in fresh for spike in spikes])


class LatencyThreshold(Source):
    """From how many milliseconds on the server records: a fact. 0 is never."""

    name = "latency_threshold"

    def __init__(self) -> None:
        self._known = ""

    def every(self) -> int:
        return int(settings.DETAIL_INTERVAL_SECONDS)

    def commands(self) -> tuple[Command, ...]:
        return (THRESHOLD,)

    def parse(self, replies: Sequence[Reply]) -> Readings:
        reply = replies[0]
        text = reply[1] if isinstance(reply, list) and len(reply) == 2 else None
        if not isinstance(text, bytes) or not text.isdigit() or text.decode() == self._known:
            return Readings()
        self._known = printable(text)
        return Readings(facts={"latency_monitor_threshold": self._known})


def latest_in(reply: Reply) -> Iterator[Spike]:
    """Yield the newest moment of each event in `event, time, milliseconds, longest ever, ...`."""
    for entry in reply[:EVENTS_READ] if isinstance(reply, list) else ():
        if not isinstance(entry, list) or len(entry) < 3 or not isinstance(entry[0], bytes):
            continue
        event = printable(entry[0], EVENT_LIMIT)
        # The name goes into our next question.
        if event.isascii() and event.encode() == entry[0]:
            yield from moments_in(event, [entry[1:3]])


def moments_in(event: str, reply: Reply) -> Iterator[Spike]:
    """Yield the readable moments among `time, milliseconds`."""
    for entry in reply[:MOMENTS_READ] if isinstance(reply, list) else ():
        if not isinstance(entry, list) or len(entry) < 2:
            continue
        at, milliseconds = entry[:2]
        if is_number(at, TIME_LIMIT) and is_number(milliseconds, MILLISECONDS_LIMIT):
            yield Spike(event, at, milliseconds)
