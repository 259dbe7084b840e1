"""Scans as events of their cache: marked on its charts from the start to the end."""

from __future__ import annotations

from django.utils import timezone

from collectors.event import Event, EventQuerySet, Kind
from collectors.keyscan.models import Scan


def begin(scan: Scan) -> None:
    """Mark the start of a scan; one that is taken up again has its mark already."""
    if not marks(scan).exists():
        Event.objects.create(
            cache=scan.cache,
            kind=Kind.KEY_SCAN,
            at=scan.started_at or timezone.now(),
            data={"scan": scan.pk, "brake": scan.brake},
        )


def end(scan: Scan) -> None:
    for mark in marks(scan):
        mark.until = scan.finished_at
        mark.data |= {"state": scan.state, "keys": scan.keys, "bytes": scan.bytes}
        mark.save(update_fields=("until", "data"))


def marks(scan: Scan) -> EventQuerySet:
    return Event.objects.filter(cache=scan.cache_id, kind=Kind.KEY_SCAN, data__scan=scan.pk)
