"""Asking for one key again: its size now, exactly where that is cheap, and what else can be read of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import cast

import hiredis

from collectors.connections import Link, ask, log_in, open_link
from collectors.failures import Cause, ReadError, from_error_reply
from collectors.keyscan.details import Detail
from collectors.keyscan.exact import SAMPLES
from collectors.keyscan.fields import GONE, STRING
from collectors.keyscan.models import ScanKey
from collectors.keyscan.names import is_cut
from collectors.keyscan.walk import ELEMENT_GUARD
from collectors.keyscan.wire import LENGTHS
from collectors.protocol import Command, Reply
from collectors.steps import Step
from collectors.targets import Way
from fleet.models import Cache

SECONDS = 10.0
READONLY: Command = ("READONLY",)
NO_TOUCH: Command = ("CLIENT", "NO-TOUCH", "ON")
Reader = Callable[[Link, bytes], Awaitable[Detail | None]]


def check(cache: Cache, key: ScanKey) -> Detail | None:
    """Return a key as it is now on the node that the scan asked; None where it is gone. Raise ReadError."""
    return at(cache, key, key.address, read)


def at(cache: Cache, key: ScanKey, address: str, reader: Reader) -> Detail | None:
    """Return what is read of a key on one node of its shard. Raise ReadError."""
    name = bytes(key.name)
    if is_cut(name):
        raise ReadError(Step.INFO, Cause.TOO_LONG)
    host, _colon, port = address.rpartition(":")
    way = Way.to(cache)
    if way.broken:
        raise way.broken
    try:
        return asyncio.run(_at(way, (host.strip("[]"), int(port)), key.db, name, reader))
    except TimeoutError as error:
        raise ReadError(Step.INFO, Cause.SILENT) from error


async def _at(way: Way, place: tuple[str, int], db: int, name: bytes, reader: Reader) -> Detail | None:
    async with asyncio.timeout(SECONDS):
        link = await open_link(*place, way.context)
        try:
            await log_in(link, way.access)
            await ask(link, [NO_TOUCH, READONLY, *([("SELECT", str(db))] if db else [])])
            return await reader(link, name)
        finally:
            link.close()


async def read(link: Link, name: bytes, guard: int = ELEMENT_GUARD) -> Detail | None:
    """Return a key with its size: exact unless it has more elements than the guard lets be walked."""
    key = cast(str, name)
    asked: list[Command] = [("TYPE", key), ("PTTL", key), ("OBJECT", "ENCODING", key), ("OBJECT", "IDLETIME", key)]
    kind, ttl, encoding, idle, frequency = await ask(link, [*asked, ("OBJECT", "FREQ", key)])
    if kind == GONE:
        return None
    length = LENGTHS.get(kind) if isinstance(kind, bytes) else None
    (elements,) = await ask(link, [(length.decode(), key)]) if length else [None]
    count = number(elements) if kind != STRING else 0
    # An unknown number may be any.
    size = await _size(link, key, 0 if count is not None and count <= guard else SAMPLES)
    return Detail(
        name, size, text(kind), number(ttl), number(idle), text(encoding), number(elements), number(frequency)
    )


async def _size(link: Link, key: str, samples: int) -> int:
    (size,) = await ask(link, [("MEMORY", "USAGE", key, "SAMPLES", str(samples))])
    if isinstance(size, hiredis.ReplyError):
        raise from_error_reply(str(size), Step.INFO)
    return number(size) or 0


def number(reply: Reply) -> int | None:
    return reply if isinstance(reply, int) else None


def text(reply: Reply) -> str:
    return reply.decode("utf-8", "replace") if isinstance(reply, bytes) else ""
