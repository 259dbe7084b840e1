"""One seeded keyspace for every measure of key scans: names as games have them, mixed types, planted giants.

The same seed and number of keys give the same keys and values on every server.
"""

import itertools
import random
import socket
from collections.abc import Callable, Iterator
from typing import Any

import hiredis

from launcher.resp import Address

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
    """Yields the commands that make the keys, block by block."""

    def __init__(self, keys: int, seed: int = SEED) -> None:
        self.keys = keys
        self._rng = random.Random(seed)
        self._filler = self._rng.randbytes(FILLER_BYTES)

    def blocks(self) -> Iterator[tuple[bytes, int]]:
        """Yield packed commands with their number. Every command makes one key, or more of a giant one."""
        small = self.keys - GIANTS
        for start in range(0, small, BLOCK):
            commands = [self._small(number) for number in range(start, min(start + BLOCK, small))]
            yield b"".join(map(pack, commands)), len(commands)
        for number in range(GIANTS):
            commands = list(self._giant(number))
            yield b"".join(map(pack, commands)), len(commands)

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


def fill(address: Address, keys: int, seed: int = SEED) -> None:
    """Write the keys to a server, or to a primary of a cluster whose slots hold every key. Raise for an error reply."""
    with socket.create_connection(address) as connection:  # type: ignore[arg-type]
        reader, waiting = hiredis.Reader(), 0
        for payload, count in Keyspace(keys, seed).blocks():
            connection.sendall(payload)
            waiting += count
            if waiting > BLOCK * 4:
                waiting -= _read(connection, reader, waiting - BLOCK * 2)
        _read(connection, reader, waiting)


def _read(connection: socket.socket, reader: hiredis.Reader, wanted: int) -> int:
    """Take replies off the connection until `wanted` came; return how many did."""
    taken = 0
    while taken < wanted:
        reader.feed(connection.recv(FILLER_BYTES))
        while (reply := reader.gets()) is not False:
            if isinstance(reply, hiredis.ReplyError):
                raise reply
            taken += 1
    return taken
