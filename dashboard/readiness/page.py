"""What pages and the API show of readiness: a part with its checks, a cache with the worst mark of each part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from dashboard.readiness.gathering import gather
from dashboard.readiness.rules import PART_WORDS, Check, Part, check, summary
from dashboard.readiness.verdict import MARK_WORDS, SIGNS, WORST_FIRST, Mark, worst
from fleet.models import Cache

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


@dataclass(frozen=True, slots=True)
class PartRow:
    """What one may be ready for, with the worst mark of its checks."""

    part: Part
    mark: Mark
    checks: Sequence[Check]

    @property
    def word(self) -> StrOrPromise:
        return PART_WORDS[self.part]

    @property
    def sign(self) -> str:
        return SIGNS[self.mark]

    @property
    def mark_word(self) -> StrOrPromise:
        return MARK_WORDS[self.mark]

    @property
    def trouble(self) -> Check | None:
        """Return the first check that has the worst mark, where that is less than ready."""
        return next((one for one in self.checks if one.mark == self.mark), None) if self.is_trouble else None

    @property
    def is_trouble(self) -> bool:
        return self.mark not in {Mark.READY, Mark.NONE}


@dataclass(frozen=True, slots=True)
class CacheRow:
    cache: Cache
    parts: Sequence[PartRow]

    @property
    def rank(self) -> tuple[int, int, str]:
        """Return its place in a list: worst first, then those with more of the worst, then by name."""
        marks = [part.mark for part in self.parts]
        mark = worst(marks)
        return (*WORST_FIRST, Mark.NONE).index(mark), -marks.count(mark), self.cache.name


def part_rows(cache: Cache, now: datetime) -> list[PartRow]:
    return parts_of(check(gather([cache], now)[cache.pk]))


def fleet_rows(now: datetime) -> list[CacheRow]:
    """Return all caches, the worst first."""
    caches = list(Cache.objects.all())
    inputs = gather(caches, now)
    return sorted((CacheRow(cache, parts_of(check(inputs[cache.pk]))) for cache in caches), key=lambda row: row.rank)


def parts_of(checks: Sequence[Check]) -> list[PartRow]:
    marks = summary(checks)
    return [PartRow(part, marks[part], [one for one in checks if one.rule.part == part]) for part in Part]
