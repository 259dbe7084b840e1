"""Who holds the connections of a cache, and reading its client lists now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.access import operator_required, signed_in
from dashboard.abilities import page_without
from dashboard.client_groups import BY_WORDS, SORT_WORDS, clients_of, read_now
from fleet.models import Cache


@dataclass(frozen=True, slots=True)
class ClientQuery:
    """What the URL asks for. Unknown values fall back to the defaults; node 0 is all of them."""

    by: str = "name"
    node: int = 0
    sort: str = "memory"

    @classmethod
    def of(cls, given: QueryDict) -> ClientQuery:
        by, node, sort = given.get("by", ""), given.get("node", ""), given.get("sort", "")
        number = int(node) if node.isascii() and node.isdigit() and len(node) < 10 else 0
        return cls(by if by in BY_WORDS else "name", number, sort if sort in SORT_WORDS else "memory")

    def url(self, **changes: str) -> str:
        parts = {"by": self.by, "node": str(self.node or ""), "sort": self.sort} | changes
        return "?" + urlencode({name: text for name, text in parts.items() if text})

    def groupings(self) -> list[dict[str, Any]]:
        return [{"word": word, "url": self.url(by=by), "is_on": by == self.by} for by, word in BY_WORDS.items()]

    def sorts(self) -> list[dict[str, Any]]:
        words = SORT_WORDS.items()
        return [
            {"word": word, "url": f"{self.url(sort=sort)}#rows", "is_on": sort == self.sort} for sort, word in words
        ]


@require_safe
def cache_clients(request: HttpRequest, name: str) -> HttpResponse:
    cache, query = get_object_or_404(Cache, name=name), ClientQuery.of(request.GET)
    if page := page_without(request, cache, "client_list", "clients"):
        return page
    found = clients_of(cache, query.by, query.node, query.sort)
    context = {"cache": cache, "query": query, "clients": found, "by_word": BY_WORDS[query.by]}
    context |= {"limit": settings.CLIENTS_LIMIT, "interval": settings.CLIENTS_INTERVAL_SECONDS}
    return render(request, "dashboard/clients.html", context)


@operator_required
@require_POST
def read_clients(request: HttpRequest, name: str) -> HttpResponse:
    """Read the lists of all nodes, or of the chosen one, however many connections there are."""
    cache, query = get_object_or_404(Cache, name=name), ClientQuery.of(request.POST)
    if refused := read_now(signed_in(request), cache, query.node):
        messages.warning(request, refused)
    else:
        messages.success(request, _("The client lists were read."))
    return redirect(reverse("cache-clients", args=[cache.name]) + query.url())
