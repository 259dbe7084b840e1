"""Reading client lists: rarely, on connections of their own, one node of a cache after the other.

A server answers nobody else while it writes its list, 2 to 10 usec a connection (Memcached: one of its threads). So a
cache is read every CLIENTS_INTERVAL_SECONDS, nodes above CLIENTS_LIMIT only when somebody asks for it, and polls never
wait.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

import hiredis
from django.conf import settings
from django.utils import timezone

from collectors import capabilities, latest
from collectors.capabilities import Support
from collectors.client_list import ClientList
from collectors.client_reading import ROWS_KEPT
from collectors.connections import CONNECTION_NAME, RESP, Link, ask
from collectors.failures import Cause, ReadError, from_error_reply
from collectors.line_reply import LineReply
from collectors.looks import noted, opened
from collectors.models import ClientReading, ClientRows, ClientTurn, NodeStatus, Step
from collectors.source import Command
from collectors.targets import NodeRow, Way, read_nodes
from fleet.models import Cache, Reach

CLIENT_LIST: Command = RESP.connection_list
# The longest that all nodes of a cache may take together.
CACHE_SECONDS = 60.0
# The same while somebody waits for it.
DEMAND_SECONDS = 20.0


@dataclass(slots=True)
class Look:
    """One node to look at, and what was seen."""

    node: NodeRow
    support: Support
    seen: ClientList = field(default_factory=lambda: ClientList(own_name=CONNECTION_NAME))
    failure: ReadError | None = None
    bytes_read: int = 0
    seconds: float = 0.0

    def reading(self, now: datetime) -> ClientReading:
        return ClientReading(
            node_id=self.node.pk,
            read_at=now,
            failed_cause=self.failure.cause if self.failure else "",
            failed_words=self.failure.words if self.failure else "",
            connections=self.seen.connections,
            own=self.seen.own,
            replication=self.seen.replication,
            bytes_read=self.bytes_read,
            seconds=self.seconds,
            groups={} if self.failure else self.seen.groups(),
        )


def due_caches(now: datetime | None = None) -> list[int]:
    """Return the caches whose lists are to be read, and forget the single connections that were kept long enough."""
    forget_rows(now or timezone.now())
    return list(Cache.objects.filter(is_paused=False, reach=Reach.NODES).values_list("pk", flat=True))


def read(cache_id: int, is_demanded: bool = False, node_id: int = 0) -> bool:
    """Read the client lists of a cache's nodes; return False where somebody just did or does so.

    On demand all nodes are read, or the one given, else those that answer, allow it and have no more than
    CLIENTS_LIMIT connections.
    """
    cache = Cache.objects.filter(pk=cache_id).first()
    if cache is None:
        return False
    with ClientTurn.taken(cache_id, CACHE_SECONDS) as is_ours:
        way = Way.to(cache)
        due = _looks(cache_id, is_demanded, way.dialect.connection_list) if is_ours else []
        looks = [look for look in due if node_id in {0, look.node.pk}]
        if looks:
            seconds = DEMAND_SECONDS if is_demanded else CACHE_SECONDS
            asyncio.run(_look_at_all(looks, way, time.monotonic() + seconds))
            _write(looks, timezone.now())
    return is_ours


def _looks(cache_id: int, is_demanded: bool, command: Command) -> list[Look]:
    nodes = read_nodes([cache_id])
    support = capabilities.load([node.pk for node in nodes])
    looks = [Look(node, support[node.pk]) for node in nodes]
    if is_demanded:
        return looks
    newest = latest.nodes([cache_id])
    failing = set(
        NodeStatus.objects.filter(node__cache_id=cache_id, failing_since__isnull=False).values_list("pk", flat=True)
    )
    return [
        look
        for look in looks
        if look.node.pk not in failing
        and not look.support.is_refused(command)
        and (seen := newest.get(look.node.pk)) is not None
        and seen.connected_clients is not None
        and seen.connected_clients <= settings.CLIENTS_LIMIT
    ]


async def _look_at_all(looks: Sequence[Look], way: Way, end: float) -> None:
    """Look at one node after the other: a cache must not stand still as a whole."""
    for look in looks:
        began = time.monotonic()
        try:
            async with asyncio.timeout(min(settings.CLIENTS_TIMEOUT_SECONDS, end - began)):
                await _look_at(look, way)
        except ReadError as failure:
            look.failure = failure
        except TimeoutError:
            look.failure = ReadError(Step.INFO, Cause.SILENT)
        look.seconds = time.monotonic() - began


async def _look_at(look: Look, way: Way) -> None:
    look.bytes_read = await take_list(look.node, look.support, way, look.seen)


class Taker(Protocol):
    """Who takes in the lines of a client list; its own address tells it our connection."""

    own_address: str

    def take(self, line: bytes) -> None: ...


async def take_list(node: NodeRow, support: Support, way: Way, seen: Taker) -> int:
    """Hand one node's list to `seen`; return its bytes. Raise ReadError."""
    command, to_lines = way.dialect.connection_list, way.dialect.client_lines
    async with opened(node, way, support) as link:
        seen.own_address = link.own_address
        with noted(support, command):
            if to_lines:
                return await _take_whole(link, command, to_lines, seen)
            done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
            link.stream(link.dialect.pack([command]), LineReply(seen.take, done))
            return await done


async def _take_whole(link: Link, command: Command, to_lines: Callable[[bytes], Iterable[bytes]], seen: Taker) -> int:
    """Ask for a list that cannot be read as it comes; a link takes in no more than a reply's limit."""
    (reply,) = await ask(link, [command], Step.STATS)
    if isinstance(reply, hiredis.ReplyError):
        raise from_error_reply(str(reply), Step.STATS)
    text = reply if isinstance(reply, bytes) else b""
    lines = list(to_lines(text))
    if not lines:
        # Our own connection would stand in it.
        raise ReadError(Step.STATS, Cause.NOT_STATS)
    for line in lines:
        seen.take(line)
    return len(text)


def _write(looks: Sequence[Look], now: datetime) -> None:
    capabilities.store([(look.node.pk, look.support.news()) for look in looks], now)
    present = {node.pk for node in read_nodes([looks[0].node.cache_id])}
    kept = [look for look in looks if look.node.pk in present]
    ClientReading.objects.bulk_create([look.reading(now) for look in kept], ignore_conflicts=True)
    ClientRows.objects.bulk_create(
        [ClientRows(node_id=look.node.pk, read_at=now, rows=look.seen.rows()) for look in kept if not look.failure],
        update_conflicts=True,
        unique_fields=["node"],
        update_fields=["read_at", "rows"],
    )


def forget_rows(now: datetime) -> int:
    return ClientRows.objects.filter(read_at__lt=now - ROWS_KEPT).delete()[0]


def forget_old(now: datetime) -> int:
    """Remove readings past their keeping; return how many."""
    oldest = now - timedelta(days=settings.RETENTION_CLIENTS_DAYS)
    return ClientReading.objects.filter(read_at__lt=oldest).delete()[0]
