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
from dashboard.findings.projects import of_projects
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
    cache: str = Field(description="Empty where it is about a Google Cloud project.")
    project: str = Field(description="The Google Cloud project, where it is about no cache.")
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
    """Worst first, those of Google Cloud projects among them. Paused caches have none, unless their instance is gone;
    advice is given for single caches only."""
    now, wanted = timezone.now(), filters.state or SERIOUS
    told = ((row.cache, finding) for row in overview.read(now) for finding in row.findings)
    found: list[tuple[Cache | None, Finding]] = [
        (cache, one) for cache, one in told if one.outlives_pause or not cache.is_paused
    ]
    found += [(None, finding) for finding in of_projects(now)]
    found = [pair for pair in found if pair[1].state in wanted]
    found.sort(key=lambda pair: (pair[1].rank, pair[0].name if pair[0] else ""))
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


def finding_answer(request: HttpRequest, cache: Cache | None, finding: Finding) -> dict[str, Any]:
    place = f"{cache.get_absolute_url()}#{finding.chart}" if cache else ""
    place = reverse("health") if finding.chart == STUCK else place
    same = ("state", "sentence", "reason", "figure", "project")
    return {
        "cache": cache.name if cache else "",
        **{field: getattr(finding, field) for field in same},
        "url": request.build_absolute_uri(finding.url or place),
    }
