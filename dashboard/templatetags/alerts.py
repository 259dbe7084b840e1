"""What every page says is waiting: open incidents, and found instances that nobody decided on."""

from __future__ import annotations

from typing import Any

from django import template
from django.db.models import Count, QuerySet, Value

from alerts.models import Incident
from collectors.cloud.models import CloudInstance

register = template.Library()


@register.simple_tag
def to_do() -> dict[str, int]:
    """Return how many `incidents` are open and `instances` wait for approval, in one query for every page."""
    incidents = _counted(Incident.objects.open().real(), "incidents")
    return dict(incidents.union(_counted(CloudInstance.objects.waiting(), "instances"), all=True))


def _counted(rows: QuerySet[Any], name: str) -> QuerySet[Any, tuple[str, int]]:
    named = rows.order_by().annotate(to_do=Value(name)).values("to_do").annotate(amount=Count("pk"))
    counted: QuerySet[Any, tuple[str, int]] = named.values_list("to_do", "amount")
    return counted
