"""Looking for hot keys, without MONITOR: when an operator asks for it, or on a schedule that is off by default.

Primaries are looked at over connections of their own, several at a time; polls never wait.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.utils import timezone

from collectors import capabilities
from collectors.capabilities import Support
from collectors.connections import CONNECTION_NAME
from collectors.failures import Cause, ReadError
from collectors.hot_key_looks import HOTKEYS_SINCE, HOTKEYS_START, Seen, sample, track
from collectors.hot_key_reading import KEYS_KEPT
from collectors.looks import noted, opened
from collectors.models import HotKeyReading, HotKeyTurn, NodeFact, NodeStatus, Step
from collectors.source import Command
from collectors.targets import NodeRow, Way, read_nodes, version_of
from fleet.engines import without
from fleet.models import Cache, Node, Reach

OBJECT_FREQ: Command = ("OBJECT", "FREQ", CONNECTION_NAME)
NODE_SECONDS, CACHE_SECONDS = 12.0, 25.0
AT_ONCE = 8
FACTS = ("maxmemory_policy", "redis_version", "valkey_version")


@dataclass(slots=True)
class KeyLook:
    """One primary to look at, and what was seen; `seen` is None where it failed."""

    node: NodeRow
    support: Support
    can_track: bool
    cursor: str
    seen: Seen | None = None
    failure: ReadError | None = None
    seconds: float = 0.0

    def reading(self, now: datetime) -> HotKeyReading:
        seen, failure = self.seen, self.failure
        return HotKeyReading(
            node_id=self.node.pk,
            read_at=now,
            method=seen.method if seen else "",
            failed_cause=failure.cause if failure else "",
            failed_words=failure.words if failure else "",
            keys_looked_at=seen.keys_looked_at if seen else 0,
            cursor=seen.cursor if seen else "0",
            seconds=self.seconds,
            rows=[list(key) for key in seen.keys] if seen else [],
        )


def due_caches(now: datetime | None = None) -> list[int]:
    """Return the caches whose keys are to be looked at, none where nobody wished for a schedule."""
    forget_rows(now or timezone.now())
    if not settings.HOT_KEYS_INTERVAL_SECONDS:
        return []
    able = Cache.objects.filter(is_paused=False, reach=Reach.NODES).exclude(engine__in=without("key_scans"))
    return list(able.values_list("pk", flat=True))


def look(cache_id: int) -> bool:
    """Look at the keys of a cache's primaries; return False where somebody just did or does so."""
    cache = Cache.objects.filter(pk=cache_id).first()
    if cache is None:
        return False
    with HotKeyTurn.taken(cache_id, CACHE_SECONDS) as is_ours:
        if is_ours and (looks := _looks(cache_id)):
            asyncio.run(_look_at_all(looks, Way.to(cache)))
            _write(looks, timezone.now())
    return is_ours


def _looks(cache_id: int) -> list[KeyLook]:
    """Return the primaries that answer and have a way to tell."""
    nodes = [node for node in read_nodes([cache_id]) if node.role == Node.Role.PRIMARY]
    ids = [node.pk for node in nodes]
    failing = set(NodeStatus.objects.filter(pk__in=ids, failing_since__isnull=False).values_list("pk", flat=True))
    facts = facts_of(ids)
    support = capabilities.load(ids)
    cursors = dict(HotKeyReading.objects.filter(pk__in=ids).values_list("pk", "cursor"))
    return [
        KeyLook(node, support[node.pk], can_track(facts[node.pk]), cursors.get(node.pk, "0"))
        for node in nodes
        if node.pk not in failing and (can_track(facts[node.pk]) or counts_frequency(facts[node.pk]))
    ]


def facts_of(node_ids: Sequence[int]) -> dict[int, dict[str, str]]:
    found: dict[int, dict[str, str]] = {node_id: {} for node_id in node_ids}
    rows = NodeFact.objects.filter(node_id__in=node_ids, name__in=FACTS, until=None)
    for node_id, name, value in rows.values_list("node_id", "name", "value"):
        found[node_id][name] = value
    return found


def can_track(facts: dict[str, str]) -> bool:
    """Return whether a server with these facts has HOTKEYS."""
    return "valkey_version" not in facts and version_of(facts.get("redis_version", "")) >= HOTKEYS_SINCE


def counts_frequency(facts: dict[str, str]) -> bool:
    return facts.get("maxmemory_policy", "").endswith("-lfu")


async def _look_at_all(looks: Sequence[KeyLook], way: Way) -> None:
    turns = asyncio.Semaphore(AT_ONCE)
    end = time.monotonic() + CACHE_SECONDS

    async def look_at(one: KeyLook) -> None:
        async with turns:
            await _try_look(one, way, min(NODE_SECONDS, end - time.monotonic()))

    await asyncio.gather(*map(look_at, looks))


async def _try_look(one: KeyLook, way: Way, seconds: float) -> None:
    began = time.monotonic()
    try:
        async with asyncio.timeout(seconds):
            one.seen = await _look_at(one, way)
    except ReadError as failure:
        one.failure = ReadError(failure.step, failure.cause, way.access.redact(failure.words))
    except TimeoutError:
        one.failure = ReadError(Step.INFO, Cause.SILENT)
    one.seconds = time.monotonic() - began


async def _look_at(one: KeyLook, way: Way) -> Seen:
    """Return what the better way of the two tells."""
    async with opened(one.node, way, one.support) as link:
        with noted(one.support, HOTKEYS_START if one.can_track else OBJECT_FREQ):
            return await (track(link) if one.can_track else sample(link, one.cursor))


def _write(looks: Sequence[KeyLook], now: datetime) -> None:
    capabilities.store([(one.node.pk, one.support.news()) for one in looks], now)
    present = {node.pk for node in read_nodes([looks[0].node.cache_id])}
    HotKeyReading.objects.bulk_create(
        [one.reading(now) for one in looks if one.node.pk in present],
        update_conflicts=True,
        unique_fields=["node"],
        update_fields=[field.name for field in HotKeyReading._meta.fields if field.name != "node"],
    )


def forget_rows(now: datetime) -> int:
    return HotKeyReading.objects.filter(read_at__lt=now - KEYS_KEPT).delete()[0]
