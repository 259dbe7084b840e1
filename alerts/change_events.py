"""Change events: what happened to caches (deploys, failovers, scalings …) told to PagerDuty beside its incidents.

Nobody is woken by one. Each channel remembers the last event, and the last change of a switch, that it told, so that
nothing is lost while the service is away. A sender takes a channel for itself before it tells anything; only one that
is killed between telling and writing that down leaves a change to be told twice.
"""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from heapq import merge
from itertools import takewhile
from operator import attrgetter
from typing import Any

from django.conf import settings
from django.db.models import Max, Q, QuerySet
from django.db.models.functions import Now
from django.urls import reverse

from alerts import outbox, sender
from alerts.channel import Accepted, Final, Settings
from alerts.channels.pagerduty import PagerDuty, tell_change
from alerts.models import Channel
from alerts.text import cut
from collectors.event import Event, Kind
from fleet.secrets import SecretUnreadableError
from switches.models import SwitchChange

logger = logging.getLogger(__name__)
AT_ONCE = 20
# Transactions that began before may still add an event with a smaller number.
SETTLED = timedelta(seconds=10)
# Changes of a switch that say how many may use the cache from then on.
STEPS = frozenset({SwitchChange.Kind.OFF, SwitchChange.Kind.STEP, SwitchChange.Kind.ON})


@dataclass(frozen=True, slots=True)
class Happening:
    """Something to tell, when it was, and which number the channel remembers once it is told."""

    at: datetime
    remembered_as: str
    number: int
    change: dict[str, Any]

    def is_settled(self, now: datetime) -> bool:
        """Return whether none with a smaller number can appear any more; what is planned for later is told at once."""
        return self.at <= now - SETTLED or self.at > now


def tell(now: datetime) -> int:
    """Tell every channel that wants them of the events since the last time; return how many were taken."""
    return sum(_tell_channel(channel, now) for channel in Channel.objects.filter(kind=PagerDuty.name, broken_at=None))


def _tell_channel(channel: Channel, now: datetime) -> int:
    try:
        given = sender.settings_of(channel.settings)
    except SecretUnreadableError:
        return 0
    kinds = given.get("changes") or []
    if not kinds or not _take(channel):
        return 0
    try:
        return _tell_new(channel, given, kinds, now)
    finally:
        Channel.objects.filter(pk=channel.pk).update(changes_leased_until=None)


def _take(channel: Channel) -> bool:
    """Return whether this sender alone tells the channel's changes now; what it remembers is read afresh."""
    free = Q(changes_leased_until=None) | Q(changes_leased_until__lt=Now())
    if not Channel.objects.filter(free, pk=channel.pk).update(changes_leased_until=_lease()):
        return False
    channel.refresh_from_db(fields=["changes_told", "switches_told"])
    return True


def _lease() -> Any:
    """Return the end of a lease, by the clock of the database: longer than one attempt, it is renewed with each."""
    return Now() + timedelta(seconds=2 * outbox.attempt_seconds())


def _tell_new(channel: Channel, given: Settings, kinds: list[str], now: datetime) -> int:
    told = 0
    for happening in _new(channel, kinds, now):
        outcome = tell_change(given["routing_key"], happening.change)
        if not isinstance(outcome, Accepted | Final):
            break
        if isinstance(outcome, Final):
            logger.warning("Channel %s refused a change: %s", channel.name, outcome.cause)
        remembered = {happening.remembered_as: happening.number, "changes_leased_until": _lease()}
        Channel.objects.filter(pk=channel.pk).update(**remembered)
        told += isinstance(outcome, Accepted)
    return told


def _new(channel: Channel, kinds: list[str], now: datetime) -> list[Happening]:
    """Return what the channel was not told yet, in the order in which it happened."""
    # What happened before somebody asked for it is not told.
    rows: dict[str, QuerySet[Any]] = {
        "changes_told": Event.objects.all(),
        "switches_told": SwitchChange.objects.all(),
    }
    for name, known in rows.items():
        if getattr(channel, name) is None:
            newest = known.aggregate(newest=Max("pk"))["newest"] or 0
            setattr(channel, name, newest)
            channel.save(update_fields=[name])
    switched = _switch_changes(channel) if Kind.SWITCH in kinds else []
    # Each in the order of its numbers, of which the channel remembers the last.
    ready = (takewhile(lambda one: one.is_settled(now), found) for found in (_events(channel, kinds), switched))
    return list(merge(*ready, key=attrgetter("at")))


def _events(channel: Channel, kinds: list[str]) -> list[Happening]:
    # Switches are told from their own record, which knows more.
    wanted = [kind for kind in kinds if kind != Kind.SWITCH]
    new = Event.objects.on_top().filter(pk__gt=channel.changes_told, kind__in=wanted)
    rows = new.select_related("cache").order_by("pk")[:AT_ONCE]
    return [Happening(event.at, "changes_told", event.pk, change_of(event)) for event in rows]


def _switch_changes(channel: Channel) -> list[Happening]:
    new = SwitchChange.objects.filter(pk__gt=channel.switches_told)
    rows = new.select_related("switch").order_by("pk")[:AT_ONCE]
    return [Happening(row.at, "switches_told", row.pk, change_of_switch(row)) for row in rows]


def change_of(event: Event) -> dict[str, Any]:
    """Return an event as PagerDuty wants it, but for the key."""
    about = event.cache.name if event.cache else ", ".join(f"{name}={value}" for name, value in event.labels.items())
    words = event.title or str(event.get_kind_display())
    detail = {"kind": event.kind, "by": event.author or "shardwatch"}
    return _change(about, words, event.at, detail, event.get_absolute_url(), event.url)


def change_of_switch(row: SwitchChange) -> dict[str, Any]:
    """Return a change of a switch, whether or not it stands for a cache, as PagerDuty wants it, but for the key."""
    about = row.after.get("cache_now") or row.before.get("cache_now") or ""
    words = f"switch {row.switch.key}: {', '.join(_what(row))}: {row.reason}"
    detail = {"kind": str(Kind.SWITCH), "by": row.by, **({"ticket": row.ticket} if row.ticket else {})}
    return _change(about, words, row.at, detail, reverse("switch", args=[row.switch.key]), "")


def _what(row: SwitchChange) -> list[str]:
    if row.kind in STEPS:
        return [row.kind, f"{row.after['percent']}%"]
    if row.kind == SwitchChange.Kind.REPOINTED:
        return [row.kind, f"{row.before.get('cache_now')} to {row.after.get('cache_now')}"]
    if row.kind == SwitchChange.Kind.EDITED:
        return [row.kind, *sorted(name for name in row.after if row.after[name] != row.before.get(name))]
    return [row.kind]


def _change(about: str, words: str, at: datetime, detail: dict[str, str], path: str, more: str) -> dict[str, Any]:
    named = ((f"{settings.PUBLIC_URL}{path}" if settings.PUBLIC_URL else "", "Shardwatch"), (more, "More"))
    return {
        "payload": {
            "summary": cut(f"{about}: {words}" if about else words, 1_024),
            "timestamp": at.isoformat(),
            "source": cut(about, 255) or "shardwatch",
            "custom_details": detail,
        },
        "links": [{"href": href, "text": text} for href, text in named if href],
    }
