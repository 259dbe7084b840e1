"""Two scans beside each other: what is new, what is gone, what grew, and how fast."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from collectors.keyscan.models import Scan, ScanKey, ScanPrefix
from dashboard.scans.naming import Naming
from dashboard.scans.trends import SHORTEST_DAYS, days_between

SHOWN = 100


@dataclass(frozen=True, slots=True)
class Change:
    """A key or prefix in two scans; None means that it is not among what was kept of that scan."""

    name: str
    before: int | None
    after: int | None
    keys_before: int = 0
    keys_after: int = 0
    digest: int = 0

    @property
    def delta(self) -> int:
        return (self.after or 0) - (self.before or 0)

    @property
    def word(self) -> str:
        if self.before is None:
            return "new"
        return "gone" if self.after is None else "grown" if self.delta > 0 else "shrunk" if self.delta else "same"


@dataclass(frozen=True, slots=True)
class Comparison:
    """What changed from `before` to `after`, the largest changes first."""

    before: Scan
    after: Scan
    prefixes: list[Change]
    keys: list[Change]

    @property
    def days(self) -> float:
        return days_between(self.before.at, self.after.at)

    @property
    def bytes_per_day(self) -> float | None:
        """Return how fast the memory grew; None for scans of less than an hour apart, which say nothing of a day."""
        return (self.after.bytes - self.before.bytes) / self.days if self.days >= SHORTEST_DAYS else None


def compare(before: Scan, after: Scan, naming: Naming) -> Comparison:
    return Comparison(before, after, prefix_changes(before, after, naming), key_changes(before, after, naming))


def prefix_changes(before: Scan, after: Scan, naming: Naming) -> list[Change]:
    old = {row.digest: row for row in before.prefixes.filter(depth__gt=0)}
    new = {row.digest: row for row in after.prefixes.filter(depth__gt=0)}
    changes = [prefix_change(old.get(digest), new.get(digest), naming) for digest in {**old, **new}]
    return largest(changes)


def prefix_change(old: ScanPrefix | None, new: ScanPrefix | None, naming: Naming) -> Change:
    row = new or old
    assert row is not None
    return Change(
        naming.prefix(bytes(row.prefix), row.is_other),
        old.size if old else None,
        new.size if new else None,
        old.keys if old else 0,
        new.keys if new else 0,
        row.digest,
    )


def key_changes(before: Scan, after: Scan, naming: Naming) -> list[Change]:
    """Return changes of the largest keys.

    Who is larger than what the other scan kept, and not among it, is new, or gone: it is no giant any more. Who is
    smaller may have been there unseen, above all where that scan kept fewer keys.
    """
    old, new = by_digest(before.top_keys.all()), by_digest(after.top_keys.all())
    unseen_before, unseen_after = unseen_bytes(before), unseen_bytes(after)
    # Beside the largest of all there are those of a type or by elements, which the sample draws anew each time.
    chosen = {**by_digest(largest_of(before)), **by_digest(largest_of(after))}
    changes = [
        Change(
            naming.key(bytes(key.name)),
            old[digest].size if digest in old else None,
            new[digest].size if digest in new else None,
            digest=digest,
        )
        for digest, key in chosen.items()
        if key.size > (unseen_after if digest not in new else unseen_before if digest not in old else -1)
    ]
    return largest(changes)


def unseen_bytes(scan: Scan) -> int:
    """Return how large a key may have been without being kept: the smallest of a full ranking, else less than any."""
    kept = [key.size for key in largest_of(scan)]
    return kept[-1] if len(kept) >= scan.asked.top else -1


def largest_of(scan: Scan) -> Iterable[ScanKey]:
    return scan.top_keys.order_by("-size", "name")[: scan.asked.top]


def by_digest(keys: Iterable[ScanKey]) -> dict[int, ScanKey]:
    return {key.digest: key for key in keys}


def largest(changes: Iterable[Change]) -> list[Change]:
    moved = [change for change in changes if change.delta]
    return sorted(moved, key=lambda change: (-abs(change.delta), change.name))[:SHOWN]
