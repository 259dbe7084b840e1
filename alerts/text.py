"""Texts within the limits of services."""

from typing import Any

ELLIPSIS = "…"
LINE_ENDS = "\n\r\t"
# Joiners belong to some scripts and to emoji; the other invisible characters can make a text look like another.
JOINERS = "\u200c\u200d"


def is_plain(text: str) -> bool:
    """Return whether a text reads as it is: no control characters, none that turn the direction of reading."""
    return all(c.isprintable() or c in LINE_ENDS or c in JOINERS for c in text)


def storable(value: Any) -> Any:
    """Return the same texts without what PostgreSQL or JSON cannot hold: NUL, and halves of characters."""
    if isinstance(value, str):
        return value.replace("\0", "").encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {storable(key): storable(item) for key, item in value.items()}
    return [storable(item) for item in value] if isinstance(value, list | tuple) else value


def cut(text: str, limit: int) -> str:
    """Return the text with at most `limit` characters, marked where it was cut."""
    return text if len(text) <= limit else text[: limit - 1] + ELLIPSIS


def cut_bytes(text: str, limit: int) -> str:
    """Return the text with at most `limit` bytes in UTF-8, never ending within a character."""
    raw = text.encode()
    if len(raw) <= limit:
        return text
    return raw[: limit - len(ELLIPSIS.encode())].decode(errors="ignore") + ELLIPSIS
