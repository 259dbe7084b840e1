"""Texts within the limits of services."""

ELLIPSIS = "…"


def cut(text: str, limit: int) -> str:
    """Return the text with at most `limit` characters, marked where it was cut."""
    return text if len(text) <= limit else text[: limit - 1] + ELLIPSIS


def cut_bytes(text: str, limit: int) -> str:
    """Return the text with at most `limit` bytes in UTF-8, never ending within a character."""
    raw = text.encode()
    if len(raw) <= limit:
        return text
    return raw[: limit - len(ELLIPSIS.encode())].decode(errors="ignore") + ELLIPSIS
