"""Looking at who is still connected to the caches of switches that are off.

A server answers nobody while it writes its list: lists are read often only while people wait for the proof, and
long ones once a minute.
"""

from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from collectors import client_presence, latest
from switches.models import Instance, Sighting, Switch

OFTEN, SELDOM = timedelta(seconds=5), timedelta(seconds=60)
# How long after the last step people wait for the proof.
AWAITED = timedelta(minutes=15)


def due(now: datetime) -> list[int]:
    """Return the off switches whose caches are to be looked at."""
    rows = Switch.objects.off().filter(cache_now__is_paused=False).select_related("sighting")
    return [row.pk for row in rows if _is_due(row, now)]


def _is_due(switch: Switch, now: datetime) -> bool:
    sighting: Sighting | None = getattr(switch, "sighting", None)
    if sighting is None:
        return True
    # Ticks come a little early now and then.
    return now - sighting.begun_at >= interval(switch, now) - timedelta(seconds=1)


def interval(switch: Switch, now: datetime) -> timedelta:
    """Return how long to wait between two looks."""
    summary = latest.caches([switch.cache_now_id] if switch.cache_now_id else []).get(switch.cache_now_id or 0)
    connections = (summary and summary.connected_clients) or 0
    return OFTEN if now - switch.stepped_at < AWAITED and connections <= settings.CLIENTS_LIMIT else SELDOM


def look(switch_id: int) -> bool:
    """Read the client lists for one switch; return False where somebody does so now."""
    switch, now = Switch.objects.get(pk=switch_id), timezone.now()
    if switch.cache_now_id is None or not _begin(switch, now):
        return False
    wanted = wanted_by(switch)
    seen = client_presence.read(switch.cache_now_id, wanted)
    Sighting.objects.filter(switch=switch).update(
        read_at=now,
        failed_cause=seen.failure.cause if seen.failure else "",
        failed_words=seen.failure.words if seen.failure else "",
        connections=seen.connections,
        present={name: [found.connections, found.idle, found.command] for name, found in seen.present.items()},
    )
    return True


def _begin(switch: Switch, now: datetime) -> bool:
    _sighting, is_first = Sighting.objects.get_or_create(switch=switch, defaults={"begun_at": now})
    free = Sighting.objects.filter(switch=switch, begun_at__lt=now - OFTEN / 2)
    return is_first or free.update(begun_at=now) == 1


def wanted_by(switch: Switch) -> frozenset[str]:
    """Return what the connections of instances are told by: their addresses, and their own names."""
    rows = Instance.objects.filter(switch=switch).values_list("name", "address")
    return frozenset(word for row in rows for word in row if word)
