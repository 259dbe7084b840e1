"""What the services told last of caches, for pages: read from our tables, never from Google."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from collectors.cloud.models import CloudInstance
from collectors.cloud.service_facts import ServiceFacts
from collectors.cloud.snapshots import facts


@dataclass(frozen=True, slots=True)
class Service:
    """The instance in Google Cloud that a cache stands for. Its snapshot is left out: `facts` is what it says."""

    instance: CloudInstance
    facts: ServiceFacts


# Snapshots are large and change rarely: what one says is kept until the next, by the instance's id.
_kept: dict[int, tuple[datetime, ServiceFacts]] = {}


def services(cache_ids: Collection[int]) -> dict[int, Service]:
    """Return the service by cache id; caches that were not found in a project are missing."""
    if not cache_ids:
        return {}
    rows = CloudInstance.objects.filter(cache__in=cache_ids).select_related("project").defer("snapshot")
    found = {row.cache_id: row for row in rows if row.cache_id is not None}
    _read([row for row in found.values() if _kept.get(row.pk, (None,))[0] != row.changed_at])
    return {cache_id: Service(row, _kept[row.pk][1]) for cache_id, row in found.items() if row.pk in _kept}


def _read(rows: Collection[CloudInstance]) -> None:
    if not rows:
        return
    snapshots = dict(CloudInstance.objects.filter(pk__in=[row.pk for row in rows]).values_list("pk", "snapshot"))
    for row in rows:
        if row.pk in snapshots:
            _kept[row.pk] = row.changed_at, facts(row.product, snapshots[row.pk])
