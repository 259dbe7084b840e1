"""One seeded keyspace for every measure of key scans: names as games have them, mixed types, planted giants.

The same seed and number of keys give the same keys and values on every server.
"""

import binascii
import bisect
import itertools
import random
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import hiredis

from launcher.valkey import SLOTS

# Commands sent together, and elements of a giant written by one.
BLOCK = 500
SEED = 20_241
GIANTS = 80
FILLER_BYTES = 1 << 20
# What hides from a small sample: one value among thousands of small ones.
HIDDEN_BYTES = 1_500_000
STRINGS = (
    "user_cache:%d:profile",
    "session:%08x",
    "guild:%d:banner",
    "item:%d:stats",
    "match:%d:result",
    "lock:quest:%d",
)
REGIONS = ("eu", "us", "jp", "br")

# What hiredis packs: bytes, text and numbers.
Words = tuple[Any, ...]


class Keyspace:
    """The commands that make the keys."""

    def __init__(self, keys: int, seed: int = SEED) -> None:
        self.keys = keys
        self._rng = random.Random(seed)
        self._filler = self._rng.randbytes(FILLER_BYTES)

    def commands(self) -> Iterator[Words]:
        """Yield the commands. Every one makes a key, or a part of a giant one."""
        small = self.keys - GIANTS
        yield from map(self._small, range(small))
        for number in range(GIANTS):
            yield from self._giant(number)

    def _value(self, size: int) -> bytes:
        if size >= FILLER_BYTES:
            return (self._filler * (size // FILLER_BYTES + 1))[:size]
        begin = int(self._rng.random() * (FILLER_BYTES - size))
        return self._filler[begin : begin + size]

    def _size(self) -> int:
        """Return the length of an ordinary value: mostly some hundred bytes, now and then some thousand."""
        return int(min(20 * self._rng.paretovariate(0.9), 12_000))

    def _small(self, number: int) -> Words:
        draw = self._rng.random()
        if draw < 0.80:
            return "SET", self._name(number), self._value(self._size())
        if draw < 0.88:
            pairs = ((f"f{n}", self._value(24)) for n in range(1 + int(draw * 10_000) % 12))
            return "HSET", f"player:{number}:inventory", *itertools.chain.from_iterable(pairs)
        if draw < 0.93:
            scores = ((n * 7, f"p{number + n}") for n in range(1 + number % 20))
            return "ZADD", f"board:{REGIONS[number % 4]}:{number}", *itertools.chain.from_iterable(scores)
        if draw < 0.97:
            return "SADD", f"friends:{number}", *(f"u{number + n * 13}" for n in range(1 + number % 15))
        if draw < 0.98:
            return "XADD", f"events:{number}", f"{number + 1}-1", "what", self._value(60)
        return "RPUSH", f"mail:{number}:queue", *(self._value(40) for _ in range(1 + number % 8))

    @staticmethod
    def _name(number: int) -> str:
        name = STRINGS[number % len(STRINGS)]
        # Sessions have ids that look random.
        return name % (number * 2_654_435_761 % (1 << 32) if "%08x" in name else number)

    def _giant(self, number: int) -> Iterator[Words]:
        elements = 1_001 + int(self._rng.random() * 20_000)
        kind = number % 5
        if kind == 0:
            yield "HSET", f"archive:{number}", "hidden", self._value(HIDDEN_BYTES)
        make = GIANT_KINDS[kind]
        for start in range(0, elements, BLOCK):
            name = f"archive:{number}"
            yield make(name, range(start, min(start + BLOCK, elements)), self._value(64))


def _hash(name: str, numbers: range, value: bytes) -> Words:
    return "HSET", name, *itertools.chain.from_iterable((f"field:{n}", value) for n in numbers)


def _sorted_set(name: str, numbers: range, value: bytes) -> Words:
    return "ZADD", name, *itertools.chain.from_iterable((n, b"%d:%b" % (n, value[: n % 64])) for n in numbers)


def _set(name: str, numbers: range, value: bytes) -> Words:
    return "SADD", name, *(b"%d:%b" % (n, value[: n % 64]) for n in numbers)


def _list(name: str, numbers: range, value: bytes) -> Words:
    return "RPUSH", name, *(value * (1 + n % 9) for n in numbers)


def _text(name: str, numbers: range, value: bytes) -> Words:
    return "APPEND", name, value * len(numbers)


GIANT_KINDS: tuple[Callable[[str, range, bytes], Words], ...] = (_hash, _sorted_set, _set, _list, _text)


def pack(words: Words) -> bytes:
    packed: bytes = hiredis.pack_command(words)
    return packed


class _Writer:
    """Writes commands to one server without waiting for each reply. Raise ReplyError for an error."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._connection = socket.create_connection(address)
        self._reader = hiredis.Reader()
        self._waiting: list[bytes] = []
        self._unread = 0

    def add(self, packed: bytes) -> None:
        self._waiting.append(packed)
        if len(self._waiting) == BLOCK:
            self._send()

    def _send(self) -> None:
        self._connection.sendall(b"".join(self._waiting))
        self._unread += len(self._waiting)
        self._waiting = []
        self._read(until=2 * BLOCK)

    def close(self) -> None:
        self._send()
        self._read(until=0)
        self._connection.close()

    def _read(self, until: int) -> None:
        while self._unread > until:
            self._reader.feed(self._connection.recv(FILLER_BYTES))
            while (reply := self._reader.gets()) is not False:
                if isinstance(reply, hiredis.ReplyError):
                    raise reply
                self._unread -= 1


def fill(addresses: Sequence[tuple[str, int]], keys: int, seed: int = SEED) -> None:
    """Write the keys to a server, or to the primaries of a cluster, which hold equal shares of the slots in order."""
    writers = [_Writer(address) for address in addresses]
    starts = [SLOTS * number // len(writers) for number in range(len(writers))]
    for words in Keyspace(keys, seed).commands():
        writers[bisect.bisect_right(starts, _slot(words[1])) - 1].add(pack(words))
    for writer in writers:
        writer.close()


def _slot(name: str) -> int:
    return binascii.crc_hqx(name.encode(), 0) % SLOTS
