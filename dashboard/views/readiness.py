"""Whether caches are ready for maintenance and scaling: one in every detail, and all of them in a table."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from dashboard.readiness.page import fleet_rows, part_rows
from dashboard.readiness.rules import PART_WORDS
from dashboard.readiness.verdict import MARK_WORDS, SIGNS
from fleet.models import Cache

ROWS_A_PAGE = 100


@require_safe
def cache_readiness(request: HttpRequest, name: str) -> HttpResponse:
    cache = get_object_or_404(Cache, name=name)
    context = {"cache": cache, "parts": part_rows(cache, timezone.now())}
    return render(request, "dashboard/cache_readiness.html", context)


@require_safe
def readiness(request: HttpRequest) -> HttpResponse:
    page = Paginator(fleet_rows(timezone.now()), ROWS_A_PAGE).get_page(request.GET.get("page"))
    legend = [(SIGNS[mark], word) for mark, word in MARK_WORDS.items()]
    context = {"page": page, "parameter": "page", "headings": PART_WORDS.values(), "legend": legend}
    return render(request, "dashboard/readiness.html", context)
