"""Headings of tables that sort by them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


class Sorted(Protocol):
    """What the URL asks of a table: the column that it is sorted by, behind a minus where that is backwards."""

    @property
    def sort(self) -> str: ...
    def sort_url(self, name: str) -> str: ...


def headings(words: Iterable[tuple[str, StrOrPromise]], query: Sorted) -> list[dict[str, Any]]:
    """Return a table's headings with the address that sorts by each."""
    current, backwards = query.sort.removeprefix("-"), query.sort.startswith("-")
    return [
        {
            "key": key,
            "word": word,
            "url": query.sort_url(key),
            "order": ("descending" if backwards else "ascending") if key == current else "",
        }
        for key, word in words
    ]
