"""One look at the keys of one server: which were used most. No value is ever read, and nothing is written.

Two ways. HOTKEYS (Redis since 8.6): the server itself counts for some seconds what each key costs. Elsewhere,
where maxmemory-policy is an LFU one, each key carries a frequency, and a bounded walk reads those of some keys:
SCAN_PAGES pages of SCAN (30 to 60 usec each) and OBJECT FREQ (about 1 usec a key), going on where the last ended.
"""

import asyncio
import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast

import hiredis

from collectors.connections import Link, ask
from collectors.failures import Cause, ReadError, from_error_reply, printable
from collectors.models import HotKeyReading, Step
from collectors.source import Command, Reply
from collectors.sources.slowlog import NUMBER_LIMIT, is_number

KEYS_SHOWN = 20
KEY_LIMIT = 120
TRACK_SECONDS = 5
HOTKEYS_SINCE = (8, 6)
HOTKEYS_START: Command = tuple(f"HOTKEYS START METRICS 2 CPU NET COUNT {KEYS_SHOWN} DURATION {TRACK_SECONDS}".split())
HOTKEYS_GET: Command = ("HOTKEYS", "GET")
HOTKEYS_RESET: Command = ("HOTKEYS", "RESET")
SCAN_PAGES, PAGE_KEYS = 50, 100
# Others get their turn between two pages.
PAUSE_SECONDS = 0.005
FREQUENCY_LIMIT = 256


class HotKey(NamedTuple):
    """A key by name, and how much it is used: LFU's counter (0 to 255), or shares of time and bytes, 0 to 1."""

    key: str
    frequency: int | None = None
    time_share: float | None = None
    byte_share: float | None = None


@dataclass(slots=True)
class Seen:
    """What a look came to; `cursor` is where the next one goes on."""

    method: HotKeyReading.Method
    keys: list[HotKey] = field(default_factory=list)
    keys_looked_at: int = 0
    cursor: str = "0"


async def track(link: Link) -> Seen:
    """Let the server count for TRACK_SECONDS. A count that somebody else began is read and left alone."""
    (started,) = await ask(link, [HOTKEYS_START])
    is_ours = not isinstance(started, hiredis.ReplyError)
    if not is_ours and "in progress" not in str(started).lower():
        raise from_error_reply(str(started), Step.INFO)
    if is_ours:
        await asyncio.sleep(TRACK_SECONDS)
    (reply,) = await ask(link, [HOTKEYS_GET])
    if is_ours:
        await ask(link, [HOTKEYS_RESET])
    return Seen(HotKeyReading.Method.TRACKED, tracked_keys(good(reply)))


async def sample(link: Link, cursor: str = "0") -> Seen:
    """Read the frequencies of some keys, from a cursor on."""
    seen = Seen(HotKeyReading.Method.SAMPLED, cursor=cursor)
    found: dict[str, int] = {}
    for _ in range(SCAN_PAGES):
        (reply,) = await ask(link, [("SCAN", seen.cursor, "COUNT", str(PAGE_KEYS))])
        seen.cursor, names = page_of(good(reply))
        questions = [cast(Command, ("OBJECT", "FREQ", name)) for name in names]
        found |= frequent(names, await ask(link, questions) if questions else [])
        seen.keys_looked_at += len(names)
        if seen.cursor == "0":
            break
        await asyncio.sleep(PAUSE_SECONDS)
    top = heapq.nlargest(KEYS_SHOWN, found.items(), key=lambda pair: (pair[1], pair[0]))
    seen.keys = [HotKey(name, number) for name, number in top if number]
    return seen


def good(reply: Reply) -> Reply:
    """Return a reply that is none of an error. Raise ReadError for one."""
    if isinstance(reply, hiredis.ReplyError):
        raise from_error_reply(str(reply), Step.INFO)
    return reply


def page_of(reply: Reply) -> tuple[str, list[bytes]]:
    """Return the next cursor and the names of keys."""
    if isinstance(reply, list) and len(reply) == 2 and isinstance(reply[0], bytes) and isinstance(reply[1], list):
        cursor = reply[0].decode("ascii", "replace")
        if cursor.isdigit() and len(cursor) <= 20:
            return cursor, [name for name in reply[1][: 10 * PAGE_KEYS] if isinstance(name, bytes)]
    raise ReadError(Step.INFO, Cause.GARBAGE, "SCAN")


def frequent(names: Sequence[bytes], frequencies: Sequence[Reply]) -> dict[str, int]:
    """Return keys with their frequency. A key that is gone has none; a refusal of one is that of all."""
    numbers = zip(names, map(good, frequencies), strict=True)
    return {
        printable(name, KEY_LIMIT): number
        for name, number in numbers
        if isinstance(number, int) and 0 <= number < FREQUENCY_LIMIT
    }


def tracked_keys(reply: Reply) -> list[HotKey]:
    """Return the keys in HOTKEYS GET's names and values, what takes most time first."""
    flat = reply if isinstance(reply, list) else []
    # One map in a list, from servers that could answer for several sessions.
    flat = flat[0] if len(flat) == 1 and isinstance(flat[0], list) else flat
    told = {name: value for name, value in zip(flat[::2], flat[1::2], strict=False) if isinstance(name, bytes)}
    time = shares(told.get(b"by-cpu-time-us"), told.get(b"all-commands-all-slots-us"))
    sent = shares(told.get(b"by-net-bytes"), told.get(b"net-bytes-all-commands-all-slots"))
    names = list(dict.fromkeys([*time, *sent]))[: 2 * KEYS_SHOWN]
    keys = [HotKey(name, None, time.get(name), sent.get(name)) for name in names]
    return sorted(keys, key=lambda key: (key.time_share or 0, key.byte_share or 0), reverse=True)


def shares(pairs: Reply, total: Reply) -> dict[str, float]:
    """Return each key's part of the total; nothing where that is not told."""
    if not isinstance(pairs, list) or not isinstance(total, int) or total <= 0:
        return {}
    found: Iterable[tuple[Reply, Reply]] = zip(pairs[::2], pairs[1::2], strict=False)
    return {
        printable(name, KEY_LIMIT): min(int(amount) / total, 1.0)
        for name, amount in found
        if isinstance(name, bytes) and isinstance(amount, int) and is_number(amount, NUMBER_LIMIT)
    }
