"""What a scan is asked to do, as people, the API and schedules write it down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from collectors.keyscan.exact import SAMPLES

FIELDS = ("type", "ttl", "idle", "encoding", "len")
BRAKES = ("gentle", "brisk", "fast")
TOP_LIMIT = 10_000
# Levels of prefixes, where a scan is kept for the pages.
DEPTH = 6


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """Empty texts and lists stand for all. `shards` are the numbers of shards.

    `fields` are read of every key; without any, details are read of the largest keys and of a sample.
    `samples` is what MEMORY USAGE is given: SAMPLES and more lead to exact sizes, fewer leave estimates.
    """

    match: str = ""
    type: str = ""
    shards: tuple[int, ...] = ()
    top: int = 100
    fields: tuple[str, ...] = ()
    samples: int = SAMPLES
    sample_every: int = 50
    element_guard: int = 100_000
    may_use_primary: bool = False
    # Where the daily budget of a node is spent, the scan goes on.
    ignores_budget: bool = False

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "shards": list(self.shards), "fields": list(self.fields)}

    @classmethod
    def of_json(cls, given: Mapping[str, Any]) -> ScanOptions:
        known = {each.name for each in fields(cls)}
        named = {name: value for name, value in given.items() if name in known}
        for name in ("shards", "fields"):
            named[name] = tuple(named.get(name, ()))
        return cls(**named)

    @property
    def is_partial(self) -> bool:
        """Return whether it looks at some keys only, so that sums are not those of the cache."""
        return bool(self.match or self.type or self.shards)
