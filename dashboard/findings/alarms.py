"""Findings about alerts: a cache is never called better than the worst alert that fires on it."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.alarms import Alarm
from dashboard.findings.finding import Finding, State, notice
from dashboard.watched import Watched


def firing(watched: Watched) -> Finding | None:
    """Alerts fire on the cache; the worst of them are named."""
    fires = [alarm for alarm in watched.alarms if not alarm.is_recovering]
    worst = [alarm for alarm in fires if alarm.is_critical] or fires
    if not worst:
        return None
    if worst[0].is_critical:
        state, words = State.CRITICAL, _critical_words(watched, worst)
    else:
        state, words = State.WARNING, _warning_words(watched, worst)
    count = _count(worst)
    reason = ngettext("%(count)s alert fires", "%(count)s alerts fire", count) % {"count": count}
    return Finding(state, words, reason, str(count), "", url=_list_of(watched))


def recovering(watched: Watched) -> Finding | None:
    """What fired is not true any more, but not for long enough to be over."""
    ending = [alarm for alarm in watched.alarms if alarm.is_recovering]
    if not ending:
        return None
    words = ngettext(
        "%(name)s: %(count)s alert is recovering, it ends if it stays so: %(rules)s",
        "%(name)s: %(count)s alerts are recovering, they end if it stays so: %(rules)s",
        _count(ending),
    )
    return notice(words % _parts(watched, ending), _("recovering"), str(_count(ending)), "", url=_list_of(watched))


def _critical_words(watched: Watched, alarms: Iterable[Alarm]) -> str:
    words = ngettext(
        "%(name)s: %(count)s critical alert fires: %(rules)s",
        "%(name)s: %(count)s critical alerts fire: %(rules)s",
        _count(alarms),
    )
    return words % _parts(watched, alarms)


def _warning_words(watched: Watched, alarms: Iterable[Alarm]) -> str:
    words = ngettext(
        "%(name)s: %(count)s alert fires: %(rules)s", "%(name)s: %(count)s alerts fire: %(rules)s", _count(alarms)
    )
    return words % _parts(watched, alarms)


def _parts(watched: Watched, alarms: Iterable[Alarm]) -> dict[str, object]:
    titles = dict.fromkeys(alarm.title for alarm in alarms)
    return {"name": watched.cache.name, "count": _count(alarms), "rules": ", ".join(titles)}


def _count(alarms: Iterable[Alarm]) -> int:
    return sum(alarm.count for alarm in alarms)


def _list_of(watched: Watched) -> str:
    return f"{reverse('alerts')}?{urlencode({'q': watched.cache.name})}"
