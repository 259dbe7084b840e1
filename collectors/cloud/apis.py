"""The APIs of Google that are asked, with the permission and the least role that each call needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

from collectors.cloud.products import Product

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


@dataclass(frozen=True, slots=True)
class Api:
    """One call: the service that must be enabled, the permission, and the role that grants it with the least else.

    Where no ready-made role is narrow, the role is one of the project's own with this permission alone.
    """

    key: str
    label: StrOrPromise
    service: str
    permission: str
    role: str
    # What works without it.
    is_optional: bool = False

    @property
    def is_own_role(self) -> bool:
        return not self.role.startswith("roles/")


LISTS = {
    Product.REDIS: Api(
        "redis", Product.REDIS.label, "redis.googleapis.com", "redis.instances.list", "roles/redis.viewer"
    ),
    Product.REDIS_CLUSTER: Api(
        "redis-cluster",
        Product.REDIS_CLUSTER.label,
        "redis.googleapis.com",
        "redis.clusters.list",
        "roles/redis.viewer",
    ),
    Product.VALKEY: Api(
        "valkey",
        Product.VALKEY.label,
        "memorystore.googleapis.com",
        "memorystore.instances.list",
        "roles/memorystore.viewer",
    ),
    Product.MEMCACHED: Api(
        "memcached",
        Product.MEMCACHED.label,
        "memcache.googleapis.com",
        "memcache.instances.list",
        "roles/memcache.viewer",
    ),
}
METRICS = Api(
    "metrics",
    _("Cloud Monitoring"),
    "monitoring.googleapis.com",
    "monitoring.timeSeries.list",
    "roles/monitoring.viewer",
)
AUTH = Api(
    "auth",
    _("AUTH strings of Redis"),
    "redis.googleapis.com",
    "redis.instances.getAuthString",
    "shardwatchAuthStrings",
    is_optional=True,
)
AUTHORITIES = {
    Product.REDIS_CLUSTER: Api(
        "redis-cluster-ca",
        _("Certificate authorities of Redis Cluster"),
        "redis.googleapis.com",
        "redis.clusters.get",
        "roles/redis.viewer",
        is_optional=True,
    ),
    Product.VALKEY: Api(
        "valkey-ca",
        _("Certificate authorities of Valkey"),
        "memorystore.googleapis.com",
        "memorystore.instances.getCertificateAuthority",
        "roles/memorystore.viewer",
        is_optional=True,
    ),
}
