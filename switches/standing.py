"""Questions of others: which caches are out of service on purpose, and which switches want somebody's eye."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from switches.models import Switch


@dataclass(frozen=True, slots=True)
class Standing:
    """How many applications may use a cache, and for how long none may; one that several switches stand for is as open
    as the most open of them."""

    admitted_ratio: float
    off_seconds: float


def of_caches(cache_ids: Collection[int], at: datetime) -> dict[int, Standing]:
    """Return how each of the caches stands that a switch points at."""
    rows = Switch.objects.in_use().filter(cache_now__in=cache_ids).values_list("cache_now_id", "percent", "stepped_at")
    by_cache: dict[int, list[tuple[int, datetime]]] = defaultdict(list)
    for cache_id, percent, stepped_at in rows:
        by_cache[cache_id or 0].append((percent, stepped_at))
    return {cache_id: _standing(states, at) for cache_id, states in by_cache.items()}


def _standing(states: Collection[tuple[int, datetime]], at: datetime) -> Standing:
    most = max(percent for percent, _since in states)
    seconds = 0.0 if most else min((at - since).total_seconds() for _percent, since in states)
    return Standing(most / 100, max(0.0, seconds))


def switched_off(cache_ids: Collection[int]) -> dict[int, str]:
    """Return, by cache, the key of a switch that keeps applications off it.

    A cache that another switch still sends readers to is in service.
    """
    rows = Switch.objects.in_use().filter(cache_now__in=cache_ids).order_by("key")
    found = list(rows.values_list("cache_now_id", "percent", "key"))
    in_service = {cache_id for cache_id, percent, _key in found if percent}
    return {cache_id: key for cache_id, _percent, key in reversed(found) if cache_id not in in_service and cache_id}
