"""Looking for what is in a project: ask the services, compare with what we knew, and see to the caches.

Only a complete answer makes an instance gone, and only when it is missing twice in a row: a region that cannot
be reached, an API that fails and a first empty answer delete nothing.
"""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone

from collectors.cloud import adoption, approval, authorities, collecting, taking_in
from collectors.cloud.auth_strings import AuthStrings
from collectors.cloud.auth_strings import wanted as wanted_auth_strings
from collectors.cloud.clients import Clients, clients_of
from collectors.cloud.listing import Listing, list_all
from collectors.cloud.models import Approve, CloudInstance, CloudProject, Decision, InstanceState
from collectors.cloud.products import Product
from collectors.cloud.round import Round

logger = logging.getLogger(__name__)
# Longer than the slowest discovery: until then nobody else looks.
LEASE = timedelta(seconds=180)
# The tasks that look who is due come at whole multiples of 15 s; a little early is no harm.
EARLY = timedelta(seconds=5)


def due() -> list[int]:
    """Return the projects that are to be looked into now."""
    return list(_due().filter(lease_until__lte=Now()).values_list("pk", flat=True))


def _due() -> Any:
    interval = F("interval_seconds") * timedelta(seconds=1)
    is_time = Q(discovered_at=None) | Q(discovered_at__lte=Now() + EARLY - interval)
    return CloudProject.objects.filter(is_time, is_paused=False)


def discover(project_id: int, is_asked: bool = False) -> bool:
    """Look into a project unless somebody else does; return whether it was done. Asked for, it does not wait."""
    rows = CloudProject.objects.filter(pk=project_id) if is_asked else _due().filter(pk=project_id)
    until = timezone.now() + LEASE
    if not rows.filter(lease_until__lte=Now()).update(lease_until=until):
        return False
    project = CloudProject.objects.get(pk=project_id)
    try:
        _look(project)
    finally:
        # Whoever took the lease after ours had ended keeps it.
        CloudProject.objects.filter(pk=project_id, lease_until=until).update(lease_until=Now())
    return True


def _look(project: CloudProject) -> None:
    clients = clients_of(project)
    products = [product for product in Product if project.wants(product)]
    listings = ask(clients, project.project_id, products)
    now = timezone.now()
    for listing in listings:
        _store(project, listing, now)
    authority = authorities.refresh(project, clients, now)
    strings = AuthStrings(project, clients, now)
    _see_to_caches(project, strings, now)
    state = {str(one.product): _state(project, one, now) for one in listings}
    if Product.REDIS in state:
        state[Product.REDIS]["auth"] = strings.refusal
    failed = {"cause": str(authority.cause), "words": authority.words} if authority else {}
    for product in (Product.REDIS_CLUSTER, Product.VALKEY):
        if product in state:
            state[product]["authority"] = failed
    CloudProject.objects.filter(pk=project.pk).update(state=state, discovered_at=now)
    if any(one.error is None for one in listings):
        collecting.wake(project, now, has_news=project.instances.filter(first_seen_at=now).exists())


def ask(clients: Clients, project_id: str, products: list[Product]) -> list[Listing]:
    """Return one listing a product, asked at the same time: a slow API delays no other."""
    if not products:
        return []
    with ThreadPoolExecutor(len(products), thread_name_prefix="listing") as pool:
        return list(pool.map(lambda product: list_all(clients, project_id, product), products))


def _state(project: CloudProject, listing: Listing, now: datetime) -> dict[str, Any]:
    """Return how a product's API answered, for the page and for the next discovery."""
    before = project.state.get(listing.product, {})
    ok = listing.error is None
    if listing.error and listing.error.cause != before.get("cause"):
        words = listing.error.words
        logger.warning("%s of %s: %s (%s)", listing.product.label, project.project_id, listing.error.cause, words)
    return {
        "at": now.isoformat(),
        "ok": ok,
        "cause": str(listing.error.cause) if listing.error else "",
        "words": listing.error.words if listing.error else "",
        "unreachable": sorted(listing.unreachable),
        "count": len(listing.seen) if ok else before.get("count", 0),
        "ok_at": now.isoformat() if ok else before.get("ok_at"),
        "failing_since": None if ok else before.get("failing_since") or now.isoformat(),
        "seconds": round(listing.seconds, 3),
    }


def _store(project: CloudProject, listing: Listing, now: datetime) -> None:
    with transaction.atomic():
        # Somebody may delete the project while we look.
        if CloudProject.objects.select_for_update().filter(pk=project.pk).exists():
            Round(project, listing, now).store()


def _see_to_caches(project: CloudProject, strings: AuthStrings, now: datetime) -> None:
    present = project.instances.present().select_related("cache", "project")
    adoption.notice_deleted()
    if project.approve != Approve.ASK:
        for instance in present.filter(decision=Decision.WAITING):
            if adoption.wants(project, instance.short_id, instance.snapshot.get("labels", {})):
                CloudInstance.objects.filter(pk=instance.pk).update(decision=Decision.APPROVED)
    for instance in present.filter(decision=Decision.APPROVED, cache=None).exclude(state=InstanceState.GONE):
        approval.try_to_make_cache(instance, strings, now)
    for instance in wanted_auth_strings(project):
        if auth_string := strings.of(instance.name):
            adoption.follow(instance, auth_string)
    busy = ~Q(state=InstanceState.UP) | Q(snapshot__has_key="maintenance_schedule") | Q(changed_at=now)
    for instance in present.filter(busy, cache__isnull=False):
        taking_in.take_in(instance, now)
