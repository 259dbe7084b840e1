"""Findings about Google Cloud projects: what cannot be listed, and what was found and waits for somebody.

They are about no cache: the fleet page tells them beside those of caches. Each ends by itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db.models import Count
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from collectors.cloud.errors import sentence_of
from collectors.cloud.latest import AWAY
from collectors.cloud.models import CloudProject, awaited
from collectors.cloud.products import Product
from dashboard.findings.finding import Finding, State
from dashboard.templatetags.units import duration, exact_time, grouped


def of_projects(now: datetime) -> list[Finding]:
    """Return what there is to say about all projects, worst first, from one query. Paused ones are left alone."""
    asked = CloudProject.objects.filter(is_paused=False)
    found: list[Finding] = []
    for project in asked.annotate(waiting=Count("instances", filter=awaited("instances__", ""))):
        found += not_listed(project, now)
        found += waiting(project, project.waiting)
    return sorted(found, key=lambda finding: finding.rank)


def not_listed(project: CloudProject, now: datetime) -> Iterator[Finding]:
    """Products that the project could not be asked for in two minutes: one finding a cause."""
    failing: dict[str, dict[Product, dict[str, Any]]] = defaultdict(dict)
    for product in Product:
        told = project.state.get(product, {}) if project.wants(product) else {}
        if told.get("failing_since") and now - datetime.fromisoformat(told["failing_since"]) >= AWAY:
            failing[told["cause"]][product] = told
    for cause, by_product in failing.items():
        yield _not_listed(project, cause, by_product, now)


def _not_listed(project: CloudProject, cause: str, by_product: dict[Product, dict[str, Any]], now: datetime) -> Finding:
    states = by_product.values()
    parts = {
        "project": project.project_id,
        "products": ", ".join(str(product.label) for product in by_product),
        "reason": sentence_of(cause, ", ".join(dict.fromkeys(filter(None, (told["words"] for told in states))))),
    }
    answers = [told.get("ok_at") or "" for told in states]
    if not all(answers):
        sentence = _("Project %(project)s: %(products)s could never be listed: %(reason)s") % parts
    else:
        parts["since"] = exact_time(datetime.fromisoformat(min(answers)))
        sentence = _("Project %(project)s: %(products)s not listed since %(since)s: %(reason)s") % parts
    began = min(datetime.fromisoformat(told["failing_since"]) for told in states)
    return _about(project, State.WARNING, sentence, _("cannot be listed"), duration((now - began).total_seconds()))


def waiting(project: CloudProject, count: int) -> Iterator[Finding]:
    """Instances that nobody decided on yet."""
    if not count:
        return
    words = ngettext(
        "%(count)s instance in project %(project)s waits for your approval",
        "%(count)s instances in project %(project)s wait for your approval",
        count,
    )
    sentence = words % {"count": grouped(count), "project": project.project_id}
    yield _about(project, State.NOTICE, sentence, _("waits for approval"), grouped(count))


def _about(project: CloudProject, state: State, sentence: str, reason: str, figure: str) -> Finding:
    return Finding(state, sentence, reason, figure, "", url=project.get_absolute_url(), project=project.project_id)
