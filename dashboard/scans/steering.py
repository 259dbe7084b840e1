"""What people do with scans, with the audit: pages and the API come here."""

from __future__ import annotations

from datetime import time
from typing import Any

from django.db import transaction
from kombu.exceptions import OperationalError

from accounts.models import AuditEntry, User
from collectors import tasks
from collectors.keyscan import measuring, recheck, starting
from collectors.keyscan.details import Detail
from collectors.keyscan.measuring import Measured
from collectors.keyscan.models import Scan, ScanKey, ScanSchedule
from collectors.keyscan.options import ScanOptions
from collectors.keyscan.reasons import Reason, ScanRefusedError
from fleet.models import Cache

ACTS = {"pause": starting.pause, "resume": starting.resume, "cancel": starting.cancel}


def start(by: User, cache: Cache, asked: ScanOptions, brake: str) -> Scan:
    """Start a scan. Raise ScanRefusedError where that is not possible now."""
    with transaction.atomic():
        scan = starting.start(cache, asked, brake, by.username)
        AuditEntry.record(by, "scan.start", cache.name, scan=scan.pk, brake=brake, **told(asked))
    send(scan)
    return scan


def told(asked: ScanOptions) -> dict[str, Any]:
    """Return what of the options is worth a word in the audit."""
    usual = ScanOptions().to_json()
    return {name: value for name, value in asked.to_json().items() if value != usual[name]}


def send(scan: Scan) -> None:
    """Wake a worker; without a broker the scan waits until it is back."""
    try:
        tasks.run_scan.apply_async((scan.pk,), queue=tasks.SCAN_QUEUE, expires=tasks.TAKE_UP_SECONDS, retry=False)
    except OperationalError:
        return


def act(by: User, scan: Scan, what: str) -> None:
    """Pause, resume or cancel a scan. Raise ScanRefusedError where it is past that."""
    with transaction.atomic():
        ACTS[what](scan, by.username)
        AuditEntry.record(by, f"scan.{what}", scan.cache.name, scan=scan.pk)
    if what == "resume":
        send(scan)


def set_brake(by: User, scan: Scan, brake: str) -> None:
    with transaction.atomic():
        starting.set_brake(scan, brake, by.username)
        AuditEntry.record(by, "scan.brake", scan.cache.name, scan=scan.pk, brake=brake)


def refuse_paused(cache: Cache) -> None:
    if cache.is_paused:
        raise ScanRefusedError(Reason.PAUSED_CACHE)


def check_key(by: User, key: ScanKey) -> Detail | None:
    """Read a key again; None where it is gone. Raise ReadError or ScanRefusedError."""
    refuse_paused(key.scan.cache)
    AuditEntry.record(by, "scan.check", key.scan.cache.name, scan=key.scan_id, key=key.pk)
    return recheck.check(key.scan.cache, key)


def measure_key(by: User, key: ScanKey) -> Measured | None:
    """Measure a giant whole; None where it is gone. Raise ReadError or ScanRefusedError."""
    refuse_paused(key.scan.cache)
    AuditEntry.record(by, "scan.measure", key.scan.cache.name, scan=key.scan_id, key=key.pk, elements=key.elements)
    return measuring.measure(key.scan.cache, key)


def add_schedule(
    by: User, cache: Cache, asked: ScanOptions, brake: str, weekdays: list[int], begins: time, ends: time, zone: str
) -> ScanSchedule:
    with transaction.atomic():
        schedule = ScanSchedule.objects.create(
            cache=cache,
            author=by.username,
            options=asked.to_json(),
            brake=brake,
            weekdays=weekdays,
            begins=begins,
            ends=ends,
            zone=zone,
        )
        AuditEntry.record(by, "scan.schedule", cache.name, schedule=schedule.pk, begins=f"{begins:%H:%M}")
    return schedule


def remove_schedule(by: User, schedule: ScanSchedule) -> None:
    with transaction.atomic():
        AuditEntry.record(by, "scan.unschedule", schedule.cache.name, begins=f"{schedule.begins:%H:%M}")
        schedule.delete()
