"""Findings about memory and its limit."""

from __future__ import annotations

from django.utils.translation import gettext as _

from collectors.latest import CacheLatest
from dashboard.findings.finding import (
    Finding,
    State,
    page_of,
    points_above_siblings,
    ranked,
    siblings_mean,
    state_of,
    subject,
)
from dashboard.templatetags.units import bytes_size, duration, percent, rate
from dashboard.watched import Watched, WatchedNode

FULL_WARNING, FULL_CRITICAL = 0.8, 0.95
# A forecast is shown where the level is past this floor and the line fits the last hour.
FORECAST_FLOOR, FORECAST_FIT, FORECAST_HOURS = 0.5, 0.7, 48
# Uneven memory is a finding of its own where one shard is this full and this far above its siblings.
UNEVEN_LEVEL, UNEVEN_WARNING = 0.5, 0.15


def memory_full(watched: Watched) -> Finding | None:
    """Memory near its limit, or on the way there. Does not apply to servers that evict or have no limit."""
    ranking = ranked((node for node in watched.nodes if not node.evicts), lambda node: node.value("memory_used_ratio"))
    if not ranking:
        return None
    level, node = ranking[0]
    full_in = seconds_until_full(level, node)
    if level < FULL_WARNING and full_in is None:
        return None
    points = points_above_siblings(ranking)
    sentence = memory_sentence(level, points, full_in) % {
        "name": subject(watched, node),
        "level": percent(level),
        "points": round(points * 100) if points else 0,
        "time": duration(full_in) if full_in else "",
    }
    return Finding(state_of(level, FULL_CRITICAL), sentence, _("memory %s") % percent(level), percent(level), "memory")


def memory_sentence(level: float, points: float | None, full_in: float | None) -> str:
    if points and full_in:
        return _(
            "%(name)s uses %(level)s of maxmemory, %(points)s points more than its siblings;"
            " at this rate it is full in %(time)s"
        )
    if full_in:
        return _("%(name)s uses %(level)s of maxmemory; at this rate it is full in %(time)s")
    if points:
        return _("%(name)s uses %(level)s of maxmemory, %(points)s points more than its siblings")
    return _("%(name)s uses %(level)s of maxmemory")


def seconds_until_full(level: float, node: WatchedNode) -> float | None:
    """Return when memory is full at the rate of the last hour; None without a clear, near trend."""
    growth, fit, used = (
        node.value(name) for name in ("memory_growth_bytes_per_second", "memory_growth_fit", "used_memory")
    )
    if not growth or growth <= 0 or (fit or 0) < FORECAST_FIT or level < FORECAST_FLOOR or not used:
        return None
    seconds = (used / level - used) / growth
    return seconds if 0 < seconds < FORECAST_HOURS * 3600 else None


def memory_uneven(watched: Watched) -> Finding | None:
    """One shard much fuller than the others. Silent where memory_full says so already."""
    ranking = ranked(watched.primaries(), lambda node: node.value("memory_used_ratio"))
    mean = siblings_mean(ranking)
    if mean is None or ranking[0][0] < UNEVEN_LEVEL or ranking[0][0] - mean < UNEVEN_WARNING or memory_full(watched):
        return None
    level, node = ranking[0]
    sentence = _("%(name)s uses %(level)s of maxmemory, %(points)s points more than its siblings") % {
        "name": subject(watched, node),
        "level": percent(level),
        "points": round((level - mean) * 100),
    }
    page = page_of(watched, "cache-balance")
    return Finding(State.WARNING, sentence, _("uneven memory"), percent(level), "memory-share", url=page)


def may_be_uneven(latest: CacheLatest) -> bool:
    """Whether the fullest node is so far above the mean that memory_uneven may apply."""
    level, used, limit = latest.memory_used_ratio, latest.used_memory, latest.memory_limit_bytes
    if not level or not used or not limit or level < UNEVEN_LEVEL:
        return False
    # The mean holds the fullest itself: of two shards it lies half way between them.
    return level - used / limit >= UNEVEN_WARNING / 2


def will_evict(watched: Watched) -> Finding | None:
    """Memory that will be full soon, where keys are then evicted by design. Silent once they are."""

    def full_in(node: WatchedNode) -> float | None:
        level = node.value("memory_used_ratio")
        return seconds_until_full(level, node) if level and node.evicts else None

    soonest = ranked(watched.nodes, full_in)[-1:]
    if not soonest or evictions(watched):
        return None
    seconds, node = soonest[0]
    level = percent(node.value("memory_used_ratio"))
    parts = {"name": subject(watched, node), "level": level, "time": duration(seconds)}
    sentence = _("%(name)s uses %(level)s of maxmemory; at this rate it begins to evict keys in %(time)s") % parts
    return Finding(State.NOTICE, sentence, _("evicts soon"), duration(seconds), "memory")


def evictions(watched: Watched) -> Finding | None:
    """Keys dropped for lack of room; only worth a note, since such a cache was told to do so."""
    evicted = watched.latest.evicted_keys_per_second if watched.latest else None
    if not evicted:
        return None
    sentence = _("%(name)s evicts keys to make room, %(rate)s") % {"name": watched.cache.name, "rate": rate(evicted)}
    return Finding(State.NOTICE, sentence, _("evicting"), rate(evicted), "keys")


def no_limit(watched: Watched) -> Finding | None:
    """No memory limit and nothing evicted: the server grows until the machine is full."""
    bare = [
        node for node in watched.primaries() if node.value("maxmemory") == 0 and node.value("memory_used_ratio") is None
    ]
    if not bare or watched.cache.other_memory_limit:
        return None
    used = [level for node in bare if (level := node.value("used_memory")) is not None]
    sentence = _("%(name)s sets no maxmemory: it may grow until its machine is full") % {
        "name": subject(watched, bare[0])
    }
    return Finding(State.NOTICE, sentence, _("no memory limit"), bytes_size(max(used)) if used else "", "memory")
