"""Change events: what happened to caches (deploys, failovers, scalings …) told to PagerDuty beside its incidents.

Nobody is woken by one. Each channel remembers the last event that it told, so that nothing is lost while the service is
away; two senders at the same moment may tell one twice.
"""

import logging
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Max, Q

from alerts import sender
from alerts.channel import Accepted, Final, Settings
from alerts.channels.pagerduty import PagerDuty, tell_change
from alerts.models import Channel
from alerts.text import cut
from collectors.event import Event, Kind
from fleet.secrets import SecretUnreadableError

logger = logging.getLogger(__name__)
AT_ONCE = 20
NOTHING_KNOWN = dict.fromkeys(("switch", "change", "percent", "reason"), "?")
# Transactions that began before may still add an event with a smaller number.
SETTLED = timedelta(seconds=10)


def tell(now: datetime) -> int:
    """Tell every channel that wants them of the events since the last time; return how many were taken."""
    return sum(_tell_channel(channel, now) for channel in Channel.objects.filter(kind=PagerDuty.name, broken_at=None))


def _tell_channel(channel: Channel, now: datetime) -> int:
    try:
        given = sender.settings_of(channel.settings)
    except SecretUnreadableError:
        return 0
    kinds = given.get("changes") or []
    if not kinds:
        return 0
    if channel.changes_told is None:
        # What happened before somebody asked for it is not told.
        Channel.objects.filter(pk=channel.pk, changes_told=None).update(changes_told=_newest())
        return 0
    return _tell_events(channel, given, kinds, now)


def _newest() -> int:
    return Event.objects.aggregate(newest=Max("pk"))["newest"] or 0


def _tell_events(channel: Channel, given: Settings, kinds: list[str], now: datetime) -> int:
    told = 0
    # What is planned for later is told at once.
    settled = Q(at__lte=now - SETTLED) | Q(at__gt=now)
    new = Event.objects.on_top().filter(settled, pk__gt=channel.changes_told, kind__in=kinds)
    for event in new.select_related("cache").order_by("pk")[:AT_ONCE]:
        outcome = tell_change(given["routing_key"], change_of(event))
        if not isinstance(outcome, Accepted | Final):
            break
        if isinstance(outcome, Final):
            logger.warning("Channel %s refused the change event %d: %s", channel.name, event.pk, outcome.cause)
        Channel.objects.filter(pk=channel.pk).update(changes_told=event.pk)
        told += isinstance(outcome, Accepted)
    return told


def words_of(event: Event) -> str:
    if event.kind == Kind.SWITCH and event.data:
        return "switch {switch}: {change}, {percent}%: {reason}".format(**{**NOTHING_KNOWN, **event.data})
    return event.title or str(event.get_kind_display())


def change_of(event: Event) -> dict[str, Any]:
    """Return an event as PagerDuty wants it, but for the key."""
    about = event.cache.name if event.cache else ", ".join(f"{name}={value}" for name, value in event.labels.items())
    words = words_of(event)
    link = f"{settings.PUBLIC_URL}{event.get_absolute_url()}" if settings.PUBLIC_URL else ""
    named = ((link, "Shardwatch"), (event.url, "More"))
    return {
        "payload": {
            "summary": cut(f"{about}: {words}" if about else words, 1_024),
            "timestamp": event.at.isoformat(),
            "source": cut(about, 255) or "shardwatch",
            "custom_details": {"kind": event.kind, "by": event.author or "shardwatch"},
        },
        "links": [{"href": href, "text": text} for href, text in named if href],
    }
