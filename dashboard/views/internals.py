"""Replication, cluster, persistence and memory of a cache, node by node."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from collectors.memcached.plugin import plugin_of
from dashboard import slab_classes
from dashboard.internals import internals_of
from dashboard.refresh import is_refresh
from dashboard.slab_classes import NodeClasses
from fleet.models import Cache


@require_safe
@vary_on_headers("HX-Request")
def cache_internals(request: HttpRequest, name: str) -> HttpResponse:
    cache = get_object_or_404(Cache, name=name)
    context = {"cache": cache, "classes": asked_classes(request, cache)}
    if is_refresh(request):
        return render(request, "dashboard/_slab_classes.html", context)
    plugin = plugin_of(cache) if cache.abilities.slabs else None
    return render(request, "dashboard/internals.html", {**context, "internals": internals_of(cache), "plugin": plugin})


def asked_classes(request: HttpRequest, cache: Cache) -> NodeClasses | None:
    """Read the classes of the node that the URL names, None where it names none."""
    number = request.GET.get("slabs", "")
    is_number = number.isascii() and number.isdigit() and len(number) < 10
    return slab_classes.of(cache, int(number)) if is_number and cache.abilities.slabs else None
