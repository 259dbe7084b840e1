"""Which of the keys that a scan ranked are stored, and from which size on nothing is missing among them."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from collectors.keyscan.aggregate import Aggregate, Entry

KEYS_OF_A_SHARD = 1_000
KEYS_KEPT = 25_000


@dataclass(frozen=True, slots=True)
class Kept:
    """What is stored of one part: its `largest` keys, up to `limit` of each type and of those with most elements."""

    part: Aggregate
    largest: Sequence[Entry]
    limit: int

    def entries(self) -> Iterator[Entry]:
        """Yield each key once, the largest first."""
        seen: set[bytes] = set()
        typed = (entry for kind in self.part.by_type for entry in self.part.entries(kind)[: self.limit])
        for entry in (*self.largest, *typed, *self.part.longest()[: self.limit]):
            if entry.name not in seen:
                seen.add(entry.name)
                yield entry

    @property
    def complete_from(self) -> int:
        """Return the size from which on every key is stored, 0 where all are."""
        return self.largest[-1].size if self.largest and len(self.largest) < self.part.keys else 0

    @property
    def typed_from(self) -> int:
        """Return the size from which on every key of each type is stored, 0 where all are."""
        if not self.part.is_full:
            return self.complete_from
        ranked = (self.part.entries(kind) for kind in self.part.by_type)
        tops = [entries for entries in ranked if len(entries) >= min(self.limit, self.part.top.limit)]
        return max((entries[: self.limit][-1].size for entries in tops), default=0)


def kept_of(parts: Sequence[Aggregate], top: int) -> list[Kept]:
    """Return what is kept of each part, the `top` largest keys of all of them in any case."""
    limit = min(top, max(KEYS_OF_A_SHARD, KEYS_KEPT // max(len(parts), 1)))
    ranked = [part.entries() for part in parts]
    every = ((-entry.size, entry.name, index) for index, entries in enumerate(ranked) for entry in entries)
    # Each part's own ranking has the same order: of the largest of all it holds the first few.
    shares = Counter(index for _size, _name, index in heapq.nsmallest(top, every))
    return [
        Kept(part, entries[: max(limit, shares[index])], limit)
        for index, (part, entries) in enumerate(zip(parts, ranked, strict=True))
    ]
