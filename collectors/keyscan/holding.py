"""Who runs a scan: a lease of some seconds by the database's clock, renewed while the worker lives."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import F
from django.db.models.functions import Coalesce, Now

from collectors.keyscan.models import Scan, ScanQuerySet, ScanState

# A worker that shows no life for so long is lost; others take over from the last checkpoint.
LEASE = timedelta(seconds=15)
LEFT_TO_WORKERS = (ScanState.QUEUED, ScanState.RUNNING, ScanState.STOPPING)


def claim(scan_id: int, worker: str) -> Scan | None:
    """Take a scan that nobody holds; None where somebody does, or where it is over or paused."""
    free = Scan.objects.filter(pk=scan_id, state__in=LEFT_TO_WORKERS, lease_until__lte=Now())
    taken = free.update(
        worker=worker,
        lease_until=Now() + LEASE,
        attempts=F("attempts") + 1,
        started_at=Coalesce("started_at", Now()),
    )
    if not taken:
        return None
    Scan.objects.filter(pk=scan_id, state=ScanState.QUEUED).update(state=ScanState.RUNNING)
    return Scan.objects.select_related("cache").get(pk=scan_id)


def renew(scan: Scan) -> bool:
    """Stay the one who runs it; False where another worker took over meanwhile."""
    return held(scan).update(lease_until=Now() + LEASE) == 1


def release(scan: Scan) -> None:
    held(scan).update(lease_until=Now())


def held(scan: Scan) -> ScanQuerySet:
    """Return the scan's row as long as this attempt of this worker holds it."""
    return Scan.objects.filter(pk=scan.pk, worker=scan.worker, attempts=scan.attempts)
