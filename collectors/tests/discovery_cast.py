"""An emulated Google Cloud to discover things in."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from google.cloud import memcache_v1, memorystore_v1, redis_cluster_v1, redis_v1

from collectors.cloud import discovery
from collectors.cloud.models import Approve, CloudInstance, CloudProject
from collectors.cloud.products import Product
from demo.cloud.emulator import Emulator

PROJECT, REGION = "shop-prod", "asia-northeast1"
BORN = datetime(2026, 1, 10, tzinfo=UTC)
KINDS = {
    Product.REDIS: redis_v1.Instance,
    Product.REDIS_CLUSTER: redis_cluster_v1.Cluster,
    Product.VALKEY: memorystore_v1.Instance,
    Product.MEMCACHED: memcache_v1.Instance,
}
# What a message says unless a test says otherwise: an instance of each product that can be reached.
PLAIN: dict[Product, dict[str, Any]] = {
    Product.REDIS: {"state": "READY", "host": "10.0.0.3", "port": 6379, "tier": "BASIC", "memory_size_gb": 1},
    Product.REDIS_CLUSTER: {
        "state": "ACTIVE",
        "uid": "u-cluster",
        "shard_count": 3,
        "authorization_mode": "AUTH_MODE_DISABLED",
        "transit_encryption_mode": "TRANSIT_ENCRYPTION_MODE_DISABLED",
        "discovery_endpoints": [{"address": "10.0.1.3", "port": 6379}],
    },
    Product.VALKEY: {
        "state": "ACTIVE",
        "uid": "u-valkey",
        "mode": "CLUSTER",
        "shard_count": 3,
        "authorization_mode": "AUTH_DISABLED",
        "transit_encryption_mode": "TRANSIT_ENCRYPTION_DISABLED",
        "discovery_endpoints": [{"address": "10.0.2.3", "port": 6379}],
    },
    Product.MEMCACHED: {"state": "READY", "node_count": 2, "discovery_endpoint": "10.0.3.3:11211"},
}


def name_of(product: Product, short_id: str, region: str = REGION, project: str = PROJECT) -> str:
    collection = "clusters" if product is Product.REDIS_CLUSTER else "instances"
    return f"projects/{project}/locations/{region}/{collection}/{short_id}"


@dataclass
class Estate:
    """The emulator, and how to look into it."""

    emulator: Emulator

    def project(self, project_id: str = PROJECT, **fields: Any) -> CloudProject:
        given = {"approve": Approve.ALL, "endpoint": self.emulator.address} | fields
        return CloudProject.objects.create(project_id=project_id, **given)

    def add(self, product: Product, short_id: str = "carts", region: str = REGION, **fields: Any) -> str:
        """Add an instance, or replace the one of its name; return its name."""
        name = fields.pop("name", "") or name_of(product, short_id, region)
        given = {"create_time": BORN, **PLAIN[product], **fields}
        self.emulator.instances.add(product, KINDS[product](name=name, **given))
        return name

    def remove(self, product: Product, short_id: str = "carts") -> None:
        self.emulator.instances.remove(product, name_of(product, short_id))

    def look(self, project: CloudProject, times: int = 1) -> CloudProject:
        for _ in range(times):
            assert discovery.discover(project.pk, is_asked=True)
        project.refresh_from_db()
        return project


@contextmanager
def estate() -> Iterator[Estate]:
    emulator = Emulator(delay=0).start()
    try:
        yield Estate(emulator)
    finally:
        emulator.stop()


def only(product: Product = Product.REDIS) -> CloudInstance:
    """Return the only instance of a product that is there at present."""
    return CloudInstance.objects.present().select_related("cache", "project").get(product=product)
