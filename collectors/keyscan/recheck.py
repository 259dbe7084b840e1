"""Asking for one key again: its size now, exactly where that is cheap, and what else can be read of it."""

from __future__ import annotations

import asyncio
from typing import cast

import hiredis

from collectors.connections import Link, ask, log_in, open_link
from collectors.failures import Cause, ReadError, from_error_reply
from collectors.keyscan.details import Detail
from collectors.keyscan.fields import GONE, STRING
from collectors.keyscan.models import ScanKey
from collectors.keyscan.names import is_cut
from collectors.keyscan.walk import ELEMENT_GUARD, SAMPLES
from collectors.keyscan.wire import LENGTHS
from collectors.models import Step
from collectors.source import Command, Reply
from collectors.targets import Way
from fleet.models import Cache

SECONDS = 10.0
READONLY: Command = ("READONLY",)
NO_TOUCH: Command = ("CLIENT", "NO-TOUCH", "ON")


def check(cache: Cache, key: ScanKey) -> Detail | None:
    """Return a key as it is now on the node that the scan asked; None where it is gone. Raise ReadError."""
    name = bytes(key.name)
    if is_cut(name):
        raise ReadError(Step.INFO, Cause.TOO_LONG)
    host, _colon, port = key.address.rpartition(":")
    way = Way.of(cache, bool(cache.seeds()) and cache.seeds()[0].tls)
    if way.broken:
        raise way.broken
    try:
        return asyncio.run(_check(way, host.strip("[]"), int(port), key.db, name))
    except TimeoutError as error:
        raise ReadError(Step.INFO, Cause.SILENT) from error


async def _check(way: Way, host: str, port: int, db: int, name: bytes) -> Detail | None:
    async with asyncio.timeout(SECONDS):
        link = await open_link(host, port, way.context)
        try:
            await log_in(link, way.access)
            await ask(link, [NO_TOUCH, READONLY, *([("SELECT", str(db))] if db else [])])
            return await _read(link, name)
        finally:
            link.close()


async def _read(link: Link, name: bytes) -> Detail | None:
    key = cast(str, name)
    asked: list[Command] = [("TYPE", key), ("PTTL", key), ("OBJECT", "ENCODING", key), ("OBJECT", "IDLETIME", key)]
    kind, ttl, encoding, idle, frequency = await ask(link, [*asked, ("OBJECT", "FREQ", key)])
    if kind == GONE:
        return None
    length = LENGTHS.get(kind) if isinstance(kind, bytes) else None
    (elements,) = await ask(link, [(length.decode(), key)]) if length else [None]
    size = await _size(link, key, number(elements) if kind != STRING else 0)
    return Detail(
        name, size, text(kind), number(ttl), number(idle), text(encoding), number(elements), number(frequency)
    )


async def _size(link: Link, key: str, elements: int | None) -> int:
    """Return a key's bytes: exact unless it has more elements than may be walked, or an unknown number."""
    is_small = elements is not None and elements <= ELEMENT_GUARD
    (size,) = await ask(link, [("MEMORY", "USAGE", key, "SAMPLES", "0" if is_small else str(SAMPLES))])
    if isinstance(size, hiredis.ReplyError):
        raise from_error_reply(str(size), Step.INFO)
    return number(size) or 0


def number(reply: Reply) -> int | None:
    return reply if isinstance(reply, int) else None


def text(reply: Reply) -> str:
    return reply.decode("utf-8", "replace") if isinstance(reply, bytes) else ""
