"""The page of one cache: what is wrong, its nodes, its charts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import translation
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from dashboard import charts, findings, own_load, service_charts, service_page
from dashboard.chart_bounds import bounded
from dashboard.engine_charts import charts_of
from dashboard.note_form import NoteForm
from dashboard.overview import Row
from dashboard.refresh import fingerprint, is_refresh, unchanged
from dashboard.refusals import refusals
from dashboard.watched import Watched, WatchedNode, watch
from fleet.models import Cache
from switches import standing

MANY_NODES = 12
# The range that charts open with, in seconds: a cache that is new to us would be a dash at the right edge.
USUAL_SPAN, NEW_SPAN = 3600, 900


@require_safe
@vary_on_headers("HX-Request")
def cache(request: HttpRequest, name: str) -> HttpResponse:
    watched = watch(get_object_or_404(Cache, name=name))
    row = Row(watched.cache, watched.latest, findings.in_depth(watched), watched.shards, watched.service)
    off = standing.switched_off([watched.cache.pk]).get(watched.cache.pk)
    service = service_page.page_of(watched.cache, watched.service, watched.now)
    seen = (translation.get_language(), row.findings, row.health, off, service and service.version)
    newest = watched.latest.at if watched.latest and watched.is_remote else None
    version = fingerprint(*seen, newest, *map(fingerprint_of, watched.nodes))
    if is_refresh(request) and (same := unchanged(request, version)):
        return same
    context: dict[str, Any] = {"row": row, "cache": watched.cache, "seen": watched.latest, "nodes": watched.nodes}
    context |= {"version": version, "refused": refusals(watched.node_ids), "many": len(watched.nodes) > MANY_NODES}
    context |= {"switched_off": off, "service": service}
    if is_refresh(request):
        return render(request, "dashboard/_cache_news.html", context)
    told = service_charts.of(watched)
    shown = () if watched.is_remote else charts_of(watched.cache.engine)
    drawn = bounded((*shown, *(told.charts if told else ())), watched)
    context |= {"charts": drawn[: len(shown)], "told": told and replace(told, charts=tuple(drawn[len(shown) :]))}
    context |= {"specs": [chart.spec() for chart in drawn], "usual_span": usual_span(watched)}
    context |= {"chart_words": charts.words(), "note_form": NoteForm()}
    context["own_load"] = own_load.of(watched, context["refused"])
    return render(request, "dashboard/cache.html", context)


def usual_span(watched: Watched) -> int:
    age = (watched.now - watched.cache.created_at).total_seconds()
    return NEW_SPAN if age < USUAL_SPAN else USUAL_SPAN


def fingerprint_of(node: WatchedNode) -> tuple[object, ...]:
    newest = node.latest.at if node.latest else None
    return node.node.pk, node.node.role, node.node.shard_id, newest, node.is_failing
