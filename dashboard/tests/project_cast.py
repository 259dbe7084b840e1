"""Projects with instances for pages, as discovery left them; nothing is asked."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from collectors.cloud.models import CloudInstance, CloudProject, Decision, InstanceState
from collectors.cloud.products import Product
from fleet.models import Cache

REDIS: dict[str, Any] = {"state": "READY", "host": "10.0.0.3", "port": 6379, "tier": "STANDARD_HA", "memory_size_gb": 5}


def project(project_id: str = "shop-prod", **fields: Any) -> CloudProject:
    """A project whose APIs answered half a minute ago."""
    at = timezone.now() - timedelta(seconds=30)
    given = {"discovered_at": at, "state": {product: answered() for product in Product.values}}
    return CloudProject.objects.create(project_id=project_id, **given | fields)


def answered(cause: str = "", words: str = "", **told: Any) -> dict[str, Any]:
    """Return what is kept of an answer; with a cause, of a failure."""
    at = (timezone.now() - timedelta(seconds=30)).isoformat()
    times = {"at": at, "ok_at": at, "failing_since": at if cause else None}
    return {"ok": not cause, "cause": cause, "words": words, "unreachable": [], "count": 1, **times, **told}


def instance(of: CloudProject, short_id: str = "carts", cache: Cache | None = None, **fields: Any) -> CloudInstance:
    name = f"projects/{of.project_id}/locations/asia-northeast1/instances/{short_id}"
    given: dict[str, Any] = {
        "product": Product.REDIS,
        "name": name,
        "uid": "u-1",
        "region": "asia-northeast1",
        "snapshot": {"name": name, **REDIS},
        "state": InstanceState.UP,
        "state_name": "READY",
        "decision": Decision.APPROVED if cache else Decision.WAITING,
    }
    return CloudInstance.objects.create(project=of, short_id=short_id, cache=cache, **given | fields)
