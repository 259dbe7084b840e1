"""What else goes on where an incident is: other incidents of its caches about the same time, and what may come."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Case, Q, Value, When

from alerts.alert import Alert
from alerts.models import Incident
from dashboard.alert_rows import WORST_FIRST

AROUND = timedelta(hours=1)
LIMIT = 10
OPEN_FIRST = Case(When(closed_at=None, then=Value(0)), default=Value(1))


@dataclass(frozen=True, slots=True)
class Related:
    """Other incidents of the same caches, open and bad ones first, and alerts that nobody is told of yet."""

    incidents: list[Incident]
    pending: list[Alert]
    has_more: bool


def of(incident: Incident, alerts: Collection[Alert]) -> Related | None:
    """Return what is related to an incident with these alerts, None where it is about no cache in particular."""
    caches = {pk for pk in (incident.cache_id, *(alert.cache_id for alert in alerts)) if pk}
    if not caches:
        return None
    members = Alert.objects.filter(cache__in=caches, incident__isnull=False).values("incident")
    start = incident.opened_at
    near = Q(closed_at=None) | Q(opened_at__range=(start - AROUND, start + AROUND))
    others = Incident.objects.real().filter(Q(cache__in=caches) | Q(pk__in=members), near).exclude(pk=incident.pk)
    found = list(others.order_by(OPEN_FIRST, WORST_FIRST, "-opened_at", "-pk")[: LIMIT + 1])
    waiting = Alert.objects.active().filter(cache__in=caches, state=Alert.State.PENDING)
    pending = waiting.exclude(pk__in=[alert.pk for alert in alerts]).select_related("rule", "cache", "behind")
    return Related(found[:LIMIT], list(pending.order_by("began_at", "pk")[:LIMIT]), len(found) > LIMIT)


def marks(found: Related | None) -> list[object]:
    """Return what changes when the page should."""
    if found is None:
        return []
    known = [(one.pk, one.title, one.closed_at, one.acknowledged_by) for one in found.incidents]
    return [*known, *((alert.pk, alert.severity) for alert in found.pending)]
