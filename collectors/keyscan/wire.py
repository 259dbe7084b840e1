"""The commands of a key scan as bytes: made once where they can be, joined in C where they cannot."""

from collections.abc import Sequence
from typing import Any, cast

import hiredis

END = b"0"
LENGTHS = {
    b"string": b"STRLEN",
    b"hash": b"HLEN",
    b"list": b"LLEN",
    b"set": b"SCARD",
    b"zset": b"ZCARD",
    b"stream": b"XLEN",
}


def pack(*words: bytes | str | int) -> bytes:
    packed: bytes = hiredis.pack_command(cast(Any, words))
    return packed


class _Heads(dict[int, bytes]):
    """What stands before a key of a given length; long ones are not kept."""

    def __init__(self, pattern: bytes) -> None:
        super().__init__((length, pattern % length) for length in range(256))
        self._pattern = pattern

    def __missing__(self, length: int) -> bytes:
        return self._pattern % length


class Question:
    """A command about one key, asked about many at once: `Question(b"TYPE").about(keys)`."""

    def __init__(self, *before: bytes, after: Sequence[bytes] = ()) -> None:
        words = [*before, b"", *after]
        head = b"*%d\r\n" % len(words) + _plain(b"".join(map(_bulk, before))) + b"$%d\r\n"
        tail = b"\r\n" + b"".join(map(_bulk, after))
        self.name = b" ".join(before).decode()
        self._first = _Heads(head)
        self._next = _Heads(_plain(tail) + head)
        self._tail = tail

    def about(self, keys: Sequence[bytes]) -> bytes:
        """Return the packed commands, one a key."""
        if not keys:
            return b""
        parts: list[Any] = [None] * (2 * len(keys))
        # Everything that runs once a key is a loop in C; the join below copies each name once.
        parts[0::2] = map(self._next.__getitem__, map(len, keys))
        parts[1::2] = keys
        parts[0] = self._first[len(keys[0])]
        parts.append(self._tail)
        return b"".join(parts)


def _plain(text: bytes) -> bytes:
    """Return text that stays itself when lengths are put into a pattern."""
    return text.replace(b"%", b"%%")


def _bulk(word: bytes) -> bytes:
    return b"$%d\r\n%b\r\n" % (len(word), word)


def memory_usage(samples: int) -> Question:
    """Return the question for a key's bytes, with so many elements looked at; 0 is all of them."""
    return Question(b"MEMORY", b"USAGE", after=(b"SAMPLES", b"%d" % samples))


class Pages:
    """SCAN from a cursor, with the filters of one scan."""

    def __init__(self, match: bytes = b"", kind: str = "") -> None:
        self._after = (*((b"MATCH", match) if match else ()), *((b"TYPE", kind.encode()) if kind else ()))

    def ask(self, cursor: bytes, count: int) -> bytes:
        return pack(b"SCAN", cursor, b"COUNT", count, *self._after)
