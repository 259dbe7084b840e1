"""Texts within the limits of services."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

# A value that a text of a rule names, such as {value}.
PLACE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_.-]*)\}")
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


def filled(text: str, values: Mapping[str, str]) -> str:
    """Return the text with the values that it names; what there is no value of stays as it was written.

    In an address values are written as addresses need it, so that none of them leads elsewhere.
    """
    is_address = text.startswith(("http://", "https://"))
    return PLACE.sub(lambda place: _value(values, place, is_address), text)


def _value(values: Mapping[str, str], place: re.Match[str], is_address: bool) -> str:
    value = values.get(place[1], place[0])
    return quote(value, safe="") if is_address and place[1] in values else value


def cut(text: str, limit: int) -> str:
    """Return the text with at most `limit` characters, marked where it was cut."""
    return text if len(text) <= limit else text[: limit - 1] + ELLIPSIS


def cut_bytes(text: str, limit: int) -> str:
    """Return the text with at most `limit` bytes in UTF-8, never ending within a character."""
    raw = text.encode()
    if len(raw) <= limit:
        return text
    return raw[: limit - len(ELLIPSIS.encode())].decode(errors="ignore") + ELLIPSIS
