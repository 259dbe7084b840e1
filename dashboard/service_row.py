"""What the fleet says of a cache whose nodes nobody here reaches: engine, version and shape by its service."""

from __future__ import annotations

from collectors.cloud.products import Product
from collectors.cloud.service_facts import ServiceFacts
from fleet.engines import Engine
from fleet.models import Topology

ENGINES = {
    Product.REDIS: Engine.REDIS,
    Product.REDIS_CLUSTER: Engine.REDIS,
    Product.VALKEY: Engine.VALKEY,
    Product.MEMCACHED: Engine.MEMCACHED,
}


def engine_of(facts: ServiceFacts) -> Engine:
    return ENGINES[Product(facts.product)]


def kind_of(facts: ServiceFacts) -> str:
    """Return engine, version and topology in words; Redis Cluster does not tell its version."""
    topology = str(Topology.CLUSTER.label) if facts.is_cluster else ""
    return " ".join(filter(None, (str(engine_of(facts).label), facts.version, topology)))


def replicas_of(facts: ServiceFacts) -> int | None:
    """Return the replicas of all shards together, None where the service does not tell."""
    return None if facts.replicas_per_shard is None else facts.replicas_per_shard * (facts.shards or 1)


def counts_of(facts: ServiceFacts) -> dict[str, int | None]:
    """Return what nodes would be counted as; which of them answer is not known."""
    unknown = dict.fromkeys(("answering", "links_down"))
    return {"nodes": facts.node_count, "primaries": facts.shards, "replicas": replicas_of(facts), **unknown}
