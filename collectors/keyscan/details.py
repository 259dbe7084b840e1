"""What is read of some keys beside their size, and what that says of all: types, TTL, idle time, overhead, slots.

Details are those of a sample (one key in 50), or of every key. Of a sample only shares are taken, with the
error that 95 of 100 samples stay within.
"""

from __future__ import annotations

import binascii
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from collectors.keyscan.histograms import Histogram

# Types beyond these (modules may bring any) are counted together.
TYPES = 24
UNKNOWN = ""
OTHER_TYPES = "other"
# The half width of the interval that 95% of samples fall into, in standard deviations.
WIDTH = 1.96
SLOTS = 16_384


@dataclass(slots=True)
class Detail:
    """One key: None and "" stand for what was not read. Times are -1 for a key that has no TTL, in ms or seconds."""

    key: bytes
    size: int
    type: str = ""
    ttl_ms: int | None = None
    idle: int | None = None
    encoding: str = ""
    elements: int | None = None
    frequency: int | None = None


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a whole, 0 to 1, and how far off it may be; 0 where every key was read."""

    value: float
    error: float

    @property
    def low(self) -> float:
        return max(self.value - self.error, 0.0)

    @property
    def high(self) -> float:
        return min(self.value + self.error, 1.0)


@dataclass(slots=True)
class Tally:
    """Keys of one type among those whose details were read."""

    keys: int = 0
    bytes: int = 0
    # The sum of squared sizes: what an error of a share of bytes is reckoned with.
    squares: float = 0.0
    # Keys whose TTL was read, and those of them without one.
    ttl_read: int = 0
    lasting: int = 0
    # Of keys whose payload is known (strings): their bytes in memory, and those of name and value.
    held: int = 0
    payload: int = 0

    def count(self, kind: str, row: Detail) -> None:
        self.keys += 1
        self.bytes += row.size
        self.squares += float(row.size) ** 2
        if row.ttl_ms is not None:
            self.ttl_read += 1
            self.lasting += row.ttl_ms < 0
        if kind == "string" and row.elements is not None:
            self.held += row.size
            self.payload += row.elements + len(row.key)

    def take(self, other: Tally) -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def values(self) -> list[float]:
        return [getattr(self, name) for name in self.__slots__]


class Details:
    """Sums over the keys whose details were read."""

    def __init__(self) -> None:
        self.tallies: dict[str, Tally] = {}
        self.encodings: Counter[tuple[str, str]] = Counter()
        self.elements: dict[str, Histogram] = {}
        self.ttl_seconds, self.idle_seconds, self.name_lengths = Histogram(), Histogram(), Histogram()
        self.slot_bytes: Counter[int] = Counter()
        self.slot_keys: Counter[int] = Counter()

    def add(self, rows: Iterable[Detail], is_known: Callable[[bytes, int], bool] | None = None) -> None:
        """Take in keys; those that are known one by one, by name and size, are left out of the tallies."""
        by_kind: dict[str, list[Detail]] = {}
        for row in rows:
            kind = self._kind(row.type)
            tally = self.tallies.get(kind) or self.tallies.setdefault(kind, Tally())
            if is_known is None or not is_known(row.key, row.size):
                tally.count(kind, row)
            by_kind.setdefault(kind, []).append(row)
            slot = slot_of(row.key)
            self.slot_bytes[slot] += row.size
            self.slot_keys[slot] += 1
        for kind, group in by_kind.items():
            self._histograms(kind, group)

    def _kind(self, name: str) -> str:
        return name if name in self.tallies or len(self.tallies) < TYPES else OTHER_TYPES

    def _histograms(self, kind: str, rows: Sequence[Detail]) -> None:
        self.name_lengths.add([len(row.key) for row in rows])
        self.ttl_seconds.add([row.ttl_ms // 1000 for row in rows if row.ttl_ms is not None and row.ttl_ms >= 0])
        self.idle_seconds.add([row.idle for row in rows if row.idle is not None])
        self.encodings.update([(kind, row.encoding) for row in rows if row.encoding])
        elements = [row.elements for row in rows if row.elements is not None]
        if elements:
            self.elements.setdefault(kind, Histogram()).add(elements)

    @property
    def keys(self) -> int:
        return sum(tally.keys for tally in self.tallies.values())

    @property
    def bytes(self) -> int:
        return sum(tally.bytes for tally in self.tallies.values())

    def share_of_keys(self, kind: str, of: int) -> Share:
        """Return the share of keys that have this type, of so many keys in all."""
        return share(self.tallies.get(kind, Tally()).keys, self.keys, of)

    def share_of_bytes(self, kind: str, of: int) -> Share:
        """Return the share of bytes in keys of this type. The error is that of a ratio of two sums."""
        whole, mine = self.bytes, self.tallies.get(kind, Tally())
        if not whole:
            return Share(0.0, 1.0)
        part = mine.bytes / whole
        others = sum(tally.squares for tally in self.tallies.values()) - mine.squares
        spread = (1 - part) ** 2 * mine.squares + part**2 * max(others, 0.0)
        return Share(part, WIDTH * math.sqrt(spread) / whole * rest(self.keys, of))

    def without_ttl(self, of: int) -> Share | None:
        """Return the share of keys that never expire; None where no TTL was read."""
        read = sum(tally.ttl_read for tally in self.tallies.values())
        lasting = sum(tally.lasting for tally in self.tallies.values())
        return share(lasting, read, of) if read else None

    def merge(self, other: Details) -> None:
        for kind, tally in other.tallies.items():
            self.tallies.setdefault(self._kind(kind), Tally()).take(tally)
        self.encodings.update(other.encodings)
        self.slot_bytes.update(other.slot_bytes)
        self.slot_keys.update(other.slot_keys)
        for kind, histogram in other.elements.items():
            self.elements.setdefault(self._kind(kind), Histogram()).merge(histogram)
        self.ttl_seconds.merge(other.ttl_seconds)
        self.idle_seconds.merge(other.idle_seconds)
        self.name_lengths.merge(other.name_lengths)

    def to_json(self) -> dict[str, Any]:
        return {
            "tallies": {kind: tally.values() for kind, tally in self.tallies.items()},
            "encodings": [[kind, encoding, count] for (kind, encoding), count in self.encodings.items()],
            "elements": {kind: histogram.to_json() for kind, histogram in self.elements.items()},
            "ttl_seconds": self.ttl_seconds.to_json(),
            "idle_seconds": self.idle_seconds.to_json(),
            "name_lengths": self.name_lengths.to_json(),
            "slots": [[slot, count, self.slot_bytes[slot]] for slot, count in self.slot_keys.items()],
        }

    @classmethod
    def of_json(cls, given: dict[str, Any]) -> Details:
        details = cls()
        details.tallies = {kind: Tally(*values) for kind, values in given["tallies"].items()}
        details.encodings = Counter({(kind, encoding): count for kind, encoding, count in given["encodings"]})
        details.elements = {kind: Histogram.of_json(counts) for kind, counts in given["elements"].items()}
        details.ttl_seconds = Histogram.of_json(given["ttl_seconds"])
        details.idle_seconds = Histogram.of_json(given["idle_seconds"])
        details.name_lengths = Histogram.of_json(given["name_lengths"])
        details.slot_keys = Counter({slot: keys for slot, keys, _bytes in given["slots"]})
        details.slot_bytes = Counter({slot: size for slot, _keys, size in given["slots"]})
        return details


def share(part: int, read: int, of: int) -> Share:
    """Return the share that `part` is of the keys read, and its error for a whole of `of` keys."""
    if not read:
        return Share(0.0, 1.0)
    # Add two to each side: a sample without a case does not prove that there is none.
    middle = (part + 2) / (read + 4)
    return Share(part / read, WIDTH * math.sqrt(middle * (1 - middle) / (read + 4)) * rest(read, of))


def rest(read: int, of: int) -> float:
    """Return how much of a sample's error is left where the sample is a good part of the whole."""
    return math.sqrt(max(1 - read / of, 0.0)) if of else 1.0


def slot_of(key: bytes) -> int:
    """Return the slot that a cluster puts a key into, by its hash tag where it has one."""
    opened = key.find(b"{")
    closed = key.find(b"}", opened + 1) if opened >= 0 else -1
    return binascii.crc_hqx(key[opened + 1 : closed] if closed > opened + 1 else key, 0) % SLOTS
