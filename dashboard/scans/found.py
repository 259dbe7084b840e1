"""What the result page shows of a scan: tables, histograms and shares, ready for templates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from collectors import latest
from collectors.keyscan.models import Scan, ScanKey, ScanPrefix
from dashboard.scans.naming import Naming
from dashboard.scans.trends import Trend

KEYS_A_PAGE = 100
PREFIXES_SHOWN = 100
SORTS = {"size": "-size", "elements": "-elements"}


@dataclass(frozen=True, slots=True)
class KeyRow:
    """One of the largest keys as a reader may see it. `node_share` is its part of its node's memory."""

    key: ScanKey
    name: str
    node_share: float | None

    @property
    def ttl_seconds(self) -> float | None:
        ttl = self.key.ttl_ms
        return None if ttl is None or ttl < 0 else ttl / 1000

    @property
    def never_expires(self) -> bool:
        return self.key.ttl_ms is not None and self.key.ttl_ms < 0


@dataclass(slots=True)
class PrefixLine:
    """A prefix with its part of the whole, how it differs from an earlier scan, and its trend over all of them."""

    row: ScanPrefix
    name: str
    share: float
    before: int | None = None
    trend: Trend | None = None

    @property
    def delta(self) -> int | None:
        return None if self.before is None else self.row.size - self.before

    @property
    def lasting_ratio(self) -> float | None:
        return self.row.lasting_ratio


@dataclass(frozen=True, slots=True)
class Bar:
    """One band of a histogram; `height` is its part of the highest, 0 to 1."""

    least: int
    below: int
    count: int
    height: float


def bars(counts: Iterable[Sequence[int]]) -> list[Bar]:
    """Return a stored histogram with the empty bands between others."""
    found = {int(length): int(count) for length, count in counts}
    if not found:
        return []
    highest = max(found.values())
    return [
        Bar(1 << length >> 1, 1 << length, found.get(length, 0), found.get(length, 0) / highest)
        for length in range(min(found), max(found) + 1)
    ]


def top_keys(scan: Scan, shard: int = 0, kind: str = "", sort: str = "size") -> QuerySet[ScanKey]:
    """Return the largest keys of a scan, of one shard or type where one is given."""
    rows = scan.top_keys.all()
    if shard:
        rows = rows.filter(shard=shard)
    if kind:
        rows = rows.filter(type=kind)
    if sort == "elements":
        rows = rows.filter(elements__isnull=False).exclude(type="string")
    return rows.order_by(SORTS[sort], "name")[: scan.asked.top]


def complete_from(scan: Scan, shard: int = 0, kind: str = "") -> int | None:
    """Return the size from which on no key is missing in the ranking of a shard or type; 0 where none is at all.

    None where nobody noted it, or where the ranking is that of all keys, which is exact down to its end.
    """
    if not (shard or kind):
        return None
    shards = [one for one in scan.shards.all() if shard in {0, one.number}]
    ends = [one.summary.get("typed_from" if kind else "complete_from") for one in shards]
    return max((end for end in ends if end is not None), default=None)


def key_rows(scan: Scan, keys: Iterable[ScanKey], naming: Naming) -> list[KeyRow]:
    memory = memory_by_address(scan)
    return [
        KeyRow(key, naming.key(bytes(key.name)), key.size / used if (used := memory.get(key.address)) else None)
        for key in keys
    ]


def memory_by_address(scan: Scan) -> dict[str, int]:
    """Return what each node of a scan reports as its memory."""
    newest = latest.nodes([scan.cache_id])
    used = {shard.address: newest.get(shard.node_id or 0) for shard in scan.shards.all()}
    return {address: seen.used_memory for address, seen in used.items() if seen and seen.used_memory}


def place_of(scan: Scan, text: str) -> ScanPrefix | None:
    """Return the prefix that a URL names by its number, the whole where it names none; None before results."""
    if text.removeprefix("-").isascii() and text.removeprefix("-").isdigit() and len(text) <= 20:
        chosen = scan.prefixes.filter(digest=int(text)).first() if abs(int(text)) < 2**63 else None
        if chosen:
            return chosen
    return scan.prefixes.filter(depth=0).first()


def below(scan: Scan, place: ScanPrefix, earlier: Scan | None, naming: Naming) -> list[PrefixLine]:
    """Return what lies below a prefix, the heaviest first."""
    rows = list(scan.prefixes.filter(parent=place.digest).order_by("-size", "digest")[:PREFIXES_SHOWN])
    return lines(rows, scan, earlier, naming)


def heaviest(scan: Scan, earlier: Scan | None, naming: Naming, limit: int = PREFIXES_SHOWN) -> list[PrefixLine]:
    """Return the heaviest prefixes of all levels, but for the whole."""
    rows = list(scan.prefixes.filter(depth__gt=0).order_by("-size", "depth", "digest")[:limit])
    return lines(rows, scan, earlier, naming)


def lines(rows: Sequence[ScanPrefix], scan: Scan, earlier: Scan | None, naming: Naming) -> list[PrefixLine]:
    sizes: dict[int, int] = {}
    if earlier:
        found = earlier.prefixes.filter(digest__in=[row.digest for row in rows])
        sizes = dict(found.values_list("digest", "size"))
    return [
        PrefixLine(
            row,
            naming.prefix(bytes(row.prefix), row.is_other),
            row.size / scan.bytes if scan.bytes else 0.0,
            sizes.get(row.digest, 0) if earlier else None,
        )
        for row in rows
    ]


def path_to(place: ScanPrefix, naming: Naming) -> list[dict[str, Any]]:
    """Return the prefixes from the whole down to one, for the way back."""
    steps = [place]
    while steps[0].parent is not None:
        above = ScanPrefix.objects.filter(scan=place.scan_id, digest=steps[0].parent).first()
        if above is None:
            break
        steps.insert(0, above)
    return [{"digest": step.digest, "name": naming.prefix(bytes(step.prefix), step.is_other)} for step in steps]


def seen_ratio(scan: Scan) -> float | None:
    """Return the share of the keys that were there at the start which the scan saw; None of parts of a cache."""
    total = scan.summary.get("total")
    asked = scan.asked
    return min(scan.keys / total, 1.0) if total and not (asked.match or asked.type) else None


def larger_than(scan: Scan, bits: int) -> int:
    """Return how many values have two to the power of `bits` bytes or more."""
    return sum(count for length, count in scan.summary.get("sizes", []) if length > bits)
