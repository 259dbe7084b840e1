"""Measuring one giant key whole, when somebody asks for it: where, at what cost, and only while the node has time.

It is one command, which nothing can slow down or stop: MEMORY USAGE with SAMPLES 0 looks at every element.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from django.conf import settings

from collectors.connections import Link, ask
from collectors.keyscan import choosing, recheck
from collectors.keyscan.details import Detail
from collectors.keyscan.guards import Hold, Limits, Watch, read_info, vitals_of
from collectors.keyscan.models import ScanKey
from collectors.keyscan.reasons import Reason, ScanRefusedError
from collectors.protocol import INFO
from fleet.models import Cache

# What an element of a hash or set takes the server: near each other in memory, or far apart.
LEAST_SECONDS, MOST_SECONDS = 15e-9, 400e-9
# How long the node is watched before.
WATCH_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Cost:
    """Where a key would be measured, and how long the server would answer nobody else."""

    address: str
    is_replica: bool
    elements: int

    @property
    def least_seconds(self) -> float:
        return self.elements * LEAST_SECONDS

    @property
    def most_seconds(self) -> float:
        return self.elements * MOST_SECONDS


@dataclass(frozen=True, slots=True)
class Measured:
    """A key as it is now, and the seconds that its node was busy with it."""

    detail: Detail
    address: str
    seconds: float


def most_elements() -> int:
    """Return how many elements are certainly walked before we give the server up for silent."""
    return int(settings.POLL_COMMAND_TIMEOUT_SECONDS / MOST_SECONDS)


def cost_of(cache: Cache, key: ScanKey) -> Cost | None:
    """Return what it takes to measure a key whole: on a replica in good order where its shard has one.

    None where it is measured already, or where nobody knows how many elements it has.
    """
    if key.is_exact or key.elements is None:
        return None
    members = choosing.shards_of(cache).get(key.shard, [])
    try:
        choice = choosing.choose_one(key.shard, members, may_use_primary=False)
    except ScanRefusedError:
        return Cost(key.address, is_replica=False, elements=key.elements)
    return Cost(choice.node.address, choice.is_replica, key.elements)


def measure(cache: Cache, key: ScanKey) -> Measured | None:
    """Return a key with all its elements looked at; None where it is gone.

    Raise ReadError, or ScanRefusedError where it would take too long or the node has no time for it now.
    """
    cost = cost_of(cache, key)
    if cost is None:
        raise ScanRefusedError(Reason.IS_MEASURED)
    seconds = 0.0

    async def read(link: Link, name: bytes) -> Detail | None:
        nonlocal seconds
        if hold := await _hold(link):
            raise ScanRefusedError(Reason.NODE_BUSY, address=cost.address, why=hold.words())
        began = time.monotonic()
        found = await recheck.read(link, name, most_elements())
        seconds = time.monotonic() - began
        if found and (found.elements or 0) > most_elements():
            raise ScanRefusedError(Reason.TOO_LONG, elements=most_elements())
        return found

    detail = recheck.at(cache, key, cost.address, read)
    return Measured(detail, cost.address, seconds) if detail else None


async def _hold(link: Link) -> Hold | None:
    """Return what would hold up a gentle scan of the node now."""
    watch = Watch()
    for pause in (0.0, WATCH_SECONDS):
        await asyncio.sleep(pause)
        (reply,) = await ask(link, [INFO])
        if isinstance(reply, bytes):
            watch.take(vitals_of(read_info(reply), time.monotonic()), own_commands=0)
    return watch.judge(Limits())
