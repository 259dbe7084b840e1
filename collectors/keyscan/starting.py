"""Starting scans and steering them: every change is a conditional UPDATE and a row that says who made it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils import timezone

from collectors.keyscan.choosing import Choice, choose
from collectors.keyscan.models import OPEN, Scan, ScanChange, ScanSchedule, ScanShard, ScanState
from collectors.keyscan.options import ScanOptions
from collectors.keyscan.reasons import Reason, ScanRefusedError
from fleet.models import Cache


def start(cache: Cache, asked: ScanOptions, brake: str, author: str = "", schedule: ScanSchedule | None = None) -> Scan:
    """Store a scan for a worker to take up. Raise ScanRefusedError where that is not possible now."""
    if cache.is_paused:
        raise ScanRefusedError(Reason.PAUSED_CACHE)
    choices = choose(cache, asked)
    try:
        with transaction.atomic():
            scan = Scan.objects.create(
                cache=cache, options=asked.to_json(), brake=brake, author=author, schedule=schedule
            )
            ScanShard.objects.bulk_create(shard_of(scan, choice) for choice in choices)
            note(scan, Reason.SCHEDULED if schedule else Reason.ASKED, author)
    except IntegrityError:
        # Somebody else began at the same moment: now there is a scan to name.
        choose(cache, asked)
        raise
    return scan


def shard_of(scan: Scan, choice: Choice) -> ScanShard:
    return ScanShard(
        scan=scan,
        number=choice.number,
        node=choice.node,
        address=choice.node.address,
        is_replica=choice.is_replica,
        total=choice.keys or 0,
        # What is walked under these slots: whether they moved meanwhile is looked up at the end.
        summary={"slots": choice.node.shard.slots} if choice.node.shard and choice.node.shard.slots else {},
    )


def note(scan: Scan, cause: Reason, author: str = "", **data: Any) -> None:
    ScanChange.objects.create(scan=scan, state=scan.state, cause=cause, author=author, data=data)


def pause(scan: Scan, author: str = "", cause: Reason = Reason.ASKED, **data: Any) -> None:
    change(scan, (ScanState.QUEUED, ScanState.RUNNING), ScanState.PAUSED, author, cause, **data)


def resume(scan: Scan, author: str = "", cause: Reason = Reason.ASKED) -> None:
    """Let a paused scan go on: with the worker that still holds it, or with any other."""
    change(scan, (ScanState.PAUSED,), ScanState.RUNNING, author, cause)


def cancel(scan: Scan, author: str = "", cause: Reason = Reason.ASKED) -> None:
    """End a scan and keep what was found; at once where no worker ever had it."""
    with transaction.atomic():
        if not move(scan, (ScanState.QUEUED,), ScanState.STOPPED, attempts=0):
            change(scan, (ScanState.QUEUED, ScanState.RUNNING, ScanState.PAUSED), ScanState.STOPPING, author, cause)
            return
        Scan.objects.filter(pk=scan.pk).update(finished_at=timezone.now())
        ScanShard.objects.filter(scan=scan).update(is_active=False, state="stopped")
        note(scan, cause, author)


def set_brake(scan: Scan, brake: str, author: str = "") -> None:
    with transaction.atomic():
        if not Scan.objects.filter(pk=scan.pk, state__in=OPEN).update(brake=brake):
            refuse(scan)
        scan.refresh_from_db(fields=("state", "brake"))
        note(scan, Reason.BRAKE, author, brake=brake)


def change(scan: Scan, states: Iterable[str], to: ScanState, author: str, cause: Reason, **data: Any) -> None:
    """Move a scan on and write down why. Raise ScanRefusedError where it is in none of these states any more."""
    with transaction.atomic():
        if not move(scan, states, to):
            refuse(scan)
        note(scan, cause, author, **data)


def move(scan: Scan, states: Iterable[str], to: ScanState, **conditions: Any) -> bool:
    """Set the state of a scan if it is in one of these; return whether it was."""
    found = Scan.objects.filter(pk=scan.pk, state__in=tuple(states), **conditions)
    moved = found.update(state=to) == 1
    if moved:
        scan.state = to
    return moved


def refuse(scan: Scan) -> None:
    scan.refresh_from_db(fields=("state",))
    raise ScanRefusedError(Reason.NOT_NOW, state=str(scan.get_state_display()))


def waiting() -> list[int]:
    """Return the scans that no worker holds though they should move on: new ones, and those of lost workers."""
    states = (ScanState.QUEUED, ScanState.RUNNING, ScanState.STOPPING)
    found = Scan.objects.filter(state__in=states, lease_until__lte=Now()).order_by("created_at")
    return list(found.values_list("pk", flat=True))
