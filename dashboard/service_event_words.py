"""What events say about what Google does to an instance: maintenance, changes, repairs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from collectors.cloud.models import InstanceState
from collectors.cloud.upkeep import CANCELLED, MOVED
from collectors.event import Event
from dashboard.templatetags.units import duration, exact_time, grouped


def maintenance(event: Event) -> str:
    """The event itself stands at the time of the maintenance, its parts where something was said about it."""
    data = event.data
    times = {name: exact_time(datetime.fromisoformat(data[name])) for name in ("start", "before") if name in data}
    if data["step"] == CANCELLED:
        return _("Google cancelled the maintenance that was planned for %(start)s") % times
    if event.story_id is None:
        return _("Maintenance by Google")
    if data["step"] == MOVED:
        return _("Google moved the maintenance from %(before)s to %(start)s") % times
    return _("Google planned maintenance for %(start)s") % times


def found_or_gone(event: Event) -> str:
    """What discovery saw of the instance that the cache stands for."""
    data = event.data
    words = {
        "found": _("Found as %(instance)s in %(region)s of the project %(project)s"),
        "joined": _("Recognised as %(instance)s in %(region)s of the project %(project)s"),
        "gone": _("%(instance)s is not in the project %(project)s any more; the cache is paused"),
        "returned": _("%(instance)s is in the project %(project)s again"),
        "recreated": _("%(instance)s was made anew in the project %(project)s, under the same name"),
        "renamed": _("It is called %(instance)s in the project %(project)s now"),
    }
    return str(words[data["what"]] % data)


def state(event: Event) -> str:
    data = event.data
    words = {
        InstanceState.CHANGING: _("Google changes the instance (%(state)s)"),
        InstanceState.REPAIR: _("Google repairs the instance (%(state)s)"),
        InstanceState.MAINTENANCE: _("Google maintains the instance (%(state)s)"),
    }
    begun = words[InstanceState(data["state"])] % {"state": data["state_name"]}
    steps = ", ".join(goals(event))
    told = _("%(text)s: %(steps)s") % {"text": begun, "steps": steps} if steps else begun
    if event.until is None:
        return told
    return _("%(text)s, for %(time)s") % {"text": told, "time": duration(event.until - event.at)}


def goals(event: Event) -> Iterator[str]:
    """Say where an update leads, and how far it is while it runs."""
    target, before = event.data.get("target", {}), event.data
    shards, replicas = target.get("shards"), target.get("replicas_per_shard")
    if shards and shards != before.get("shards_before"):
        words = ngettext("%(count)s shard wanted", "%(count)s shards wanted", shards)
        yield words % {"count": grouped(shards)}
        if event.until is None and (now := before.get("shards_now")):
            yield ngettext("%(count)s serves now", "%(count)s serve now", now) % {"count": grouped(now)}
    if replicas is not None and replicas != before.get("replicas_before"):
        words = ngettext("%(count)s replica a shard wanted", "%(count)s replicas a shard wanted", replicas)
        yield words % {"count": grouped(replicas)}
    for name in ("version", "node_type"):
        if target.get(name):
            yield str(target[name])
