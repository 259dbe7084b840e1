"""Changes of switches on the charts of the caches that they stand for."""

from datetime import datetime

from collectors.event import Event, Kind
from switches.models import Switch, SwitchChange

MARKED = {
    SwitchChange.Kind.OFF,
    SwitchChange.Kind.STEP,
    SwitchChange.Kind.ON,
    SwitchChange.Kind.REPOINTED,
}


def mark(switch: Switch, kind: str, author: str, reason: str, at: datetime) -> None:
    """Write an event for the cache that the switch points at, if it points at one."""
    if kind not in MARKED or switch.cache_now is None:
        return
    data = {"switch": switch.key, "change": kind, "percent": switch.percent, "reason": reason}
    Event.objects.create(cache=switch.cache_now, kind=Kind.SWITCH, author=author, at=at, data=data)
