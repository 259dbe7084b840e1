"""AUTH strings of Memorystore for Redis: fetched one by one, with a permission of their own."""

from __future__ import annotations

import time
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db.models import Q, QuerySet

from collectors.causes import Cause
from collectors.cloud.clients import Clients
from collectors.cloud.errors import CloudError, told
from collectors.cloud.products import Product
from fleet.models import Reach

if TYPE_CHECKING:
    from collectors.cloud.models import CloudInstance, CloudProject

# What was refused is asked for again after this time: permissions get granted.
AGAIN_SECONDS = 600.0
# What one discovery spends on them; the rest comes with the next one.
SECONDS = 30.0
# How servers answer to a password that is missing or was replaced.
WRONG = (Cause.PASSWORD_MISSING, Cause.PASSWORD_WRONG, Cause.USER_OR_PASSWORD_WRONG)


def fetch(clients: Clients, name: str) -> str:
    """Return the AUTH string of an instance. Raise CloudError."""
    client = clients.redis
    with told():
        answer = client.get_instance_auth_string(
            request={"name": name}, timeout=settings.CLOUD_CALL_TIMEOUT_SECONDS, retry=None
        )
    return str(answer.auth_string)


def wanted(project: CloudProject) -> QuerySet[CloudInstance]:
    """Return the instances whose caches have no AUTH string yet, or one that servers do not take any more."""
    lacking = Q(applied__password="") | Q(cache__nodes__status__failed_cause__in=WRONG)
    found = project.instances.present().filter(lacking, product=Product.REDIS, snapshot__auth_enabled=True)
    return found.filter(cache__isnull=False, applied__has_key="password").select_related("cache", "project").distinct()


class AuthStrings:
    """Fetches AUTH strings in one discovery; after a refusal it asks no more, and not again for a while."""

    def __init__(self, project: CloudProject, clients: Clients, now: datetime) -> None:
        self._clients, self._now, self._reach = clients, now, project.reach
        refusal: dict[str, Any] = project.state.get(Product.REDIS, {}).get("auth") or {}
        at = datetime.fromisoformat(refusal["at"]) if refusal else None
        self._until = time.monotonic() + SECONDS
        self.refusal = refusal if at and (now - at).total_seconds() < AGAIN_SECONDS else {}

    def of(self, name: str) -> str:
        """Return the AUTH string of an instance; "" where it is not to be had or not wanted."""
        if self.refusal or self._reach == Reach.SERVICE or time.monotonic() > self._until:
            return ""
        try:
            return fetch(self._clients, name)
        except CloudError as error:
            self.refusal = {"at": self._now.isoformat(), "cause": str(error.cause), "words": error.words}
            return ""
