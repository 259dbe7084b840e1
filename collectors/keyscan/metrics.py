"""The figures of a cache's newest complete scan that alert rules compare with their limits."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.utils.translation import gettext_lazy as _

from collectors.keyscan.models import Scan, ScanMetric, ScanPrefix
from collectors.keyscan.names import shown
from collectors.keyscan.sources import LOOKED_AT, alike

LARGEST_KEY = "scan_largest_key_bytes"
WITHOUT_TTL = "scan_keys_without_ttl_ratio"
HEAVIEST_PREFIX = "scan_largest_prefix_ratio"
PREFIX_GROWTH = "scan_prefix_growth_bytes_per_day"
KEYS = "scan_keys"
BYTES = "scan_bytes"
AGE = "scan_age_seconds"
# What a rule's form shows: the unit and one line each.
CATALOGUE = {
    LARGEST_KEY: ("bytes", _("Memory of the largest key that the last scan found.")),
    WITHOUT_TTL: ("ratio", _("Share of keys that never expire, by the last scan.")),
    HEAVIEST_PREFIX: ("ratio", _("Share of the memory that the heaviest family of keys holds.")),
    PREFIX_GROWTH: ("bytes/day", _("Growth of the family of keys that grew most between the last two scans.")),
    KEYS: ("keys", _("Keys that the last scan counted.")),
    BYTES: ("bytes", _("Memory of all keys together, by the last scan.")),
    AGE: ("seconds", _("Time since the last complete scan.")),
}
DAY_SECONDS = 86_400.0
# Two scans in quick succession say nothing about a day.
GROWTH_SPAN_SECONDS = 3_600.0
NAME_LIMIT = 200

Figure = tuple[str, float, dict[str, Any]]


def write(scan: Scan) -> None:
    """Replace the figures of a scan's cache. What this scan does not tell is removed."""
    figures = list(_figures(scan))
    ScanMetric.objects.filter(cache=scan.cache_id).exclude(name__in=[name for name, *_ in figures]).delete()
    ScanMetric.objects.bulk_create(
        [ScanMetric(cache_id=scan.cache_id, scan=scan, at=scan.at, name=n, value=v, detail=d) for n, v, d in figures],
        update_conflicts=True,
        unique_fields=["cache", "name"],
        update_fields=["scan", "at", "value", "detail"],
    )


def _figures(scan: Scan) -> Iterator[Figure]:
    yield KEYS, float(scan.keys), {}
    yield BYTES, float(scan.bytes), {}
    largest = scan.top_keys.order_by("-size").first()
    if largest:
        yield LARGEST_KEY, float(largest.size), {"key": shown(bytes(largest.name))[:NAME_LIMIT]}
    if scan.summary.get("without_ttl"):
        yield WITHOUT_TTL, scan.summary["without_ttl"][0], {}
    heaviest = scan.prefixes.filter(depth=1, is_other=False).order_by("-size").first()
    if heaviest and scan.bytes:
        yield HEAVIEST_PREFIX, heaviest.size / scan.bytes, {"prefix": shown(bytes(heaviest.prefix))[:NAME_LIMIT]}
    if growth := _growth(scan):
        yield growth


def _growth(scan: Scan) -> Figure | None:
    """Return the prefix of the first two levels that grew most since the scan before, per day."""
    others = alike(scan, scan.before()[:LOOKED_AT])
    before = next((one for one in others if (scan.at - one.at).total_seconds() >= GROWTH_SPAN_SECONDS), None)
    if before is None:
        return None
    days = (scan.at - before.at).total_seconds() / DAY_SECONDS
    earlier = dict(ScanPrefix.objects.filter(scan=before).values_list("digest", "size"))
    rows = ScanPrefix.objects.filter(scan=scan, depth__range=(1, 2), is_other=False)
    grown = max(rows, key=lambda row: row.size - earlier.get(row.digest, 0), default=None)
    if grown is None:
        return None
    name = shown(bytes(grown.prefix))[:NAME_LIMIT]
    return PREFIX_GROWTH, (grown.size - earlier.get(grown.digest, 0)) / days, {"prefix": name}


def read(cache_ids: list[int], now: datetime) -> dict[int, dict[str, float]]:
    """Return the figures by cache and name; a cache without a complete scan has none, not even an age."""
    found: dict[int, dict[str, float]] = {}
    for row in ScanMetric.objects.filter(cache__in=cache_ids):
        figures = found.setdefault(row.cache_id, {})
        figures[row.name] = row.value
        figures[AGE] = (now - row.at).total_seconds()
    return found
