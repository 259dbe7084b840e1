"""LATENCY HISTOGRAM: how long calls of each command took.

Since Redis 7.0. It walks through a histogram a command: 10 to 25 usec each, about 1 ms for 40 commands, and
4 kB. Many managed services refuse LATENCY; then the mean of INFO commandstats is all there is.
"""

import math
from collections.abc import Sequence

from django.conf import settings

from collectors.source import Command, Readings, Reply, Source, Standing
from collectors.sources.counters import LINES_READ, Names
from collectors.tallies import BUCKETS, COMMAND, COUNT_LIMIT, Tally

# Calls that took at most so many microseconds, by the bound: they add up from bucket to bucket.
Histogram = list[Reply]


class LatencyHistogram(Source):
    """How the calls of each command since the reply before fall into buckets of latency."""

    name = "latency_histogram"
    since = (7, 0)

    def __init__(self) -> None:
        self._before: dict[bytes, Histogram] | None = None
        self._names = Names()

    def every(self) -> int:
        return int(settings.LATENCY_INTERVAL_SECONDS)

    def wanted(self, standing: Standing) -> bool:
        return super().wanted(standing) and (not standing.version or standing.version >= self.since)

    def commands(self) -> tuple[Command, ...]:
        return (("LATENCY", "HISTOGRAM"),)

    def forget(self) -> None:
        self._before = None

    def parse(self, replies: Sequence[Reply]) -> Readings:
        before, self._before = self._before, histograms(replies[0])
        if before is None:
            return Readings()
        changed = {name: found for name, found in self._before.items() if found != before.get(name)}
        grown = {name: growth(found, before.get(name, [])) for name, found in changed.items()}
        if before.keys() - self._before.keys() or None in grown.values():
            grown = {name: growth(found, []) for name, found in self._before.items()}
        tallies: dict[str, Tally] = {}
        for raw, counted in grown.items():
            tallies.setdefault(self._names.of(raw), Tally()).add(Tally(buckets=counted or {}))
        return Readings(tallies={COMMAND: tallies})


def histograms(reply: Reply) -> dict[bytes, Histogram]:
    """Return the bounds and counts of each command in `name, (calls, n, histogram_usec, (bound, count, ...)), ...`."""
    entries = reply if isinstance(reply, list) else []
    found: dict[bytes, Histogram] = {}
    for name, entry in zip(entries[: 2 * LINES_READ : 2], entries[1::2], strict=False):
        if isinstance(name, bytes) and isinstance(entry, list) and b"histogram_usec" in entry[:-1]:
            pairs = entry[entry.index(b"histogram_usec") + 1]
            if isinstance(pairs, list):
                found[name] = pairs
    return found


def growth(now: Histogram, before: Histogram) -> dict[int, int] | None:
    """Return the calls by bucket since then, None where some count fell: the server began anew."""
    new, old, grown = counts(now), counts(before), {}
    for bucket in new.keys() | old.keys():
        number = new.get(bucket, 0) - old.get(bucket, 0)
        if number < 0:
            return None
        if number:
            grown[bucket] = number
    return grown


def counts(pairs: Histogram) -> dict[int, int]:
    """Return the calls in each bucket, no more than can be true."""
    found: dict[int, int] = {}
    below = 0
    for bound, total in zip(pairs[::2], pairs[1::2], strict=False):
        if isinstance(bound, int) and isinstance(total, int) and bound > 0 and below <= total < COUNT_LIMIT:
            bucket = min(round(math.log2(bound)), BUCKETS - 1)
            found[bucket] = found.get(bucket, 0) + total - below
            below = total
    return found
