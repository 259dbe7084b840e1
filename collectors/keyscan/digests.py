"""Names as 64-bit numbers: how keys and prefixes are found again in other scans."""

from collections.abc import Sequence
from hashlib import blake2b

BYTES = 8


def digest(name: bytes) -> int:
    """Return a number that fits into a bigint."""
    return int.from_bytes(blake2b(name, digest_size=BYTES).digest(), signed=True)


def path_digest(parts: Sequence[bytes]) -> int:
    """Return the number of a prefix by its parts: "a:" and the rest below "a:" are two."""
    return digest(b"".join(b"%d:%b" % (len(part), part) for part in parts))
