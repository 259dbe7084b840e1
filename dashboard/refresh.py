"""Parts of a page that ask for themselves again every few seconds (htmx)."""

from __future__ import annotations

import hashlib

from django.http import HttpRequest, HttpResponse


def is_refresh(request: HttpRequest) -> bool:
    """Whether a script asks for the living part alone; going back in history asks for the whole page."""
    return "HX-Request" in request.headers and "HX-History-Restore-Request" not in request.headers


def fingerprint(*shown: object) -> str:
    """Return a short text that changes with what a part shows."""
    return hashlib.blake2s(repr(shown).encode(), digest_size=12).hexdigest()


def unchanged(request: HttpRequest, version: str) -> HttpResponse | None:
    """Return 204, on which htmx leaves the page alone, where the browser shows this version already."""
    return HttpResponse(status=204) if request.GET.get("version") == version else None
