"""How long the nodes of a cache take to answer, and what held them up."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from dashboard.latency import latency_of
from dashboard.latency_words import meaning_of
from fleet.models import Cache

ROWS_A_PAGE = 50
SPANS = {"1h": timedelta(hours=1), "6h": timedelta(hours=6), "1d": timedelta(days=1)}
# Servers' clocks may be a little ahead.
AHEAD = timedelta(days=1)
SPAN_WORDS = {"1h": _("1 hour"), "6h": _("6 hours"), "1d": _("24 hours")}


@dataclass(frozen=True, slots=True)
class LatencyQuery:
    """What the URL asks for. Unknown values fall back to the defaults; node 0 is all of them."""

    span: str = "1h"
    node: int = 0

    @classmethod
    def of(cls, given: QueryDict) -> LatencyQuery:
        span, node = given.get("span", ""), given.get("node", "")
        number = int(node) if node.isascii() and node.isdigit() and len(node) < 10 else 0
        return cls(span if span in SPANS else "1h", number)

    def url(self, **changes: str) -> str:
        parts = {"span": self.span, "node": str(self.node or "")} | changes
        return "?" + urlencode({name: text for name, text in parts.items() if text})

    def spans(self) -> list[dict[str, Any]]:
        return [{"word": SPAN_WORDS[span], "url": self.url(span=span), "is_on": span == self.span} for span in SPANS]


@require_safe
def cache_latency(request: HttpRequest, name: str) -> HttpResponse:
    cache, query = get_object_or_404(Cache, name=name), LatencyQuery.of(request.GET)
    now = timezone.now()
    found = latency_of(cache, now - SPANS[query.span], now + AHEAD, query.node)
    context: dict[str, Any] = {"cache": cache, "query": query, "latency": found}
    context["events"] = [(one, meaning_of(one.group.event)) for one in found.events]
    context["page"] = Paginator(found.moments, ROWS_A_PAGE).get_page(request.GET.get("page"))
    return render(request, "dashboard/latency.html", context)
