"""The slow and command logs of a cache, merged over its nodes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from collectors import slowlog
from collectors.slow_entry import Log
from collectors.slowlog import SlowFilter
from dashboard import slow_entries
from dashboard.abilities import page_without
from dashboard.refusals import is_refused_by_all, refusals
from fleet.models import Cache

ROWS_A_PAGE = 50
TEXT_LIMIT = 100
SPANS = {"1h": timedelta(hours=1), "1d": timedelta(days=1), "7d": timedelta(days=7), "30d": timedelta(days=30)}
SPAN_WORDS = {"1h": _("1 hour"), "1d": _("24 hours"), "7d": _("7 days"), "30d": _("30 days")}
USUAL_SPAN = "1d"
# Servers' clocks may be a little ahead.
AHEAD = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class SlowQuery:
    """What the URL asks for. Unknown values fall back to the defaults; `prefix` is None for any."""

    span: str = USUAL_SPAN
    log: str = ""
    node: str = ""
    command: str = ""
    prefix: str | None = None

    @classmethod
    def of(cls, given: QueryDict) -> SlowQuery:
        span, log, node = given.get("span", ""), given.get("log", ""), given.get("node", "")
        texts = {name: text[:TEXT_LIMIT] for name in ("command", "prefix") if (text := given.get(name))}
        return cls(
            span if span in SPANS else USUAL_SPAN,
            log if log in Log.values else "",
            node if node.isascii() and node.isdigit() and len(node) < 10 else "",
            texts.get("command", ""),
            texts.get("prefix", "") if "prefix" in given else None,
        )

    def filter(self, node_ids: list[int], now: datetime) -> SlowFilter:
        """Return the entries meant, of any command: that of the chosen group is for the rows alone."""
        chosen = [int(self.node)] if self.node and int(self.node) in node_ids else node_ids
        return SlowFilter(chosen, now - SPANS[self.span], now + AHEAD, self.log)

    def url(self, **changes: str | None) -> str:
        parts = {"span": self.span, "log": self.log, "node": self.node} | changes
        return "?" + urlencode(
            {name: text for name, text in parts.items() if text or (name == "prefix" and text == "")}
        )

    def spans(self) -> list[dict[str, Any]]:
        return [{"word": SPAN_WORDS[span], "url": self.url(span=span), "is_on": span == self.span} for span in SPANS]

    def page_url(self) -> str:
        """Return the URL of the rows of this group, but for the page's number."""
        return self.url(command=self.command, prefix=self.prefix)


@require_safe
def cache_slowlog(request: HttpRequest, name: str) -> HttpResponse:
    cache, query = get_object_or_404(Cache, name=name), SlowQuery.of(request.GET)
    if page := page_without(request, cache, "slow_log", "slowlog"):
        return page
    nodes = list(cache.nodes.present().select_related("shard"))
    ids = list(cache.nodes.values_list("pk", flat=True))
    chosen = query.filter(ids, timezone.now())
    context: dict[str, Any] = {"cache": cache, "query": query, "nodes": nodes, "logs": Log.choices}
    context |= {"tables": slow_entries.tables(slowlog.groups(chosen)), "losses": slow_entries.losses(chosen)}
    refused = refusals([node.pk for node in nodes], slow_entries.COMMANDS)
    context |= {"refusals": refused, "is_refused": is_refused_by_all("SLOWLOG GET", refused)}
    if query.command:
        rows = replace(chosen, command=query.command, key_prefix=query.prefix).entries()
        rows = rows.select_related("node").order_by("-started_at", "-entry_id")
        context["page"] = Paginator(rows, ROWS_A_PAGE).get_page(request.GET.get("page"))
    return render(request, "dashboard/slowlog.html", context)
