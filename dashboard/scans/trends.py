"""How prefixes grew over all scans of a cache that asked for the same keys."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from collectors.keyscan.models import Scan, ScanPrefix, ScanState
from collectors.keyscan.sources import alike

SCANS = 60
DAY_SECONDS = 86_400.0
# Scans of less than an hour apart say nothing of a day.
SHORTEST_DAYS = 1 / 24
# Of the picture's height is left free above and below the line, in percent.
MARGIN = 8.0


@dataclass(frozen=True, slots=True)
class TrendPoint:
    scan: Scan
    size: int
    keys: int


@dataclass(frozen=True, slots=True)
class Trend:
    """One prefix, oldest scan first."""

    points: Sequence[TrendPoint]

    @property
    def sizes(self) -> list[int]:
        return [point.size for point in self.points]

    @property
    def newest(self) -> TrendPoint:
        return self.points[-1]

    @property
    def growth_per_day(self) -> float | None:
        """Return bytes a day from the first scan to the last; None for scans of less than an hour."""
        if len(self.points) < 2:
            return None
        first, last = self.points[0], self.points[-1]
        days = days_between(first.scan.at, last.scan.at)
        return (last.size - first.size) / days if days >= SHORTEST_DAYS else None

    @property
    def dots(self) -> list[Dot]:
        return drawn(self.points)

    @property
    def strokes(self) -> list[tuple[Dot, Dot]]:
        return list(pairwise(self.dots))


@dataclass(frozen=True, slots=True)
class Dot:
    """A point of a picture, in percent from its left upper corner."""

    x: float
    y: float
    point: TrendPoint


def days_between(first: datetime, last: datetime) -> float:
    return (last - first).total_seconds() / DAY_SECONDS


def drawn(points: Sequence[TrendPoint]) -> list[Dot]:
    """Return where points lie: by time from left to right, and by size from nothing at the floor."""
    if not points:
        return []
    first, span = points[0].scan.at, days_between(points[0].scan.at, points[-1].scan.at) or 1.0
    highest = max(point.size for point in points) or 1
    width, height = 100 - MARGIN / 2, 100 - 2 * MARGIN
    return [
        Dot(
            MARGIN / 4 + days_between(first, point.scan.at) / span * width,
            100 - MARGIN - point.size / highest * height,
            point,
        )
        for point in points
    ]


def trends(scan: Scan, digests: Collection[int]) -> dict[int, Trend]:
    """Return prefixes over this scan and the complete ones before it, by digest."""
    earlier = scan.before().filter(state=ScanState.DONE)[: SCANS - 1]
    scans = {one.pk: one for one in [scan, *alike(scan, earlier)]}
    rows = ScanPrefix.objects.filter(scan__in=list(scans), digest__in=list(digests))
    found: dict[int, list[TrendPoint]] = {}
    for digest, scan_id, size, keys in rows.values_list("digest", "scan_id", "size", "keys"):
        found.setdefault(digest, []).append(TrendPoint(scans[scan_id], size, keys))
    return {digest: Trend(sorted(points, key=lambda point: point.scan.at)) for digest, points in found.items()}
