"""Caches with an instance in Google Cloud behind them, as discovery leaves them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from collectors.cloud import taking_in
from collectors.cloud.models import CloudInstance, CloudProject, Decision
from collectors.cloud.snapshots import facts
from fleet.models import Cache

WINDOW = {"day": "TUESDAY", "start_time": {"hours": 22}}
VALKEY: dict[str, Any] = {
    "name": "projects/shop-prod/locations/europe-west1/instances/carts",
    "uid": "u-1",
    "state": "ACTIVE",
    "mode": "CLUSTER",
    "node_type": "HIGHMEM_MEDIUM",
    "node_config": {"size_gb": 13},
    "shard_count": 3,
    "replica_count": 1,
    "engine_version": "VALKEY_8_0",
    "authorization_mode": "IAM_AUTH",
    "transit_encryption_mode": "SERVER_AUTHENTICATION",
    "maintenance_policy": {"weekly_maintenance_window": [WINDOW]},
}
REDIS: dict[str, Any] = {
    "name": "projects/shop-prod/locations/europe-west1/instances/sessions",
    "state": "READY",
    "tier": "STANDARD_HA",
    "memory_size_gb": 5,
    "redis_version": "REDIS_7_2",
    "host": "10.0.0.3",
    "port": 6379,
    "location_id": "europe-west1-b",
    "auth_enabled": True,
    "transit_encryption_mode": "DISABLED",
}
MEMCACHED: dict[str, Any] = {
    "name": "projects/shop-prod/locations/europe-west1/instances/pages",
    "state": "READY",
    "node_count": 2,
    "node_config": {"cpu_count": 2, "memory_size_mb": 4096},
    "memcache_full_version": "memcached-1.6.15",
}
SNAPSHOTS = {"valkey": VALKEY, "redis": REDIS, "memcached": MEMCACHED}


def in_cloud(cache: Cache, product: str = "valkey", days: float = 1, **changes: Any) -> CloudInstance:
    """Give a cache an instance whose snapshot changed last some days ago; None takes a field away."""
    project, _ = CloudProject.objects.get_or_create(project_id="shop-prod")
    snapshot = {name: value for name, value in (SNAPSHOTS[product] | changes).items() if value is not None}
    found, now = facts(product, snapshot), timezone.now()
    instance = CloudInstance.objects.create(
        project=project,
        product=product,
        name=snapshot["name"],
        uid=snapshot.get("uid", cache.name),
        region="europe-west1",
        short_id=snapshot["name"].rpartition("/")[2],
        snapshot=snapshot,
        state=found.state,
        state_name=found.state_name,
        cache=cache,
        decision=Decision.APPROVED,
        changed_at=now - timedelta(days=days),
    )
    taking_in.take_in(instance, now)
    return instance


def iso(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")
