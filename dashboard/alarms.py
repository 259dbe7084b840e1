"""What fires on caches now, as their health tells of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Count
from django.utils.translation import gettext

from alerts.alert import Alert
from alerts.reason import Reason


@dataclass(frozen=True, slots=True)
class Alarm:
    """Alerts of one rule on one cache, equally bad."""

    title: str
    is_critical: bool
    is_recovering: bool
    count: int


def of_caches(cache_ids: Collection[int]) -> dict[int, list[Alarm]]:
    """Return what fires, in one query; a cache that is switched off alarms nobody."""
    alerts = Alert.objects.firing().filter(cache__in=cache_ids).exclude(reason=Reason.SWITCHED_OFF)
    names = ("cache_id", "rule_key", "rule__text__title", "severity", "state")
    found: dict[int, list[Alarm]] = defaultdict(list)
    for row in alerts.values(*names).annotate(count=Count("pk")).order_by("rule_key"):
        told = row["rule__text__title"]
        title = gettext(told) if told else row["rule_key"]
        is_recovering = row["state"] == Alert.State.RECOVERING
        found[row["cache_id"]].append(Alarm(title, row["severity"] == "critical", is_recovering, row["count"]))
    return found
