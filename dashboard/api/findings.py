"""Findings: what needs attention, in sentences."""

from typing import Any, Literal

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from ninja import Query, Router, Schema
from pydantic import Field

from accounts.api_auth import callers
from dashboard import findings, overview
from dashboard.api.answers import problems
from dashboard.api.caches import cache_named
from dashboard.api.paging import PageAnswer, PageQuery
from dashboard.findings import Finding
from dashboard.findings.reach import STUCK
from dashboard.watched import watch
from fleet.models import Cache

router = Router(tags=["findings"], auth=callers())
StateName = Literal["unreachable", "critical", "warning", "notice"]
SERIOUS = ("unreachable", "critical", "warning")


class FindingFilter(PageQuery):
    state: list[StateName] = Field(
        [], max_length=4, description="Given several times, any may fit; all but notices where left out."
    )


class FindingAnswer(Schema):
    cache: str
    state: StateName
    sentence: str
    reason: str = Field(description="The sentence in two or three words.")
    figure: str = Field(description="The number that counts, with its unit; empty where none does.")
    url: str = Field(description="The page that shows it.")


class FindingPage(PageAnswer):
    findings: list[FindingAnswer]


class FindingsOfCache(Schema):
    cache: str
    findings: list[FindingAnswer]


@router.get(
    "/findings",
    response={200: FindingPage, **problems()},
    operation_id="list_findings",
    summary="List what needs attention in the fleet",
)
def list_findings(request: HttpRequest, filters: Query[FindingFilter]) -> dict[str, Any]:
    """Worst first. Paused caches have none, unless their instance is gone; advice is given for single caches only."""
    wanted = filters.state or SERIOUS
    told = ((row.cache, finding) for row in overview.read(timezone.now()) for finding in row.findings)
    found = [(cache, one) for cache, one in told if one.state in wanted and (one.outlives_pause or not cache.is_paused)]
    found.sort(key=lambda pair: (pair[1].rank, pair[0].name))
    page = [finding_answer(request, *pair) for pair in found[filters.cut]]
    return {**filters.told(len(found)), "findings": page}


@router.get(
    "/caches/{name}/findings",
    response={200: FindingsOfCache, **problems(404)},
    operation_id="list_findings_of_cache",
    summary="List what needs attention in one cache, and advice",
)
def list_findings_of_cache(request: HttpRequest, name: str) -> dict[str, Any]:
    """Worst first; notices are worth knowing although nothing is wrong yet."""
    cache = cache_named(name)
    found = findings.in_depth(watch(cache))
    return {"cache": cache.name, "findings": [finding_answer(request, cache, finding) for finding in found]}


def finding_answer(request: HttpRequest, cache: Cache, finding: Finding) -> dict[str, Any]:
    place = reverse("health") if finding.chart == STUCK else f"{cache.get_absolute_url()}#{finding.chart}"
    same = ("state", "sentence", "reason", "figure")
    return {
        "cache": cache.name,
        **{field: getattr(finding, field) for field in same},
        "url": request.build_absolute_uri(finding.url or place),
    }
