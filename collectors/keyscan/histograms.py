"""Counts by powers of two: sizes of values, lengths of names, times to live, idle times, elements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Band:
    """How many values lie from `least` up to, but not including, `below`."""

    least: int
    below: int
    count: int


class Histogram:
    """Whole numbers counted by their length in bits: 0, 1, 2 to 3, 4 to 7, and so on."""

    def __init__(self, counts: dict[int, int] | None = None) -> None:
        self.counts: Counter[int] = Counter(counts)

    def add(self, values: Iterable[int]) -> None:
        self.counts.update(map(int.bit_length, values))

    def merge(self, other: Histogram) -> None:
        self.counts.update(other.counts)

    @property
    def total(self) -> int:
        return self.counts.total()

    def at_least(self, bits: int) -> int:
        """Return how many values are two to the power of `bits`, or more."""
        return sum(count for length, count in self.counts.items() if length > bits)

    def bands(self) -> list[Band]:
        """Return the bands from the lowest with values to the highest, empty ones between them too."""
        if not self.counts:
            return []
        lengths = range(min(self.counts), max(self.counts) + 1)
        return [Band(1 << length >> 1, 1 << length, self.counts[length]) for length in lengths]

    def to_json(self) -> list[list[int]]:
        return [[length, count] for length, count in sorted(self.counts.items())]

    @classmethod
    def of_json(cls, given: Iterable[Any]) -> Histogram:
        return cls({int(length): int(count) for length, count in given})
