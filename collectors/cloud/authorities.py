"""The certificate authorities behind TLS of Redis Cluster and Valkey: asked for apart from the listing.

A new authority stands beside the old one for years before it signs, so that looking now and then is enough.
"""

from __future__ import annotations

import logging
import time
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.conf import settings

from collectors.cloud import adoption
from collectors.cloud.clients import Clients
from collectors.cloud.errors import CloudError, told
from collectors.cloud.models import Decision
from collectors.cloud.products import Product
from collectors.cloud.snapshots import AUTHORITY, facts_of

if TYPE_CHECKING:
    from collectors.cloud.models import CloudInstance, CloudProject

logger = logging.getLogger(__name__)
AGAIN = timedelta(hours=1)
# The service allows sixty calls a minute in a project, and the listing needs some of them.
AT_ONCE = 20
# What one discovery spends on them; the rest comes with the next one.
SECONDS = 30.0
# Product: client, and the method for an authority of one instance.
METHODS = {
    Product.REDIS_CLUSTER: ("redis_cluster", "get_cluster_certificate_authority"),
    Product.VALKEY: ("valkey", "get_certificate_authority"),
}
SHARED = "get_shared_regional_certificate_authority"


def refresh(project: CloudProject, clients: Clients, now: datetime) -> CloudError | None:
    """Bring the authorities of instances that have or get a cache up to date; return what went wrong, if anything."""
    until = time.monotonic() + SECONDS
    for instance in _due(project, now):
        if time.monotonic() > until:
            break
        try:
            found = fetch(clients, instance)
        except CloudError as error:
            logger.warning("The certificate authority of %s was not told: %s", instance.name, error)
            return error
        _keep(instance, found, now)
    return None


def _due(project: CloudProject, now: datetime) -> list[CloudInstance]:
    """Return those with TLS whose authority was not asked for in the last hour, at most a handful."""
    rows = project.instances.present().filter(product__in=list(METHODS), decision=Decision.APPROVED)
    rows = rows.filter(snapshot__transit_encryption_mode__endswith="SERVER_AUTHENTICATION")
    asked = dict(rows.values_list("pk", f"snapshot__{AUTHORITY}__at"))
    edge = (now - AGAIN).isoformat()
    due = [pk for pk, at in asked.items() if not at or at < edge]
    return list(project.instances.filter(pk__in=due[:AT_ONCE]).select_related("cache", "project"))


def fetch(clients: Clients, instance: CloudInstance) -> list[str]:
    """Return the certificates that sign for an instance's servers, as PEM. Raise CloudError."""
    mode = facts_of(instance).ca_mode
    if mode == "customer":
        return []
    attribute, method = METHODS[Product(instance.product)]
    name = f"{instance.name}/certificateAuthority"
    if mode == "shared":
        place = instance.name.partition(f"/locations/{instance.region}")
        method, name = SHARED, f"{place[0]}{place[1]}/sharedRegionalCertificateAuthority"
    client = getattr(clients, attribute)
    with told():
        answer = getattr(client, method)(
            request={"name": name}, timeout=settings.CLOUD_CALL_TIMEOUT_SECONDS, retry=None
        )
    return [pem for chain in answer.managed_server_ca.ca_certs for pem in chain.certificates]


def _keep(instance: CloudInstance, found: list[str], now: datetime) -> None:
    before: dict[str, Any] = instance.snapshot.get(AUTHORITY, {})
    instance.snapshot = {**instance.snapshot, AUTHORITY: {"certificates": found, "at": now.isoformat()}}
    changed = before.get("certificates") != found
    instance.changed_at = now if changed else instance.changed_at
    instance.save(update_fields=("snapshot", "changed_at"))
    if changed:
        adoption.follow(instance)
