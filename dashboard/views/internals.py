"""Replication, cluster, persistence and memory of a cache, node by node."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from collectors.models import MysqlPlugin
from dashboard.internals import internals_of
from fleet.models import Cache


@require_safe
def cache_internals(request: HttpRequest, name: str) -> HttpResponse:
    cache = get_object_or_404(Cache, name=name)
    plugin = MysqlPlugin.objects.filter(cache=cache).first() if cache.abilities.slabs else None
    context = {"cache": cache, "internals": internals_of(cache), "plugin": plugin}
    return render(request, "dashboard/internals.html", context)
