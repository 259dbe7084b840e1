"""Shardwatch's own health in words."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from collectors.models import PollWorker
from dashboard import own_health, parts
from dashboard.refresh import is_refresh
from fleet.models import Cache

ROWS_A_PAGE = 50


@require_safe
@vary_on_headers("HX-Request")
def health(request: HttpRequest) -> HttpResponse:
    polled = Paginator(own_health.caches(), ROWS_A_PAGE).get_page(request.GET.get("page"))
    silent = Paginator(own_health.failing_nodes(), ROWS_A_PAGE).get_page(request.GET.get("silent"))
    name = request.GET.get("cache", "")
    chosen = get_object_or_404(Cache, name=name) if name else None
    context = {
        "checks": parts.checks(),
        "watch": parts.watch(timezone.now()),
        "workers": PollWorker.objects.order_by("name"),
        "totals": own_health.totals(),
        "polled": polled,
        "polls": own_health.polls_of(list(polled.object_list)),
        "silent": silent,
        "chosen": chosen,
        "chosen_nodes": own_health.nodes_of(chosen) if chosen else (),
    }
    return render(request, "dashboard/_health.html" if is_refresh(request) else "dashboard/health.html", context)
