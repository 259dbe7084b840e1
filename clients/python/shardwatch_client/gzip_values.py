"""Values above a size are stored as gzip; the first two bytes are the marker.

A raw value that begins with them is always compressed, so reading is unambiguous and what was stored before stays
readable. The bytes are those of PHP's gzencode, so both clients read each other's values.
"""

import zlib
from collections.abc import Callable, Sequence
from typing import Any

MARKER = b"\x1f\x8b"
GZIP_WINDOW = 31
ABOVE_BYTES = 1024

# First place of a value among the words of a command, and the distance to the next one; 0 where there is only one.
WRITES = {
    "SET": (2, 0),
    "SETNX": (2, 0),
    "GETSET": (2, 0),
    "SETEX": (3, 0),
    "PSETEX": (3, 0),
    "HSETNX": (3, 0),
    "HSET": (3, 2),
    "HMSET": (3, 2),
    "MSET": (2, 2),
    "MSETNX": (2, 2),
}
READS = {"GET", "GETSET", "GETDEL", "GETEX", "MGET", "SET", "HGET", "HMGET", "HGETALL", "HVALS"}


def pack(value: bytes, above: int = ABOVE_BYTES) -> bytes:
    if len(value) <= above and not value.startswith(MARKER):
        return value
    squeeze = zlib.compressobj(wbits=GZIP_WINDOW)
    return squeeze.compress(value) + squeeze.flush()


def unpack(value: Any) -> Any:
    if not isinstance(value, bytes) or not value.startswith(MARKER):
        return value
    try:
        return zlib.decompress(value, wbits=GZIP_WINDOW)
    except zlib.error:
        # Written by something else, before: it only looks compressed.
        return value


def pack_words(words: Sequence[Any], encode: Callable[[Any], bytes], above: int) -> list[Any]:
    """Return the words of a command with its values as they are to be stored."""
    packed = list(words)
    first, step = WRITES.get(str(words[0]).upper(), (len(packed), 0))
    for place in range(first, len(packed), step) if step else (first,) * (first < len(packed)):
        packed[place] = pack(encode(packed[place]), above)
    return packed


def unpack_reply(reply: Any, decode: Callable[[Any], Any]) -> Any:
    if isinstance(reply, dict):
        return {decode(name): decode(unpack(value)) for name, value in reply.items()}
    if isinstance(reply, list):
        return [decode(unpack(value)) for value in reply]
    return decode(unpack(reply))
