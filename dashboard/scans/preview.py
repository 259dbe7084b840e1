"""What a scan would take, before anybody starts it: nodes, keys, time and load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.utils.translation import gettext as _

from collectors.keyscan import budget
from collectors.keyscan.choosing import Choice, choose
from collectors.keyscan.models import Scan, ScanState
from collectors.keyscan.options import ScanOptions
from fleet.models import Cache

# Keys a second of one node, from our own measurements; the last scan of the cache knows better.
USUAL_RATES = {"gentle": 40_000.0, "brisk": 120_000.0, "fast": 400_000.0}
# The share of a node's time that a scan takes.
SHARES = {"gentle": 0.25, "brisk": 0.6, "fast": 1.0}
# Reading fields of every key costs the server this many times as much.
FIELDS_FACTOR = 2.5
# A scan that took less says little about speed.
LEAST_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class PreviewRow:
    """One node: how many keys it reports, and how long they take."""

    choice: Choice
    seconds: float | None
    used_today: float


@dataclass(frozen=True, slots=True)
class Preview:
    """Nodes are walked side by side, so that the slowest sets the time."""

    rows: Sequence[PreviewRow]
    keys: int | None
    seconds: float | None
    load: str
    fields_note: str
    samples_note: str
    budget: int
    budget_note: str


def preview(cache: Cache, asked: ScanOptions, brake: str) -> Preview:
    """Raise ScanRefusedError where the scan cannot be started."""
    rate = rate_of(cache, brake) / (FIELDS_FACTOR if asked.fields else 1.0)
    choices = choose(cache, asked)
    used = budget.used_today([choice.node.pk for choice in choices])
    rows = [
        PreviewRow(choice, None if choice.keys is None else choice.keys / rate, used.get(choice.node.pk, 0.0))
        for choice in choices
    ]
    known = [row for row in rows if row.seconds is not None and row.choice.keys is not None]
    return Preview(
        rows,
        sum(row.choice.keys or 0 for row in known) if known else None,
        max((max(row.seconds or 0.0, 1.0) for row in known), default=None),
        load_words(brake),
        fields_words(asked),
        samples_words(asked),
        settings.SCAN_BUDGET_SECONDS,
        budget_words(asked, brake, rows),
    )


def rate_of(cache: Cache, brake: str) -> float:
    """Return the keys a second of one node: as the last whole scan at this speed had them, or the usual."""
    last = Scan.objects.filter(cache=cache, brake=brake, state=ScanState.DONE, attempts=1).first()
    if last and last.started_at and last.finished_at and not last.asked.is_partial and not last.asked.fields:
        seconds = (last.finished_at - last.started_at).total_seconds()
        largest = max((shard.keys for shard in last.shards.all()), default=0)
        if seconds >= LEAST_SECONDS and largest:
            return float(largest) / seconds
    return USUAL_RATES[brake]


def load_words(brake: str) -> str:
    if brake == "gentle":
        return _("About a quarter of one core of each node, in slices of 0.1 ms.")
    if brake == "brisk":
        return _("About half of one core of each node, in slices of 25 keys.")
    return _("Up to a whole core of each node: others wait up to a millisecond longer.")


def fields_words(asked: ScanOptions) -> str:
    if not asked.fields:
        return ""
    return _("Reading fields of every key takes two to three times as much of the servers' time.")


def budget_words(asked: ScanOptions, brake: str, rows: Sequence[PreviewRow]) -> str:
    """Return that the budget of the day does not last for the scan, "" where it does."""
    limit = settings.SCAN_BUDGET_SECONDS
    if not limit or asked.ignores_budget:
        return ""
    needed = ((row.used_today + (row.seconds or 0.0) * SHARES[brake], row.choice.node.address) for row in rows)
    seconds, address = max(needed, default=(0.0, ""))
    if seconds <= limit:
        return ""
    return _(
        "The daily budget of %(address)s does not last: it gives scans %(limit)d seconds of its time, and about"
        " %(seconds)d would be taken by the end. The scan would stop before, incomplete, unless it may go on."
    ) % {"address": address, "limit": limit, "seconds": seconds}


def samples_words(asked: ScanOptions) -> str:
    if asked.samples >= ScanOptions().samples:
        return ""
    return _("With so few samples the size of some giant keys is off by up to 90%.")
