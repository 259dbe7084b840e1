"""The classes of chunks of one Memcached node, read while somebody waits: 0.15 ms of one of its threads.

Nine tenths of what a Memcached could tell are figures of classes. So polls keep sums and the class that is worst off,
and this looks at each of them.
"""

import asyncio
from dataclasses import dataclass
from typing import NamedTuple

import hiredis

from collectors import capabilities
from collectors.capabilities import Support
from collectors.connections import ask
from collectors.failures import Cause, ReadError, from_error_reply
from collectors.looks import opened
from collectors.memcached.slabs import ITEMS, SLABS, Numbers, by_class
from collectors.protocol import lines_of
from collectors.source import Reply
from collectors.steps import Step
from collectors.targets import NodeRow, Way, read_nodes
from fleet.models import Cache

LOOK_SECONDS = 5.0


class SlabClass(NamedTuple):
    """One class. Sizes are bytes, ages seconds; counts run since the server's start; None is not reported."""

    number: int
    chunk_size: int | None
    used_chunks: int | None
    free_chunks: int | None
    items: int | None
    requested_bytes: int | None
    oldest_seconds: int | None
    evicted: int | None
    evicted_unread: int | None
    evicted_after_seconds: int | None
    out_of_memory: int | None
    hits: int | None
    writes: int | None

    @property
    def bytes(self) -> int | None:
        """Return the memory that the class holds."""
        if None in (self.chunk_size, self.used_chunks, self.free_chunks):
            return None
        return (self.chunk_size or 0) * ((self.used_chunks or 0) + (self.free_chunks or 0))

    @property
    def used_ratio(self) -> float | None:
        """Return the share of its chunks that hold an item, 0 to 1."""
        if self.used_chunks is None or self.free_chunks is None or not self.used_chunks + self.free_chunks:
            return None
        return self.used_chunks / (self.used_chunks + self.free_chunks)

    @property
    def wasted_ratio(self) -> float | None:
        """Return the share of the chunks in use that their items do not need, 0 to 1."""
        held = (self.chunk_size or 0) * (self.used_chunks or 0)
        return max(1 - self.requested_bytes / held, 0.0) if held and self.requested_bytes is not None else None


@dataclass(frozen=True, slots=True)
class Classes:
    """What a look at a node came to."""

    rows: tuple[SlabClass, ...] = ()
    failure: ReadError | None = None


def read(cache: Cache, node_id: int) -> Classes:
    """Look at a node of a cache. One that has left meanwhile has no classes."""
    node = next((node for node in read_nodes([cache.pk]) if node.pk == node_id), None)
    if node is None:
        return Classes()
    support = capabilities.load([node.pk])[node.pk]
    try:
        return Classes(asyncio.run(_look_at(node, Way.to(cache), support)))
    except ReadError as failure:
        return Classes(failure=failure)


async def _look_at(node: NodeRow, way: Way, support: Support) -> tuple[SlabClass, ...]:
    try:
        async with asyncio.timeout(LOOK_SECONDS), opened(node, way, support) as link:
            slabs, items = await ask(link, [SLABS, ITEMS], Step.STATS)
    except TimeoutError as error:
        raise ReadError(Step.STATS, Cause.SILENT) from error
    return rows_of(slabs, items)


def rows_of(slabs: Reply, items: Reply) -> tuple[SlabClass, ...]:
    """Return the classes by number. Raise ReadError where the server refuses one of both."""
    for reply in (slabs, items):
        if isinstance(reply, hiredis.ReplyError):
            raise from_error_reply(str(reply), Step.STATS)
    chunks, held = by_class(lines_of(slabs)), by_class(lines_of(items))
    numbers = sorted({number for number in (*chunks, *held) if number})
    return tuple(row_of(number, chunks.get(number, {}), held.get(number, {})) for number in numbers)


def row_of(number: int, chunks: Numbers, items: Numbers) -> SlabClass:
    return SlabClass(
        number,
        chunks.get(b"chunk_size"),
        chunks.get(b"used_chunks"),
        chunks.get(b"free_chunks"),
        items.get(b"number"),
        # Older servers tell it with the chunks.
        items.get(b"mem_requested", chunks.get(b"mem_requested")),
        items.get(b"age"),
        items.get(b"evicted"),
        items.get(b"evicted_unfetched"),
        items.get(b"evicted_time"),
        items.get(b"outofmemory"),
        chunks.get(b"get_hits"),
        chunks.get(b"cmd_set"),
    )
