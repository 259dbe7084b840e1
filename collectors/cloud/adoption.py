"""Caches of found instances: making them, keeping them up to the service, and what becomes of them when it goes.

Fields that a person changed are left alone: a field is ours as long as it says what we set it to last.
"""

import logging
from collections.abc import Mapping
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any

from django.db import connection, transaction
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.crypto import salted_hmac

from collectors import events, topology
from collectors.cloud import taking_in
from collectors.cloud.models import Approve, CloudInstance, CloudProject, Decision
from collectors.cloud.naming import address_of, fields_of, free_name
from collectors.cloud.service_facts import ServiceFacts
from collectors.cloud.snapshots import facts_of
from collectors.event import Event, Kind
from fleet import registration
from fleet.models import Cache
from fleet.secrets import Secret, SecretUnreadableError

logger = logging.getLogger(__name__)


def wants(project: CloudProject, short_id: str, labels: Mapping[str, str]) -> bool:
    """Return whether an instance becomes a cache without anybody being asked."""
    if project.approve != Approve.RULE:
        return project.approve == Approve.ALL
    patterns = project.approve_names.split()
    return (
        bool(patterns or project.approve_labels)
        and all(labels.get(key) == value for key, value in project.approve_labels.items())
        and (not patterns or any(fnmatchcase(short_id, pattern) for pattern in patterns))
    )


def others(instance: CloudInstance) -> QuerySet[CloudInstance]:
    """Return the rows of the same instance in other projects, those first that have the cache."""
    rows = CloudInstance.objects.same_as(instance).exclude(project=instance.project_id)
    return rows.select_related("project", "cache").order_by(F("cache").asc(nulls_last=True), "pk")


def same_elsewhere(instance: CloudInstance) -> CloudInstance | None:
    """Return the row of another project that has the cache of the same instance."""
    return others(instance).filter(cache__isnull=False).first()


def decided_elsewhere(instance: CloudInstance) -> str:
    """Return what was decided on the same instance in another project, "" where nothing was."""
    return others(instance).exclude(decision=Decision.WAITING).values_list("decision", flat=True).first() or ""


def notice_deleted() -> None:
    """A cache that somebody deleted stays deleted, whichever project sees its instance."""
    for row in CloudInstance.objects.present().filter(decision=Decision.APPROVED, cache=None).exclude(applied={}):
        CloudInstance.objects.same_as(row).filter(cache=None).update(decision=Decision.IGNORED)


def same_address(facts: ServiceFacts) -> Cache | None:
    """Return the cache that somebody registered by hand for what this instance is."""
    address = address_of(facts)
    _, _, place = address.partition("://")
    near = Cache.objects.filter(cloud=None, address__contains=place) if place else Cache.objects.none()
    return next(
        (one for one in near.order_by("pk") if place in {part.text.partition("://")[2] for part in one.seeds()}), None
    )


def adopt(instance: CloudInstance, now: datetime, auth_string: str = "", reach: str = "") -> Cache | None:
    """Give an approved instance its cache; return it, None where it has no address yet or another row has it.

    Raise ValidationError where the service says something that no cache can have.
    """
    facts = facts_of(instance)
    if not address_of(facts):
        return None
    with transaction.atomic(), connection.cursor() as cursor:
        # Two projects may see the same instance at the same moment.
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('cloud-adoption'))")
        instance = CloudInstance.objects.select_for_update(of=("self",)).select_related("project").get(pk=instance.pk)
        if instance.cache_id or same_elsewhere(instance):
            return None
        said = fields_of(instance, facts, bool(auth_string))
        known = same_address(facts)
        instance.cache = known or _made(instance, said | ({"reach": reach} if reach else {}), auth_string)
        instance.applied = _ours(instance.cache, {**said, "password": digest(auth_string) if auth_string else ""})
        instance.decision = Decision.APPROVED
        instance.save(update_fields=("cache", "applied", "decision"))
        others(instance).filter(decision=Decision.WAITING).update(decision=Decision.APPROVED)
        note(instance, "joined" if known else "found", now)
        taking_in.take_in(instance, now)
    return instance.cache


def _ours(cache: Cache, said: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that say what the service says; the others are somebody's wish."""
    return {key: value for key, value in said.items() if _held(cache, key) == value}


def _made(instance: CloudInstance, said: Mapping[str, Any], auth_string: str) -> Cache:
    taken = set(Cache.objects.values_list("name", flat=True))
    name = free_name(instance, instance.project, taken)
    cache = registration.register({**said, "name": name, "password": auth_string})
    Cache.objects.filter(pk=cache.pk).update(is_demo=instance.project.is_demo)
    cache.is_demo = instance.project.is_demo
    return cache


def follow(instance: CloudInstance, auth_string: str = "") -> None:
    """Bring the cache up to what the service says now, where nobody said otherwise."""
    cache = instance.cache
    if cache is None:
        return
    said = fields_of(instance, facts_of(instance), bool(auth_string or cache.password))
    if auth_string:
        said["password"] = digest(auth_string)
    changes = dict(_changes(instance, cache, said))
    values = {key: Secret.of(auth_string) if key == "password" else value for key, value in changes.items()}
    with transaction.atomic():
        if values and not Cache.objects.filter(pk=cache.pk, revision=cache.revision).update(
            **values, revision=F("revision") + 1
        ):
            # Somebody saved it at this very moment: the next look does it.
            CloudInstance.objects.filter(pk=instance.pk).update(fingerprint="")
            return
        instance.applied = {key: said.get(key, value) for key, value in instance.applied.items()}
        CloudInstance.objects.filter(pk=instance.pk).update(applied=instance.applied)
        if values:
            cache.refresh_from_db()
        if "address" in values:
            events.begin_anew(cache)
            topology.retire_unanswered(cache, timezone.now())


def _changes(instance: CloudInstance, cache: Cache, said: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the fields to set, with their values."""
    changes: list[tuple[str, Any]] = []
    for key, value in said.items():
        if key not in instance.applied:
            continue
        before, held = instance.applied[key], _held(cache, key)
        wanted = merged(before, held, value) if key == "labels" else value
        # An address that is not told any more is kept: the nodes may answer still.
        if wanted != held and (key == "labels" or held == before) and (wanted or key != "address"):
            changes.append((key, wanted))
    return changes


def merged(before: Mapping[str, str], held: Mapping[str, str], said: Mapping[str, str]) -> dict[str, str]:
    """Return labels with those that are ours brought up to date, and those of people as they are."""
    ours = {key for key in {*before, *said} if held.get(key) == before.get(key)}
    kept = {key: value for key, value in held.items() if key not in ours}
    return {**kept, **{key: value for key, value in said.items() if key in ours}}


def _held(cache: Cache, field: str) -> Any:
    """Return what a cache holds in a field, as it is compared with `applied`."""
    if field != "password":
        return getattr(cache, field)
    try:
        plain = cache.password.reveal()
    except SecretUnreadableError:
        return None
    return digest(plain) if plain else ""


def digest(password: str) -> str:
    """Return what tells whether a password is still ours, and nothing else about it."""
    return salted_hmac("collectors.cloud.adoption", password).hexdigest()


def part(instance: CloudInstance, now: datetime) -> None:
    """The service does not list it any more: its cache is paused and keeps its history.

    Polling it would page people for what was deleted on purpose; the event and the finding tell the others.
    """
    cache = instance.cache
    if cache is None:
        return
    Event.objects.filter(cache=cache, kind=Kind.SERVICE, until=None).update(until=now)
    if not cache.is_paused:
        Cache.objects.filter(pk=cache.pk).update(is_paused=True, revision=F("revision") + 1)
        cache.refresh_from_db()
        instance.applied = {**instance.applied, "is_paused": True}
        CloudInstance.objects.filter(pk=instance.pk).update(applied=instance.applied)
    note(instance, "gone", now)


def resume(instance: CloudInstance, what: str, now: datetime) -> None:
    """The service lists it again, or another one under its name: what we paused goes on."""
    cache = instance.cache
    if cache is None:
        return
    if cache.is_paused and instance.applied.get("is_paused"):
        Cache.objects.filter(pk=cache.pk).update(is_paused=False, revision=F("revision") + 1)
        cache.refresh_from_db()
    instance.applied = {key: value for key, value in instance.applied.items() if key != "is_paused"}
    CloudInstance.objects.filter(pk=instance.pk).update(applied=instance.applied)
    note(instance, what, now)


def hand_over(old: CloudInstance, new: CloudInstance) -> bool:
    """Let another row of the same instance, or the next instance of its name, have the cache.

    Return False where another project's look was quicker.
    """
    cache, applied = old.cache, old.applied
    if not CloudInstance.objects.filter(pk=old.pk, cache=cache).update(cache=None, applied={}):
        return False
    old.cache, old.applied = None, {}
    new.cache, new.applied, new.decision = cache, applied, old.decision
    CloudInstance.objects.filter(pk=new.pk).update(cache=cache, applied=applied, decision=new.decision)
    return True


def pass_on(instance: CloudInstance, since: datetime | None = None) -> CloudInstance | None:
    """Let another project that sees the same instance have its cache; return its row, None where there is none.

    With `since`, one that saw it then or later: what it saw before may be gone there, too.
    """
    seen = others(instance).filter(gone_at=None, cache=None)
    heir = (seen.filter(seen_at__gte=since) if since else seen).order_by("-seen_at").first()
    if heir is None or not hand_over(instance, heir):
        return None
    # At its next look the cache takes over what that project says of labels and reach.
    CloudInstance.objects.filter(pk=heir.pk).update(fingerprint="")
    return heir


def take_over(instance: CloudInstance, other: CloudInstance, now: datetime) -> None:
    """Have the cache that another project's row keeps paused, since that project does not see the instance any more."""
    with transaction.atomic():
        if hand_over(other, instance):
            resume(instance, "returned", now)
            follow(instance)


def note(instance: CloudInstance, what: str, now: datetime) -> None:
    """Write an event: found, joined, gone, returned, recreated or renamed."""
    data = {"what": what, "product": instance.product, "instance": instance.short_id, "region": instance.region}
    data["project"] = instance.project.project_id
    Event.objects.create(cache=instance.cache, kind=Kind.CLOUD, at=now, data=data)
