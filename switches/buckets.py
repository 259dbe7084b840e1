"""Which share of readers an instance belongs to: the same for everybody who knows the key and the name.

MurmurHash3 (32 bits, seed 0) of `key:name`, modulo 100, plus 1, as Unleash published it; PHP has the hash built in.
"""

MASK = 0xFFFFFFFF


def bucket(key: str, name: str) -> int:
    """Return 1 to 100: a reader may use the cache while its bucket is not above the percentage."""
    return rank(key, name) % 100 + 1


def rank(key: str, name: str) -> int:
    """Return where a name stands among others under this key, 0 to 2**32 - 1."""
    return murmur3(f"{key}:{name}".encode("utf-8", "surrogatepass"))


def murmur3(data: bytes) -> int:
    """Return MurmurHash3_x86_32 of the bytes, seed 0."""
    value, whole = 0, len(data) - len(data) % 4
    for at in range(0, whole, 4):
        value ^= _scrambled(int.from_bytes(data[at : at + 4], "little"))
        value = (_rotated(value, 13) * 5 + 0xE6546B64) & MASK
    value ^= _scrambled(int.from_bytes(data[whole:], "little"))
    value ^= len(data)
    value = (value ^ value >> 16) * 0x85EBCA6B & MASK
    value = (value ^ value >> 13) * 0xC2B2AE35 & MASK
    return value ^ value >> 16


def _scrambled(part: int) -> int:
    return _rotated(part * 0xCC9E2D51 & MASK, 15) * 0x1B873593 & MASK


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> 32 - bits) & MASK
