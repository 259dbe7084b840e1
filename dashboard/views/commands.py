"""The page of what commands a cache runs, how long they take, and which errors it answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone, translation
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from collectors.models import CommandSupport
from dashboard import charts, commands
from dashboard.abilities import page_without
from dashboard.command_advice import advice_for
from dashboard.command_charts import charts_of
from dashboard.command_query import CommandQuery
from dashboard.commands import CommandRow
from dashboard.error_words import meaning_of
from dashboard.headings import headings
from dashboard.refresh import fingerprint, is_refresh, unchanged
from dashboard.watched import WatchedNode, nodes_of
from fleet.models import Cache, Topology

USUAL_SPAN, NEW_SPAN = 3600, 900
NEEDED = ("INFO commandstats", "LATENCY HISTOGRAM")
HEADINGS = (
    ("name", _("Command")),
    ("calls", _("Calls")),
    ("time", _("Share of server time")),
    ("usec", _("Mean per call")),
    ("p50", _("p50")),
    ("p99", _("p99")),
    ("p999", _("p99.9")),
    ("rejected", _("Rejected")),
    ("failed", _("Failed")),
)


@require_safe
@vary_on_headers("HX-Request")
def cache_commands(request: HttpRequest, name: str) -> HttpResponse:
    cache = get_object_or_404(Cache, name=name)
    if page := page_without(request, cache, "command_statistics", "commands"):
        return page
    usual_span = NEW_SPAN if (timezone.now() - cache.created_at).total_seconds() < USUAL_SPAN else USUAL_SPAN
    query = CommandQuery.of(request.GET, usual_span)
    nodes = nodes_of([cache.pk]).get(cache.pk, [])
    context: dict[str, Any] = {
        "cache": cache,
        "query": query,
        "nodes": nodes,
        "tab": "commands",
        "refused": refused(nodes),
    }
    context |= tables(cache, query, nodes)
    version = fingerprint(
        query, translation.get_language(), *(context[name] for name in ("found", "errors", "compared"))
    )
    context |= {
        "version": version,
        "headings": headings(HEADINGS, query),
        "interval": settings.COMMANDS_INTERVAL_SECONDS,
    }
    if is_refresh(request):
        return unchanged(request, version) or render(request, "dashboard/_commands.html", context)
    shown = charts_of(context["found"])
    context |= {"charts": shown, "specs": [chart.spec() for chart in shown], "chart_words": charts.words()}
    context |= {"usual_span": usual_span, "by_names": True}
    return render(request, "dashboard/commands.html", context)


def tables(cache: Cache, query: CommandQuery, nodes: Sequence[WatchedNode]) -> dict[str, Any]:
    """Return the commands, the errors, and one command node by node."""
    start, end = query.range()
    found = commands.read_commands(cache, start, end, query.role, query.node)
    errors, measured_seconds = commands.read_errors(cache, start, end, query.node)
    return {
        "found": found,
        "rows": [(row, advice_for(row, cache.topology == Topology.CLUSTER)) for row in query.sorted(found.rows)],
        "errors": [(row, meaning_of(row.name)) for row in errors],
        "errors_measured": measured_seconds,
        "compared": compared(cache, query, nodes) if query.command else [],
    }


def compared(cache: Cache, query: CommandQuery, nodes: Sequence[WatchedNode]) -> list[tuple[WatchedNode, CommandRow]]:
    """Return one command on each node that is still there."""
    start, end = query.range()
    present = {node.node.pk: node for node in nodes}
    rows = commands.read_by_node(cache, query.command, start, end)
    return [(present[node_id], row) for node_id, row in rows if node_id in present]


def refused(nodes: Sequence[WatchedNode]) -> list[dict[str, Any]]:
    """Return which of the commands behind this page are refused, by how many nodes, and in whose words."""
    found = []
    for command in NEEDED:
        rows = CommandSupport.objects.filter(
            node_id__in=[node.node.pk for node in nodes], command=command, state=CommandSupport.State.REFUSED
        )
        reasons = list(rows.values_list("reason", flat=True))
        if reasons:
            found.append({"command": command, "count": len(reasons), "nodes": len(nodes), "reason": reasons[0]})
    return found
