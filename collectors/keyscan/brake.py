"""How hard a scan may work: the length of a slice sets what others wait, the share of time what they lose.

Both follow what is measured. A slice is one round trip: SCAN for the next page with MEMORY USAGE for the last.
"""

from dataclasses import dataclass
from typing import Final

MIN_KEYS, MAX_KEYS = 10, 1_000
FIRST_KEYS = 20
# Timers wake up a millisecond late: shorter pauses are saved up.
SHORTEST_PAUSE_SECONDS = 0.001
# Time that a slow round trip ran over its share is not made up for beyond this.
MOST_CREDIT_SECONDS = 0.005
LONGEST_SLICE = 2
# After a guard held the scan up it goes on at a fraction of its speed, which grows back each second.
EASE_DOWN, EASE_UP, EASE_LEAST = 0.5, 1.25, 1 / 32


@dataclass(frozen=True, slots=True)
class Brake:
    """`slice_seconds` is the server's time a slice aims at; without it a slice has `keys` keys.

    `share` is the part of the time that the server may work for the scan. With `streams` two requests are
    in flight. `interval` is redis-cli's: seconds to sleep for every hundred SCANs.
    """

    name: str
    keys: int = 0
    slice_seconds: float = 0.0
    share: float = 1.0
    streams: bool = False
    interval: float = 0.0


GENTLE: Final = Brake("gentle", slice_seconds=0.00012, share=0.25)
BRISK: Final = Brake("brisk", keys=25, streams=True)
FAST: Final = Brake("fast", keys=1_000, streams=True)
BRAKES: Final = {brake.name: brake for brake in (GENTLE, BRISK, FAST)}
REDIS_CLI_PAGE = 10
SCANS_AN_INTERVAL = 100


def interval(seconds: float) -> Brake:
    """Return redis-cli's -i: pages of ten keys, and a sleep after every hundred of them."""
    return Brake("interval", keys=REDIS_CLI_PAGE, interval=seconds)


class Pace:
    """The brake of one node at work. `base_seconds` is what a round trip takes that asks for nothing."""

    def __init__(self, brake: Brake) -> None:
        self.base_seconds = 0.0
        self.ease = 1.0
        self.use(brake)

    def use(self, brake: Brake) -> None:
        self.brake = brake
        self.keys = brake.keys or FIRST_KEYS
        self._owed = 0.0
        self._scans = 0

    @property
    def streams(self) -> bool:
        """Return whether two requests may be in flight: at full speed only, and not while easing off."""
        return self.brake.streams and self.ease == 1.0

    @property
    def is_unbraked(self) -> bool:
        return self.streams and self.keys >= MAX_KEYS

    def took(self, seconds: float, adapt: bool = True) -> float:
        """Note how long a slice took; return how long to pause now, 0 for not at all."""
        server = max(seconds - self.base_seconds, seconds * 0.1)
        if self.brake.slice_seconds and adapt:
            self._adapt(server)
            # What took much longer waited for others, here or there, and was not the server's work.
            server = min(server, LONGEST_SLICE * self.brake.slice_seconds)
        if self.brake.interval:
            return self._interval(adapt)
        share = self.brake.share * self.ease
        if share >= 1:
            return 0.0
        self._owed = max(self._owed + server / share - seconds, -MOST_CREDIT_SECONDS)
        return self._owed if self._owed >= SHORTEST_PAUSE_SECONDS else 0.0

    def slept(self, seconds: float) -> None:
        """Note how long a pause was in truth."""
        self._owed -= seconds

    def _adapt(self, server: float) -> None:
        factor = min(max(self.brake.slice_seconds / server, 0.5), 1.5)
        self.keys = min(max(round(self.keys * factor), MIN_KEYS), MAX_KEYS)

    def _interval(self, is_scan: bool) -> float:
        self._scans += is_scan
        if self._scans < SCANS_AN_INTERVAL:
            return 0.0
        self._scans = 0
        return self.brake.interval

    def ease_off(self) -> None:
        self.ease = max(self.ease * EASE_DOWN, EASE_LEAST)

    def recover(self) -> None:
        """Take back a part of the easing; call it once a second."""
        self.ease = min(self.ease * EASE_UP, 1.0)
