"""The fleet page: findings on top, one row a cache below."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.text import slugify
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from dashboard import overview
from dashboard.findings import Finding, State
from dashboard.findings.projects import of_projects
from dashboard.findings.reach import STUCK
from dashboard.headings import headings
from dashboard.overview import FINDINGS_SHOWN, HEALTH_WORDS, Query, Row
from dashboard.refresh import fingerprint, is_refresh, unchanged

# From so many caches without news on, one sentence speaks for all.
MANY_STUCK = 3
HEADINGS = (
    ("health", _("Health")),
    ("name", _("Cache")),
    ("memory", _("Memory")),
    ("cpu", _("CPU, busiest node")),
    ("connections", _("Connections, fullest node")),
    ("commands", _("Commands")),
    ("hits", _("Hit ratio")),
    ("evictions", _("Evictions")),
    ("replication", _("Replication")),
    ("age", _("Last sample")),
)


@require_safe
@vary_on_headers("HX-Request")
def fleet(request: HttpRequest) -> HttpResponse:
    query = Query.of(request.GET)
    now = timezone.now()
    rows, found = overview.read(now), of_projects(now)
    counted = [row for row in rows if query.matches(row)]
    shown = query.sorted([row for row in counted if query.fits_state(row)])
    version = fingerprint(query, translation.get_language(), [fingerprint_of(row) for row in shown], found)
    if is_refresh(request) and (same := unchanged(request, version)):
        return same
    context = {"query": query, "refresh_url": query.url(version=version), "rows": shown, "has_caches": bool(rows)}
    context |= {"findings": fleet_findings(shown, found, query), "states": state_choices(counted, query)}
    context |= {
        "headings": headings(HEADINGS, query),
        "labels": sorted({label for row in rows for label in row.labels}),
    }
    context["node_count"] = sum(row.latest.nodes for row in counted if row.latest)
    return render(request, "dashboard/_fleet.html" if is_refresh(request) else "dashboard/fleet.html", context)


def fingerprint_of(row: Row) -> tuple[object, ...]:
    return row.cache.pk, row.cache.name, row.labels, row.latest and row.latest.at, row.findings, row.health


def fleet_findings(rows: Sequence[Row], others: Sequence[Finding], query: Query) -> dict[str, Any]:
    """Return the findings to list, our own standstill before all, then worst first, and how many are left out.

    The others are of projects: they belong to no cache that a filter could choose.
    """
    found = [(row, finding) for row in rows for finding in serious(row)]
    stuck = [pair for pair in found if pair[1].chart == STUCK]
    entries = [entry_of(row, finding) for row, finding in found if len(stuck) < MANY_STUCK or finding.chart != STUCK]
    if len(stuck) >= MANY_STUCK:
        entries.append({"key": STUCK, "url": reverse("health"), "finding": all_stuck(len(stuck))})
    if not query.is_filtered:
        entries += [
            {"key": f"project-{number}", "url": finding.url, "finding": finding}
            for number, finding in enumerate(others)
        ]
    # Where Shardwatch stands still, all that is said below may be old.
    entries.sort(key=lambda entry: (entry["finding"].chart != STUCK, entry["finding"].rank))
    shown = entries if query.all_findings else entries[:FINDINGS_SHOWN]
    more = "" if len(shown) == len(entries) else query.url(findings="all")
    return {"shown": shown, "more": more, "left": len(entries) - len(shown), "fewer": query.url(findings="")}


def entry_of(row: Row, finding: Finding) -> dict[str, Any]:
    key = f"{row.cache.pk}-{finding.chart}-{finding.reason}"
    url = reverse("health") if finding.chart == STUCK else f"{row.cache.get_absolute_url()}#{finding.chart}"
    return {"key": slugify(key), "url": finding.url or url, "finding": finding}


def all_stuck(count: int) -> Finding:
    sentence = gettext("%(count)s caches have no new samples: Shardwatch itself may be stuck, see its health page") % {
        "count": count
    }
    return Finding(State.WARNING, sentence, gettext("old figures"), str(count), STUCK)


def serious(row: Row) -> list[Finding]:
    told = (finding for finding in row.findings if finding.state != State.NOTICE)
    return [finding for finding in told if finding.outlives_pause or not row.cache.is_paused]


def state_choices(rows: Sequence[Row], query: Query) -> list[dict[str, Any]]:
    """Return one choice a state that occurs, with its count and address."""
    counts = Counter(row.health for row in rows)
    choices = [{"state": "", "word": _("All"), "count": len(rows), "url": query.url(state="")}]
    choices += [
        {"state": state, "word": word, "count": counts[state], "url": query.url(state=state)}
        for state, word in HEALTH_WORDS.items()
        if counts[state] or query.state == state
    ]
    return choices
