"""Which instances a canary lets in: so many of those that report, and those let in before stay in.

A bucket of each would be nearly right for thousands; of 60 hosts it takes anything from 0 to 14 for 10 percent.
So hosts are ranked, and the share is rounded up: at least one.
"""

from datetime import datetime

from django.db import transaction

from switches import buckets
from switches.models import Instance, Switch


def wanted(live: int, percent: int) -> int:
    """Return how many of so many instances a percentage is, rounded up."""
    return -(-live * percent // 100)


@transaction.atomic
def admit(switch: Switch, now: datetime) -> int:
    """Let in as many live instances as the percentage says; return how many changed.

    Above the number only a lower percentage puts out: a host that leaves makes nobody else's decision change.
    """
    rows = list(Instance.objects.live(switch, now).select_for_update().order_by("name"))
    ranked = sorted(rows, key=lambda row: (buckets.rank(switch.key, row.name), row.name))
    inside = [row for row in ranked if row.is_admitted]
    outside = [row for row in ranked if not row.is_admitted]
    lacking = wanted(len(ranked), switch.percent) - len(inside)
    changed = outside[: max(lacking, 0)] if switch.is_canary else []
    Instance.objects.filter(pk__in=[row.pk for row in changed]).update(is_admitted=True)
    return len(changed)


def lower(switch: Switch, now: datetime) -> None:
    """Put out those that a lower percentage no longer covers: the last in rank first."""
    rows = Instance.objects.filter(switch=switch, is_admitted=True).select_for_update().order_by("name")
    ranked = sorted(rows, key=lambda row: (buckets.rank(switch.key, row.name), row.name))
    kept = wanted(Instance.objects.live(switch, now).count(), switch.percent) if switch.is_canary else 0
    Instance.objects.filter(pk__in=[row.pk for row in ranked[kept:]]).update(is_admitted=False)


def keep(now: datetime) -> None:
    """Let instances in that came since the last step of each canary."""
    for switch in Switch.objects.in_use().filter(percent__gt=0, percent__lt=100):
        admit(switch, now)
