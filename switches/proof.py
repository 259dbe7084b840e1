"""Whether a switch took effect: what instances report, and what the cache itself counts.

Neither is enough alone: a client may say that it stopped and go on, and a quiet server proves nothing of clients
that are about to wake up.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import models
from django.utils.translation import gettext_lazy as _

from switches import traffic
from switches.instance import Instance, patience, poll_period
from switches.models import Installation, Sighting, Switch
from switches.traffic import Traffic


class State(models.TextChoices):
    """Where a switch is on its way."""

    ENABLED = "enabled", _("enabled")
    CANARY = "canary", _("canary")
    DRAINING = "draining", _("draining")
    DISABLED = "disabled", _("disabled")
    UNPROVEN = "unproven", _("disabled, unproven")
    REPOINTING = "re-pointing", _("re-pointing")
    RETIRED = "retired", _("retired")


class Standing(models.TextChoices):
    """How far an instance is."""

    APPLIED = "applied", _("applied")
    BEHIND = "behind", _("not yet applied")
    SILENT = "silent", _("silent")


class Missing(models.TextChoices):
    """A proof that cannot be had, whoever waits for it."""

    REPORTS = "reports", _("No instance reports: readers of OFREP and of the SQL view cannot.")
    CACHE = "cache", _("The switch names no cache that Shardwatch watches.")
    POLLS = "polls", _("The cache is paused or does not answer, so that nobody counts its commands.")
    CLIENT_LIST = "client-list", _("The client list cannot be read.")
    ADDRESSES = "addresses", _("Connections are left, and some instances report no address to tell them by.")


@dataclass(frozen=True, slots=True)
class Reader:
    """One instance: what it reported last, and what the cache's client list shows of it."""

    name: str
    address: str
    version: str
    workers: int | None
    revision: int
    age_seconds: float | None
    error: str
    seen_at: datetime
    standing: Standing
    connections: int = 0
    # Since the last command on any of them, in seconds, and which command that was.
    idle_seconds: int | None = None
    command: str = ""

    @property
    def is_still_there(self) -> bool:
        """Return whether it says that it applied "off" and is still connected to the cache."""
        return self.standing == Standing.APPLIED and self.connections > 0


@dataclass(frozen=True, slots=True)
class Proof:
    """Everything that is known of a switch's effect at a time."""

    state: State
    readers: tuple[Reader, ...]
    # Commands of applications per second over the last polls, the newest last; None without a cache.
    traffic: Traffic | None
    floor_per_second: float
    is_quiet: bool | None
    # Of applications at the last look at the client lists; None before one.
    connections: int | None
    looked_at: datetime | None
    look_failure: str
    look_cause: str
    # What the database behind will be asked instead, from the hour before the cache was turned off.
    hits_per_second: float | None
    missing: tuple[Missing, ...]

    @property
    def is_safe_to_repoint(self) -> bool:
        """Return whether both proofs hold."""
        return self.state == State.DISABLED

    def standing(self, standing: str) -> list[Reader]:
        return [reader for reader in self.readers if reader.standing == standing]

    @property
    def liars(self) -> list[Reader]:
        """Return those that report "applied" and are still connected."""
        return [reader for reader in self.readers if reader.is_still_there]


def of(switch: Switch, now: datetime) -> Proof:
    """Return what is known now of a switch."""
    sighting = Sighting.objects.filter(switch=switch, read_at__gte=switch.stepped_at).first()
    readers = tuple(_readers(switch, sighting, now))
    cache = switch.cache_now
    counted = traffic.since(cache, switch.stepped_at, now) if cache and not switch.can_use else None
    is_quiet = counted.is_quiet(switch.floor_per_second) if counted else None
    missing = tuple(_missing(switch, readers, counted, sighting, now)) if not switch.can_use else ()
    return Proof(
        state=_state(switch, readers, is_quiet, sighting, missing),
        readers=readers,
        traffic=counted,
        floor_per_second=switch.floor_per_second,
        is_quiet=is_quiet,
        connections=sighting.connections if sighting else None,
        looked_at=sighting.read_at if sighting else None,
        look_failure=sighting.failure if sighting else "",
        look_cause=sighting.failed_cause if sighting else "",
        hits_per_second=traffic.hits_per_second(cache, now if switch.can_use else switch.stepped_at) if cache else None,
        missing=missing,
    )


def _readers(switch: Switch, sighting: Sighting | None, now: datetime) -> list[Reader]:
    epoch = Installation.objects.filter(pk=1).values_list("epoch", flat=True).first() or 1
    present = sighting.present if sighting else {}
    return [
        Reader(
            name=row.name,
            address=row.address,
            version=row.version,
            workers=row.workers,
            revision=row.revision,
            age_seconds=row.age_seconds,
            error=row.error,
            seen_at=row.seen_at,
            standing=standing_of(row, switch, epoch, now),
            **_connections(present.get(row.name) or present.get(row.address)),
        )
        for row in Instance.objects.filter(switch=switch).order_by("name")
    ]


def _connections(seen: list[Any] | None) -> dict[str, Any]:
    return dict(zip(("connections", "idle_seconds", "command"), seen or (), strict=False))


def standing_of(row: Instance, switch: Switch, epoch: int, now: datetime) -> Standing:
    """Return how far an instance is; what it knows of another epoch, or of a revision to come, counts for nothing."""
    if row.seen_at < now - patience(switch.ttl_seconds):
        return Standing.SILENT
    is_current = row.revision == switch.revision and row.epoch in {None, epoch}
    # Another process under the same name may still be at the older revision that it reported a moment ago.
    edge = now - poll_period(switch.ttl_seconds) - timedelta(seconds=1)
    is_whole = row.behind_at is None or row.behind_at < max(edge, switch.changed_at)
    return Standing.APPLIED if is_current and is_whole else Standing.BEHIND


def _missing(
    switch: Switch, readers: tuple[Reader, ...], counted: Traffic | None, sighting: Sighting | None, now: datetime
) -> list[Missing]:
    live = [reader for reader in readers if reader.standing != Standing.SILENT]
    found = [] if live else [Missing.REPORTS]
    cache = switch.cache_now
    if cache is None or counted is None:
        return [*found, Missing.CACHE]
    patience_seconds = timedelta(seconds=(traffic.POLLS + 2) * cache.poll_interval_seconds)
    if cache.is_paused or (not counted.commands and now - switch.stepped_at > patience_seconds):
        found.append(Missing.POLLS)
    if sighting and sighting.failed_cause:
        found.append(Missing.CLIENT_LIST)
    elif sighting and sighting.connections and any(not reader.address for reader in live):
        found.append(Missing.ADDRESSES)
    return found


def _state(
    switch: Switch,
    readers: tuple[Reader, ...],
    is_quiet: bool | None,
    sighting: Sighting | None,
    missing: tuple[Missing, ...],
) -> State:
    if switch.retired_at is not None:
        return State.RETIRED
    if switch.can_use:
        return State.CANARY if switch.is_canary else State.ENABLED
    if switch.is_repointing:
        return State.REPOINTING
    if any(reader.standing == Standing.BEHIND or reader.is_still_there for reader in readers) or is_quiet is False:
        return State.DRAINING
    is_watched = not {Missing.CACHE, Missing.POLLS} & set(missing)
    if is_watched and (is_quiet is None or sighting is None):
        return State.DRAINING
    return State.UNPROVEN if missing else State.DISABLED
