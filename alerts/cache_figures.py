"""Figures of whole caches: what the last key scan found, and how far switches let applications in.

They are known as they are now, so that rules read their newest value alone, and judge the cache.
"""

from collections.abc import Collection
from datetime import datetime
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

from alerts.spec import ADMITTED_METRIC, OFF_METRIC
from collectors.keyscan import metrics as scanned
from switches import standing

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

OF_SWITCHES: dict[str, tuple[str, "StrOrPromise"]] = {
    ADMITTED_METRIC: ("ratio", _("Share of applications that may use the cache, by its switch.")),
    OFF_METRIC: ("seconds", _("Time since a switch has kept all applications off the cache; 0 while it lets some in.")),
}
FIGURES: dict[str, tuple[str, "StrOrPromise"]] = {**scanned.CATALOGUE, **OF_SWITCHES}


def read(cache_ids: Collection[int], at: datetime) -> dict[int, dict[str, float]]:
    """Return the figures of each cache by name; one without a scan, or without a switch, has none of that kind."""
    found = scanned.read(list(cache_ids), at)
    for cache_id, state in standing.of_caches(cache_ids, at).items():
        found.setdefault(cache_id, {}).update({ADMITTED_METRIC: state.admitted_ratio, OFF_METRIC: state.off_seconds})
    return found
