"""Findings about the keys: what the newest scan says, and when one would help."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext as _

from collectors.keyscan import metrics
from collectors.keyscan.models import ScanMetric
from dashboard.findings.finding import Finding, notice
from dashboard.findings.memory import memory_full, will_evict
from dashboard.scans.naming import masked
from dashboard.templatetags.units import percent
from dashboard.watched import Watched

HEAVY_FAMILY = 0.4
# A scan says little about the memory of today when it is older.
FRESH = timedelta(days=7)


def heavy_family(watched: Watched) -> Finding | None:
    """One family of keys that holds much of the memory, by the newest complete scan."""
    found = newest(watched)
    if found is None or found.value < HEAVY_FAMILY:
        return None
    prefix = str(found.detail.get("prefix", ""))
    # A finding has many readers: where some must not see ids, none does here.
    shown = masked(prefix.encode()) if settings.MASK_KEY_NAMES else prefix
    sentence = _("%(prefix)s* holds %(share)s of the memory of all keys, by the last scan") % {
        "prefix": shown.rstrip("*"),
        "share": percent(found.value),
    }
    url = reverse("scan", args=[found.scan_id])
    return notice(sentence, _("one family of keys"), percent(found.value), "memory", url)


def worth_a_scan(watched: Watched) -> Finding | None:
    """Memory that is filling up, and no scan to say by what."""
    if newest(watched) is not None or not (memory_full(watched) or will_evict(watched)):
        return None
    sentence = _("A scan of the keys of %(name)s would tell what fills its memory") % {"name": watched.cache.name}
    return notice(sentence, _("scan the keys"), "", "memory", reverse("cache-scans", args=[watched.cache.name]))


def newest(watched: Watched) -> ScanMetric | None:
    """Return the share of the heaviest family, if a scan found it lately."""
    if watched.cache.pk is None:
        return None
    fresh = ScanMetric.objects.filter(cache=watched.cache, at__gte=watched.now - FRESH)
    return fresh.filter(name=metrics.HEAVIEST_PREFIX).first()


ADVICE = (heavy_family, worth_a_scan)
