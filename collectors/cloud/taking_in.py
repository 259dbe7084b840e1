"""What follows for a cache from a look at its instance: published limits, and events about what Google does to it."""

from datetime import datetime

from collectors.cloud import limits, upkeep
from collectors.cloud.models import CloudInstance
from collectors.cloud.snapshots import facts_of
from fleet.models import Cache


def take_in(instance: CloudInstance, now: datetime) -> None:
    """Bring the cache of an instance up to its snapshot. Doing it again changes nothing."""
    if instance.cache is None:
        return
    found = facts_of(instance)
    published = limits.of(found)
    given = {"service_memory_bytes": published.writable_bytes, "service_maxclients": published.maxclients}
    if any(getattr(instance.cache, name) != value for name, value in given.items()):
        # Beside the revision that people's edits compare: nobody edits these.
        Cache.objects.filter(pk=instance.cache.pk).update(**given)
        for name, value in given.items():
            setattr(instance.cache, name, value)
    upkeep.note(instance.cache, found, now)
