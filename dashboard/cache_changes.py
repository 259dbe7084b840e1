"""Adding, changing and removing caches, with the audit: what the form, the API and the command do."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone

from accounts.models import AuditEntry, User
from collectors import events, probe, topology
from collectors.memcached import plugin, plugin_settings
from fleet import registration
from fleet.locking import locked
from fleet.models import Cache
from fleet.registration import FIELDS, SECRET_FIELDS

# A connection can be tried before the cache has a name.
NAMELESS = "untitled"
# Shown as "changed" in the audit: secrets, and texts too long to be read there.
UNTOLD = {*SECRET_FIELDS, "ca_bundle", "client_certificate"}


def add(by: User | None, given: Mapping[str, Any]) -> tuple[Cache, probe.Discovery]:
    """Register a cache and look what is there; return both.

    Raise ValidationError or ConflictError as fleet.registration does.
    """
    with transaction.atomic():
        cache = registration.register(given)
        mysql = plugin_settings.settle(cache, given)
        AuditEntry.record(by, "cache.add", cache.name, address=cache.address, **mysql)
    if mysql:
        plugin.look(cache.pk, timezone.now())
    return cache, probe.discover(cache)


def change(by: User, cache: Cache, given: Mapping[str, Any], revision: int) -> tuple[Cache, probe.Discovery | None]:
    """Save the given fields; return the cache as it is now, and what was found where the address changed.

    Raise ValidationError or ConflictError as fleet.registration does.
    """
    with transaction.atomic():
        changed = registration.change(cache, given, revision)
        mysql = plugin_settings.settle(changed, given)
        told = differences(cache, changed) | mysql
        if told:
            AuditEntry.record(by, "cache.change", changed.name, **told)
        if "address" in told:
            events.begin_anew(changed)
            topology.retire_unanswered(changed, timezone.now())
    if mysql:
        plugin.look(changed.pk, timezone.now())
    return changed, probe.discover(changed) if "address" in told else None


def delete(by: User, cache: Cache) -> None:
    with transaction.atomic():
        locked(cache).delete()
        AuditEntry.record(by, "cache.delete", cache.name, address=cache.address)


def try_connection(cache: Cache, given: Mapping[str, Any]) -> list[probe.StepResult]:
    """Test the cache as it would be with the given fields, saving nothing.

    Raise ValidationError as fleet.registration does.
    """
    named = {**given, "name": given.get("name") or NAMELESS}
    draft = registration.drafted(cache, named)
    mysql = plugin_settings.tried(draft, given)
    return [*probe.test_connection(draft), *mysql]


def differences(before: Cache, after: Cache) -> dict[str, str]:
    """Return the changed fields with a text that holds no secret."""
    pairs = {field: (getattr(before, field), getattr(after, field)) for field in FIELDS}
    changed = {field: (old, new) for field, (old, new) in pairs.items() if stored(old) != stored(new)}
    return {field: "changed" if field in UNTOLD else f"{old} -> {new}" for field, (old, new) in changed.items()}


def stored(value: Any) -> Any:
    return getattr(value, "stored", value)
