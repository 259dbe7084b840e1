"""Who holds the connections of a cache, and reading its client lists now."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.access import operator_required, signed_in
from dashboard.client_groups import (
    BY_WORDS,
    SORT_WORDS,
    Words,
    by_words,
    clients_of,
    list_command,
    read_now,
    sort_words,
)
from fleet.models import Cache

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


@dataclass(frozen=True, slots=True)
class ClientQuery:
    """What the URL asks for. Unknown values fall back to the first of what there is; node 0 is all of them."""

    by: str = "name"
    node: int = 0
    sort: str = "memory"
    bys: Words = field(default_factory=lambda: BY_WORDS)
    sort_orders: Words = field(default_factory=lambda: SORT_WORDS)

    @classmethod
    def of(cls, given: QueryDict, bys: Words = BY_WORDS, orders: Words = SORT_WORDS) -> ClientQuery:
        node = given.get("node", "")
        number = int(node) if node.isascii() and node.isdigit() and len(node) < 10 else 0
        return cls(known(given.get("by"), bys), number, known(given.get("sort"), orders), bys, orders)

    @property
    def by_word(self) -> StrOrPromise:
        return self.bys[self.by]

    def url(self, **changes: str) -> str:
        parts = {"by": self.by, "node": str(self.node or ""), "sort": self.sort} | changes
        return "?" + urlencode({name: text for name, text in parts.items() if text})

    def groupings(self) -> list[dict[str, Any]]:
        return [{"word": word, "url": self.url(by=by), "is_on": by == self.by} for by, word in self.bys.items()]

    def sorts(self) -> list[dict[str, Any]]:
        words = self.sort_orders.items()
        return [
            {"word": word, "url": f"{self.url(sort=sort)}#rows", "is_on": sort == self.sort} for sort, word in words
        ]


def known(name: str | None, words: Words) -> str:
    """Return the name where it is one of those, else the first of them."""
    return name if name and name in words else next(iter(words))


@require_safe
def cache_clients(request: HttpRequest, name: str) -> HttpResponse:
    cache = get_object_or_404(Cache, name=name)
    query = ClientQuery.of(request.GET, by_words(cache), sort_words(cache))
    found = clients_of(cache, query.by, query.node, query.sort)
    context = {"cache": cache, "query": query, "clients": found, "command": list_command(cache)}
    context |= {"limit": settings.CLIENTS_LIMIT, "interval": settings.CLIENTS_INTERVAL_SECONDS}
    return render(request, "dashboard/clients.html", context)


@operator_required
@require_POST
def read_clients(request: HttpRequest, name: str) -> HttpResponse:
    """Read the lists of all nodes, or of the chosen one, however many connections there are."""
    cache = get_object_or_404(Cache, name=name)
    query = ClientQuery.of(request.POST, by_words(cache), sort_words(cache))
    if refused := read_now(signed_in(request), cache, query.node):
        messages.warning(request, refused)
    else:
        messages.success(request, _("The client lists were read."))
    return redirect(reverse("cache-clients", args=[cache.name]) + query.url())
