"""The largest of very many named numbers, exactly, with the memory of a few."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from collectors.keyscan.names import bounded

# Kept beside the largest before they are sorted out, so that sorting costs next to nothing.
SLACK = 256


class Top:
    """The `limit` largest, each name once. Of equal numbers the first names of the alphabet stay."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        # What is below can never come in; 0 while there is room.
        self.floor = 0
        self._last = b""
        self._kept: dict[bytes, int] = {}

    def add(self, names: Sequence[bytes], numbers: Sequence[int]) -> None:
        if not numbers or max(numbers) < self.floor or not self.limit:
            return
        kept, floor, last = self._kept, self.floor, self._last
        for name, number in zip(names, numbers, strict=True):
            if number > floor or (number == floor and (not last or name <= last)):
                name = bounded(name)
                # SCAN may give a key again; it was as large as it ever was seen.
                kept[name] = max(number, kept.get(name, 0))
        if len(kept) > 2 * self.limit + SLACK:
            self._sort_out()

    def holds(self, name: bytes, number: int) -> bool:
        """Return whether a number that was added is among the largest so far."""
        if number != self.floor or not self._last:
            return self.limit > 0 and number >= self.floor
        return bounded(name) <= self._last

    def _sort_out(self) -> None:
        ranked = sorted(self._kept.items(), key=lambda item: (-item[1], item[0]))[: self.limit]
        self._kept = dict(ranked)
        if ranked and len(ranked) == self.limit:
            self._last, self.floor = ranked[-1]

    def entries(self) -> list[tuple[bytes, int]]:
        """Return names and numbers, the largest first."""
        self._sort_out()
        return list(self._kept.items())

    def largest(self) -> tuple[bytes, int] | None:
        """Return the first entry without sorting; None where there is none."""
        return max(self._kept.items(), key=lambda item: item[1], default=None)

    def merge(self, other: Top) -> None:
        entries = other.entries()
        self.add([name for name, _number in entries], [number for _name, number in entries])

    def __contains__(self, name: bytes) -> bool:
        return name in self._kept

    def to_json(self) -> dict[str, Any]:
        entries = [[name.decode("latin-1"), number] for name, number in self.entries()]
        return {"limit": self.limit, "entries": entries}

    @classmethod
    def of_json(cls, given: dict[str, Any]) -> Top:
        top = cls(given["limit"])
        entries: Iterable[tuple[str, int]] = given["entries"]
        top._kept = {name.encode("latin-1"): number for name, number in entries}
        top._sort_out()
        return top
