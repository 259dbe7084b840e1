"""What a cache must be for a rule to apply to it: rules ask for abilities, never for an engine's name."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

from collectors.cloud.products import Product
from fleet.engines import abilities_of
from fleet.models import Topology

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

    from alerts.scene import Watched

Gate = Callable[["Watched"], bool]


def _policies(cache: "Watched") -> set[str]:
    return {policy for policy in cache.policies.values() if policy}


def cluster(cache: "Watched") -> bool:
    return cache.topology == Topology.CLUSTER


def not_cluster(cache: "Watched") -> bool:
    return cache.topology in {Topology.STANDALONE, Topology.SHARDED}


def replicated(cache: "Watched") -> bool:
    return any(node.role == "replica" for node in cache.nodes)


def several_shards(cache: "Watched") -> bool:
    return len({node.shard_id for node in cache.nodes if node.role == "primary"}) > 1


def evicts(cache: "Watched") -> bool:
    """Return whether a full cache drops keys; not where only keys with a time to live may go."""
    return bool(_policies(cache)) and all(policy.startswith("allkeys-") for policy in _policies(cache))


def keeps(cache: "Watched") -> bool:
    """Return whether a full cache may refuse writes; so we assume where the policy is not known."""
    return not evicts(cache)


def slabs(cache: "Watched") -> bool:
    return abilities_of(cache.engine).slabs


def remote(cache: "Watched") -> bool:
    """Return whether only the service tells of the cache: nodes that we read have rules of their own."""
    return cache.is_remote


def _of(*products: Product) -> Gate:
    return lambda cache: cache.service is not None and cache.service.instance.product in products


def _replicas(cache: "Watched") -> int:
    return (cache.service.facts.replicas_per_shard or 0) if cache.service else 0


def one_replica(cache: "Watched") -> bool:
    return _replicas(cache) == 1


def more_replicas(cache: "Watched") -> bool:
    return _replicas(cache) > 1


GATES: dict[str, tuple[Gate, "StrOrPromise"]] = {
    "cluster": (cluster, _("the cache is a cluster")),
    "not-cluster": (not_cluster, _("the cache is not a cluster")),
    "replicated": (replicated, _("the cache has replicas")),
    "several-shards": (several_shards, _("the cache has several shards")),
    "keeps": (keeps, _("a full cache may refuse writes")),
    "evicts": (evicts, _("a full cache drops any key")),
    "slabs": (slabs, _("its servers keep memory in classes of chunks")),
    "service-only": (remote, _("only Cloud Monitoring tells of the cache")),
    # Google publishes targets for each product.
    "memorystore-redis": (_of(Product.REDIS), _("it is Memorystore for Redis")),
    "memorystore-cluster": (
        _of(Product.REDIS_CLUSTER, Product.VALKEY),
        _("it is Memorystore for Redis Cluster or for Valkey"),
    ),
    "memorystore-memcached": (_of(Product.MEMCACHED), _("it is Memorystore for Memcached")),
    "one-replica": (one_replica, _("its shards have one replica in the service")),
    "more-replicas": (more_replicas, _("its shards have several replicas in the service")),
}
