"""Advice from what clients asked in the last quarter of an hour: costly commands, errors, slow commands.

Silent where a server does not tell what its commands did, and where nothing was measured.
"""

from __future__ import annotations

from django.utils.translation import gettext as _

from dashboard.command_advice import LAYOUT_COMMANDS, advice_for
from dashboard.commands import CommandRow
from dashboard.error_words import meaning_of
from dashboard.findings.finding import Finding, notice, page_of
from dashboard.templatetags.units import microseconds, percent, rate
from dashboard.watched import Watched

COSTLY_SHARE, COSTLY_USEC = 0.01, 5_000.0
STORM_A_SECOND, STORM_SHARE = 1.0, 0.01
# Our own reading of client lists is among its calls.
SHARED_WITH_US = "client|list"
RISING, ERRORS_A_SECOND = 3.0, 0.1
# While a server answers one of these it refuses work, whether or not it did so yesterday.
REFUSALS = ("CLUSTERDOWN", "OOM", "MISCONF", "MASTERDOWN", "NOREPLICAS")
SLOW_A_SECOND = 10 / 600


def costly_commands(watched: Watched) -> Finding | None:
    """A command that costs the server much, with the better choice (list: Google's best practices for clusters).

    It counts from 1% of the primaries' time on, or where a call takes 5 ms: below both nobody waits.
    """
    rows = [row for row in watched.past.commands if is_costly(row, watched.is_clustered)]
    if not rows:
        return None
    worst = max(rows, key=lambda row: row.time_share or 0.0)
    figure = percent(worst.time_share) if takes_time(worst) else microseconds(worst.slowest_usec)
    parts = {"name": watched.cache.name, "command": worst.name.upper(), "figure": figure}
    parts["rate"] = rate(worst.calls_per_second)
    if takes_time(worst):
        sentence = _("%(name)s runs %(command)s %(rate)s, which takes %(figure)s of its time.") % parts
    else:
        sentence = _("%(name)s runs %(command)s %(rate)s, up to %(figure)s a call.") % parts
    sentence = f"{sentence} {advice_for(worst, watched.is_clustered)}".rstrip(".。")
    return notice(sentence, _("costly command"), figure, "nodes", page_of(watched, "cache-commands"))


def is_costly(row: CommandRow, is_clustered: bool) -> bool:
    if row.name in LAYOUT_COMMANDS or row.name == SHARED_WITH_US or not advice_for(row, is_clustered):
        return False
    return takes_time(row) or row.slowest_usec >= COSTLY_USEC


def takes_time(row: CommandRow) -> bool:
    return (row.time_share or 0.0) >= COSTLY_SHARE


def layout_storm(watched: Watched) -> Finding | None:
    """Clients that ask for the cluster's layout with every request: the sign of a missing slot cache.

    Does not apply outside clusters. Clients that keep the layout ask once a minute or less: even thousands
    of them stay below 1% of all commands.
    """
    calls = {row.name: row.calls_per_second or 0.0 for row in watched.past.commands}
    asked = sum(calls.get(name, 0.0) for name in LAYOUT_COMMANDS)
    if not watched.is_clustered or asked < STORM_A_SECOND or asked < STORM_SHARE * sum(calls.values()):
        return None
    share = percent(asked / sum(calls.values()))
    parts = {"name": watched.cache.name, "rate": rate(asked), "share": share}
    sentence = _(
        "%(name)s is asked for its layout %(rate)s (CLUSTER SLOTS and the like), %(share)s of all commands: clients"
        " have no slot cache (phpredis: redis.clusters.cache_slots=1)"
    )
    return notice(sentence % parts, _("layout storm"), rate(asked), "nodes", page_of(watched, "cache-commands"))


def errors_rising(watched: Watched) -> Finding | None:
    """A type of error that comes three times as often as in the day before, and six times a minute at least.

    Does not apply to what is part of normal work (MOVED, NOSCRIPT, …), nor before an hour was measured.
    """
    rising = {
        name: change
        for name, change in watched.past.errors.items()
        if not meaning_of(name).is_usual and change.is_up(ERRORS_A_SECOND, RISING)
    }
    if not rising:
        return None
    name = max(rising, key=lambda one: rising[one].lately)
    lately, before = rate(rising[name].lately), rate(rising[name].before)
    parts = {"name": watched.cache.name, "error": name, "rate": lately, "before": before}
    sentence = _("%(name)s answers %(error)s %(rate)s, the day before %(before)s.") % parts
    sentence = f"{sentence} {meaning_of(name).sentence}".rstrip(".。")
    return notice(sentence, _("errors rise"), lately, "nodes", page_of(watched, "cache-commands", "errors"))


def work_refused(watched: Watched) -> Finding | None:
    """Errors by which servers refuse work, six times a minute at least, though they have done so for long.

    Does not apply where they rise: `errors_rising` says so.
    """
    refused = {
        name: change.lately
        for name in REFUSALS
        if (change := watched.past.errors.get(name))
        and change.lately >= ERRORS_A_SECOND
        and not change.is_up(ERRORS_A_SECOND, RISING)
    }
    if not refused:
        return None
    name = max(refused, key=lambda one: refused[one])
    often = rate(refused[name])
    sentence = _("%(name)s goes on answering %(error)s, %(rate)s.") % {
        "name": watched.cache.name,
        "error": name,
        "rate": often,
    }
    sentence = f"{sentence} {meaning_of(name).sentence}".rstrip(".。")
    return notice(sentence, _("work refused"), often, "nodes", page_of(watched, "cache-commands", "errors"))


def slow_log_growing(watched: Watched) -> Finding | None:
    """More than ten new slow commands in ten minutes (a common alert rule), and three times as many as usual.

    Does not apply where the slow log may not be read.
    """
    slow = watched.past.slow
    if slow is None or slow.lately <= SLOW_A_SECOND or not slow.is_up(SLOW_A_SECOND, RISING):
        return None
    lately, before = rate(slow.lately), rate(slow.before)
    parts = {"name": watched.cache.name, "rate": lately, "before": before}
    sentence = _("%(name)s logs %(rate)s slow commands, the day before %(before)s") % parts
    return notice(sentence, _("slow commands"), lately, "nodes", page_of(watched, "cache-slowlog"))


ADVICE = (work_refused, costly_commands, layout_storm, errors_rising, slow_log_growing)
