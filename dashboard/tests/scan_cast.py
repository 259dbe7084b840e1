"""Scans as they are stored, without a server."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

from django.utils import timezone

from collectors import samples
from collectors.keyscan import results
from collectors.keyscan.aggregate import Aggregate
from collectors.keyscan.details import Detail
from collectors.keyscan.models import Scan, ScanShard, ScanState
from collectors.keyscan.options import ScanOptions
from collectors.keyscan.reasons import Reason
from collectors.keyscan.results import Ending, Found
from collectors.tests.cast import cache_with_nodes, reading
from fleet.models import Cache

HOSTILE = (
    b"<script>alert(1)</script>",
    b"\x1b[31mred\x1b[0m",
    b"line\nbreak\r\x00",
    b"\xff\xfe\x80",
    "\u202egnp.exe".encode(),
    b"=cmd|' /C calc'!A0",
    b"x" * 600_000,
    b'"><img src=x onerror=alert(1)>',
    b"",
)


def scanned_cache(shards: int = 1, name: str = "game") -> Cache:
    cache = cache_with_nodes(shards, replicas=1, name=name)
    nodes = list(cache.nodes.all())
    samples.write([reading(node, keys=1_000, used_memory=100_000_000, master_link_up=True) for node in nodes])
    return cache


def stored(cache: Cache, keys: Iterable[Detail], days: float = 0, state: str = ScanState.DONE, **asked: Any) -> Scan:
    """Return a scan of this many days ago that found these keys, on the first replica."""
    at = timezone.now() - timedelta(days=days)
    scan = Scan.objects.create(
        cache=cache, created_at=at, started_at=at, author="ada", options=ScanOptions(**asked).to_json()
    )
    node = cache.nodes.filter(role="replica").order_by("shard__number")[0]
    found = list(keys)
    shard = ScanShard.objects.create(
        scan=scan, number=1, node=node, address=node.address, is_replica=True, state="done", keys=len(found)
    )
    whole = aggregate_of(found)
    ScanShard.objects.filter(pk=shard.pk).update(bytes=whole.bytes)
    ending = Ending(ScanState(state), Reason.ALL_WALKED, {})
    extra = {"total": len(found), "unreadable": 0, "missing": [], "estimates": False, "has_memory": True}
    results.store(scan, [Found(shard, 0, whole, True)], ending, {**extra, "separators": [":"]})
    Scan.objects.filter(pk=scan.pk).update(finished_at=at)
    scan.refresh_from_db()
    return scan


def aggregate_of(keys: Sequence[Detail]) -> Aggregate:
    whole = Aggregate(top=100)
    whole.is_full = True
    for first in range(0, len(keys), 500):
        page = keys[first : first + 500]
        whole.add([key.key for key in page], [key.size for key in page])
        whole.detail(page)
    return whole


def usual_keys(factor: int = 1) -> list[Detail]:
    """Return a cache of users without TTL, some carts, and one giant."""
    users = [Detail(b"user_cache:%d" % n, 3_000 * factor, "string", -1, 60, "raw", 2_900) for n in range(400)]
    carts = [Detail(b"cart:%d:items" % n, 500, "hash", 60_000, 5, "listpack", 12) for n in range(300)]
    return [*users, *carts, Detail(b"feed:all", 40_000_000, "zset", -1, 1, "skiplist", 250_000)]


def running(cache: Cache, state: str = ScanState.RUNNING, at: str = "walking", **progress: Any) -> Scan:
    """Return a scan that a worker is at."""
    now = timezone.now()
    until = now + timedelta(seconds=10)
    scan = Scan.objects.create(cache=cache, state=state, author="ada", lease_until=until, worker="w", started_at=now)
    node = cache.nodes.filter(role="replica").order_by("shard__number")[0]
    told = {
        "keys_per_second": 40_000.0,
        "commands_per_second": 41_000.0,
        "busy_ratio": 0.25,
        "cpu_ratio": 0.4,
        "round_trip_seconds": 0.0002,
        "baseline_seconds": 0.0001,
        "seconds_left": 12.0,
        "ease": 1.0,
        "db": 0,
        "hold": None,
        "biggest": [["hash", "cart:1", 9_000]],
        **progress,
    }
    ScanShard.objects.create(
        scan=scan,
        number=1,
        node=node,
        address=node.address,
        is_replica=True,
        state=at,
        keys=500,
        total=1_000,
        bytes=77_000,
        progress=told,
        progress_at=now,
    )
    return scan
