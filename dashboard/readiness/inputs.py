"""What the checks of readiness are given: a few numbers about one cache, each with where it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from django.utils.translation import gettext_lazy as _

from collectors.cloud.products import Product

CLUSTERS = frozenset({Product.REDIS_CLUSTER, Product.VALKEY})


class Origin(StrEnum):
    """Who told a number."""

    MONITORING = "cloud-monitoring"
    INFO = "info"
    API = "google-api"
    LIMITS = "published-limits"
    SCAN = "key-scan"
    ADDRESS = "address"
    PERSON = "person"


ORIGIN_WORDS = {
    Origin.MONITORING: _("Cloud Monitoring"),
    Origin.INFO: _("INFO of the nodes"),
    Origin.API: _("Google's API"),
    Origin.LIMITS: _("Google's table of sizes"),
    Origin.SCAN: _("scan of the keys"),
    Origin.ADDRESS: _("how Shardwatch reaches it"),
    Origin.PERSON: _("given by hand"),
}


@dataclass(frozen=True, slots=True)
class Measured:
    """A number with who told it, and when where that matters."""

    value: float
    origin: Origin
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Inputs:
    """What is known of one cache. None is not known, which is never taken for well.

    Ratios are 0 to 1, CPU is a share of one core (of the node where the service tells it so), memory in bytes.
    """

    now: datetime
    # Empty where no Google Cloud project holds the cache.
    product: str = ""
    # Whether it has slots, which move when it scales.
    is_clustered: bool = False
    # Whether its nodes are read from here, so that their keys can be scanned.
    is_reached: bool = True
    node_type: str = ""
    shards: int | None = None
    replicas_per_shard: int | None = None
    # Of the fullest and the busiest node.
    system_memory: Measured | None = None
    memory: Measured | None = None
    cpu_primary: Measured | None = None
    cpu_replica: Measured | None = None
    biggest_key: Measured | None = None
    # Of the whole cache.
    connections: Measured | None = None
    commands: Measured | None = None
    used_bytes: Measured | None = None
    # What keys may fill on one node.
    node_bytes: Measured | None = None
    has_window: bool | None = None
    has_auth: Measured | None = None
    has_tls: Measured | None = None

    @property
    def is_of_service(self) -> bool:
        return bool(self.product)

    @property
    def has_rules_of_clusters(self) -> bool:
        """Whether Google's advice for Redis Cluster and Valkey holds; it does for clusters that somebody runs."""
        return self.product in CLUSTERS or self.is_clustered
