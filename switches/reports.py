"""Reports of clients: read leniently, gathered in memory, written in bulk.

A thousand pods with 25,000 workers say the same thing every few seconds: a row is written when it says something
new, else once in HEARTBEAT.
"""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from collectors.failures import printable
from switches.instance import ADDRESS_LIMIT, ERROR_LIMIT, HEARTBEAT, NAME_LIMIT, VERSION_LIMIT
from switches.snapshot import KnownKey, Snapshot

ROWS_LIMIT = 5_000
# While the database is away: more than any fleet that one web process hears of.
WAITING_LIMIT = 200_000
BIGGEST = 2**31 - 1
AGE_LIMIT = 1e9

Row = Mapping[str, Any]
Place = tuple[int, str]


class ReportError(ValueError):
    """One row that says nothing; the text says why."""


@dataclass(frozen=True, slots=True)
class Report:
    """What one instance said of one switch. `is_behind` means that it knew an older revision than we do."""

    switch_id: int
    instance: str
    address: str
    version: str
    workers: int | None
    revision: int
    epoch: int | None
    age_seconds: float | None
    error: str
    is_behind: bool

    @property
    def place(self) -> Place:
        return self.switch_id, self.instance

    @property
    def news(self) -> tuple[Any, ...]:
        """Return what is worth writing at once."""
        return self.revision, self.epoch, bool(self.error), self.address, self.version, self.is_behind


def parse(rows: Sequence[Any], key: KnownKey, snapshot: Snapshot, sender: str) -> tuple[list[Report], list[str]]:
    """Return the sound reports among rows, and a sentence for each other one. `sender` is the caller's address."""
    found, faults = [], []
    for number, row in enumerate(rows, start=1):
        try:
            found.append(_report(row, key, snapshot, sender))
        except ReportError as error:
            faults.append(f"Row {number}: {error}")
    return found, faults


def _report(row: Any, key: KnownKey, snapshot: Snapshot, sender: str) -> Report:
    if not isinstance(row, dict):
        raise ReportError("a report is an object.")
    name = row.get("key")
    switch = snapshot.switches.get(name) if isinstance(name, str) and key.reads(name) else None
    if switch is None:
        raise ReportError("there is no switch with this key.")
    revision, epoch = _whole(row, "revision"), _whole(row, "epoch")
    if revision is None:
        raise ReportError("revision is missing; 0 means that nothing is known yet.")
    return Report(
        switch_id=switch.id,
        instance=instance_name(row.get("instance")),
        address=_text(row, "address", ADDRESS_LIMIT) or sender,
        version=_text(row, "version", VERSION_LIMIT),
        workers=_whole(row, "workers"),
        revision=revision,
        epoch=epoch,
        age_seconds=_age(row.get("age_seconds")),
        error=_text(row, "error", ERROR_LIMIT),
        is_behind=revision < switch.revision or (epoch is not None and epoch < snapshot.epoch),
    )


def instance_name(value: Any) -> str:
    """Return the name of an instance. Raise ReportError for what can be none."""
    if not isinstance(value, str) or not 1 <= len(value) <= NAME_LIMIT or not value.isprintable():
        raise ReportError(f"instance must be a text of 1 to {NAME_LIMIT} printable characters.")
    return value


def _text(row: Row, name: str, limit: int) -> str:
    value = row.get(name)
    if value is not None and not isinstance(value, str):
        raise ReportError(f"{name} must be a text.")
    return printable(value or "", limit)


def _whole(row: Row, name: str) -> int | None:
    value = row.get(name)
    # In JSON 5.0 is 5; true is no number.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if value is not None and (type(value) is not int or not 0 <= value <= BIGGEST):
        raise ReportError(f"{name} must be a whole number from 0 to {BIGGEST}.")
    return value


def _age(value: Any) -> float | None:
    if value is None:
        return None
    if type(value) not in {int, float} or not 0 <= value <= AGE_LIMIT:
        raise ReportError("age_seconds must be a number of seconds, not below 0.")
    return float(value)


class Reports:
    """What waits to be written, the newest report of each instance. Requests add, one thread writes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[Place, Report] = {}
        self._written: dict[Place, tuple[tuple[Any, ...], float]] = {}

    def add(self, reports: Sequence[Report]) -> None:
        with self._lock:
            for report in reports:
                # One worker that lags makes the whole instance lag, until the others are heard again.
                before = self._waiting.get(report.place)
                if before is None or not before.is_behind or report.is_behind:
                    self._keep(report)

    def _keep(self, report: Report) -> None:
        if report.place in self._waiting or len(self._waiting) < WAITING_LIMIT:
            self._waiting[report.place] = report

    def take(self, now: float | None = None) -> list[Report]:
        """Return what is to be written, ordered so that two processes never wait for each other."""
        now = time.monotonic() if now is None else now
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        due = [report for report in waiting.values() if self._is_due(report, now)]
        self._written.update({report.place: (report.news, now) for report in due})
        if len(self._written) > WAITING_LIMIT:
            self._written.clear()
        return sorted(due, key=lambda report: report.place)

    def _is_due(self, report: Report, now: float) -> bool:
        news, at = self._written.get(report.place, ((), 0.0))
        return news != report.news or now - at >= HEARTBEAT.total_seconds()

    def give_back(self, reports: Sequence[Report]) -> None:
        """Take back what could not be written; what came since is newer."""
        with self._lock:
            for report in reports:
                self._written.pop(report.place, None)
                if report.place not in self._waiting:
                    self._keep(report)


def columns(reports: Sequence[Report]) -> list[list[Any]]:
    """Return the reports as the columns of switches/store.py's statement."""
    return [list(column) for column in zip(*map(_fields, reports), strict=True)]


def _fields(report: Report) -> Iterator[Any]:
    yield from (report.switch_id, report.instance, report.address, report.version, report.workers)
    yield from (report.revision, report.epoch, report.age_seconds, report.error, report.is_behind)
