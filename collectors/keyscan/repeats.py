"""How many keys SCAN gave more than once, estimated with a bounded sample of names.

A server that makes its table smaller during a scan gives some keys again. Every name of the sample
was seen once; each time one comes again stands for as many repeats as the sample stands for keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

WATCHED = 10_000
# Of names seen first, one of so many is watched; when there are too many, half of them go and it doubles.
EVERY = 16
NAME_LIMIT = 128
# To look each name up costs as much as to add all sizes up: of many pages one in so many stands for the others.
PAGES_ALL, PAGES_EVERY = 64, 8


class Repeats:
    """The estimate, and the names that are watched for it."""

    def __init__(self) -> None:
        self.estimate = 0.0
        self.every = EVERY
        self._watched: set[bytes] = set()
        self._turn = self._pages = 0

    def add(self, names: Sequence[bytes]) -> None:
        self._pages += 1
        weight = 1 if self._pages <= PAGES_ALL else PAGES_EVERY
        if not self._pages % weight and not self._watched.isdisjoint(names):
            self.estimate += self.every * weight * sum(name in self._watched for name in names)
        # From elsewhere in each batch: a page of SCAN may begin with the same bucket again.
        self._turn = (self._turn * 5 + 3) % 4096
        for name in names[self._turn % self.every :: self.every]:
            if len(name) <= NAME_LIMIT:
                self._watched.add(name)
        while len(self._watched) > WATCHED:
            self._watched = set(list(self._watched)[::2])
            self.every *= 2

    def merge(self, other: Repeats) -> None:
        """Add another node's estimate. Nodes are walked apart: what one gave, another cannot give again."""
        self.estimate += other.estimate

    def to_json(self) -> dict[str, Any]:
        names = [name.decode("latin-1") for name in self._watched]
        counts = {"every": self.every, "turn": self._turn, "pages": self._pages}
        return {"estimate": self.estimate, **counts, "names": names}

    @classmethod
    def of_json(cls, given: dict[str, Any]) -> Repeats:
        repeats = cls()
        repeats.estimate, repeats.every, repeats._turn = given["estimate"], given["every"], given["turn"]
        repeats._pages = given.get("pages", 0)
        repeats._watched = {name.encode("latin-1") for name in given["names"]}
        return repeats
