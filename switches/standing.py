"""Questions of others: which caches are out of service on purpose, and which switches want somebody's eye."""

from collections.abc import Collection

from switches.models import Switch


def switched_off(cache_ids: Collection[int]) -> dict[int, str]:
    """Return, by cache, the key of a switch that keeps applications off it.

    A cache that another switch still sends readers to is in service.
    """
    rows = Switch.objects.in_use().filter(cache_now__in=cache_ids).order_by("key")
    found = list(rows.values_list("cache_now_id", "percent", "key"))
    in_service = {cache_id for cache_id, percent, _key in found if percent}
    return {cache_id: key for cache_id, _percent, key in reversed(found) if cache_id not in in_service and cache_id}
