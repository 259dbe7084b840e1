"""Sizes where MEMORY USAGE is refused: reckoned from types and lengths, and marked as estimates."""

from collections.abc import Generator, Sequence

from collectors.keyscan.asker import Asker
from collectors.keyscan.fields import GONE, STRING, TYPE, count
from collectors.protocol import Reply

# What a key takes beside its name and value, and an element of a collection: the usual, not measured here.
KEY_BYTES, ELEMENT_BYTES = 56, 64


def guess(asker: Asker, keys: Sequence[bytes]) -> Generator[int | float, list[Reply], list[Reply]]:
    """Return a size for each key: the length of strings, a usual size for each element of others; None is gone."""
    kinds = yield from asker.about(TYPE, keys)
    lengths = yield from count(asker, keys, kinds)
    return [_size(key, kind, lengths.get(key)) for key, kind in zip(keys, kinds, strict=True)]


def _size(key: bytes, kind: Reply, length: Reply) -> Reply:
    if kind == GONE:
        return None
    if not isinstance(kind, bytes):
        return kind
    if not isinstance(length, int):
        return KEY_BYTES + len(key)
    return KEY_BYTES + len(key) + length * (1 if kind == STRING else ELEMENT_BYTES)
