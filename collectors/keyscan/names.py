"""Key names as scans keep them: of bounded length, and as text that is safe to show."""

import hashlib

LIMIT = 1024
KEPT = 960


def bounded(key: bytes) -> bytes:
    """Return a key's name, or of one over LIMIT bytes its beginning, length and hash: it stays one name of its own."""
    if len(key) <= LIMIT:
        return key
    return b"%b...(%d bytes, %b)" % (key[:KEPT], len(key), hashlib.blake2b(key, digest_size=8).hexdigest().encode())


def is_cut(name: bytes) -> bool:
    """Return whether a stored name stands for a longer one, so that the server knows no such key."""
    return len(name) > KEPT and name[KEPT : KEPT + 4] == b"...(" and name.endswith(b")")


def shown(name: bytes) -> str:
    """Return a name as text: what is no printable UTF-8 stands as \\xNN, so that names that differ look different."""
    text = name.decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else escaped(c) for c in text)


def escaped(character: str) -> str:
    """Return a control character, a line break or a mark of direction as its UTF-8 bytes, in hexadecimal."""
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8"))
