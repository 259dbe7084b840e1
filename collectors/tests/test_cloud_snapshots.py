from datetime import UTC, datetime, time
from typing import Any

import pytest
from google.cloud import memcache_v1, memorystore_v1, redis_cluster_v1, redis_v1
from google.protobuf.json_format import MessageToDict

from collectors.cloud.models import InstanceState
from collectors.cloud.products import Product
from collectors.cloud.service_facts import Endpoint, Message, Schedule, ServiceFacts, ServiceNode, Target, Window
from collectors.cloud.snapshots import AUTHORITY, facts
from collectors.tests.certificates import Authority

KINDS = {
    Product.REDIS: redis_v1.Instance,
    Product.REDIS_CLUSTER: redis_cluster_v1.Cluster,
    Product.VALKEY: memorystore_v1.Instance,
    Product.MEMCACHED: memcache_v1.Instance,
}
GIB = 2**30
AT = datetime(2026, 11, 25, 2, tzinfo=UTC)
EVERY = pytest.mark.parametrize("product", list(Product))


def snapshot_of(product: Product, **fields: Any) -> dict[str, Any]:
    """Return what discovery stores of a message with these fields."""
    kind: Any = KINDS[product]
    return dict(MessageToDict(kind.pb(kind(**fields)), preserving_proto_field_name=True))


def facts_with(product: Product, **fields: Any) -> ServiceFacts:
    return facts(product, snapshot_of(product, **fields))


@EVERY
def test_a_message_that_says_nothing_is_read(product: Product) -> None:
    found = facts(product, {})

    assert (found.state, found.endpoints, found.memory_bytes) == (InstanceState.UNKNOWN, (), None)


@EVERY
def test_a_state_that_nobody_knows_yet_is_unknown(product: Product) -> None:
    found = facts(product, {"state": 77, "maintenance_policy": {"weekly_maintenance_window": [{"day": 9}]}})

    assert (found.state, found.state_name, found.windows) == (InstanceState.UNKNOWN, "77", ())


@pytest.mark.parametrize(
    ("product", "state", "expected"),
    [
        (Product.REDIS, "READY", InstanceState.UP),
        (Product.REDIS, "FAILING_OVER", InstanceState.REPAIR),
        (Product.REDIS, "MAINTENANCE", InstanceState.MAINTENANCE),
        (Product.REDIS_CLUSTER, "ACTIVE", InstanceState.UP),
        (Product.VALKEY, "MIGRATING", InstanceState.CHANGING),
        (Product.MEMCACHED, "PERFORMING_MAINTENANCE", InstanceState.MAINTENANCE),
        (Product.MEMCACHED, "DELETING", InstanceState.GONE),
    ],
)
def test_states_of_all_products_become_a_few(product: Product, state: str, expected: InstanceState) -> None:
    assert facts_with(product, state=state).state == expected


def test_redis_tells_its_size_tier_and_replicas() -> None:
    found = facts_with(Product.REDIS, memory_size_gb=5, tier="STANDARD_HA", redis_version="REDIS_7_2")

    assert (found.memory_bytes, found.node_memory_bytes) == (5 * GIB, 5 * GIB)
    assert (found.tier, found.replicas_per_shard, found.node_count) == ("STANDARD_HA", 1, 2)
    assert (found.version, found.is_cluster) == ("7.2", False)


def test_redis_counts_its_read_replicas() -> None:
    found = facts_with(Product.REDIS, tier="STANDARD_HA", replica_count=3, nodes=[{"id": "node-0", "zone": "a"}])

    assert (found.replicas_per_shard, found.node_count) == (3, 4)
    assert found.nodes == (ServiceNode("node-0", "a", "", None, ""),)


def test_redis_tells_where_it_is() -> None:
    fields = {"host": "10.0.0.3", "port": 6378, "read_endpoint": "10.0.0.4", "read_endpoint_port": 6379}
    found = facts_with(Product.REDIS, **fields, location_id="a", alternative_location_id="b", current_location_id="b")

    assert found.endpoints == (Endpoint("10.0.0.3", 6378, "primary"), Endpoint("10.0.0.4", 6379, "reader"))
    assert (found.zones, found.primary_zone) == (("a", "b"), "b")


@pytest.mark.parametrize(
    ("fields", "auth", "tls"),
    [
        ({"auth_enabled": True, "transit_encryption_mode": "SERVER_AUTHENTICATION"}, "password", True),
        ({"transit_encryption_mode": "DISABLED"}, "none", False),
        ({}, "none", False),
        ({"transit_encryption_mode": 9}, "none", None),
    ],
)
def test_redis_tells_its_locks(fields: dict[str, Any], auth: str, tls: bool | None) -> None:
    found = facts(Product.REDIS, snapshot_of(Product.REDIS) | fields)

    assert (found.auth, found.tls) == (auth, tls)


def test_redis_tells_its_maintenance() -> None:
    window = {"day": "TUESDAY", "start_time": {"hours": 23, "minutes": 30}, "duration": "3600s"}
    schedule = {"start_time": AT, "end_time": AT.replace(hour=3), "can_reschedule": True}
    found = facts(
        Product.REDIS,
        {
            "maintenance_policy": {"weekly_maintenance_window": [window]},
            **snapshot_of(Product.REDIS, maintenance_schedule=schedule),
        },
    )

    assert found.windows == (Window(1, time(23, 30), 3600),)
    assert found.schedule == Schedule(AT, AT.replace(hour=3), None, True)


def test_redis_tells_its_persistence_and_what_is_wrong() -> None:
    persistence = {"persistence_mode": "RDB", "rdb_snapshot_period": "SIX_HOURS"}
    reasons = ["CUSTOMER_MANAGED_KEY_ISSUE"]
    found = facts_with(
        Product.REDIS, persistence_config=persistence, suspension_reasons=reasons, status_message="The key is disabled."
    )

    assert (found.persistence, found.snapshot_seconds) == ("rdb", 6 * 3600)
    assert found.messages == (Message("CUSTOMER_MANAGED_KEY_ISSUE", "The key is disabled."),)


def test_a_cluster_tells_its_shape_and_where_it_is_reached() -> None:
    found = facts_with(
        Product.REDIS_CLUSTER,
        uid="u-1",
        shard_count=3,
        replica_count=2,
        precise_size_gb=39.0,
        node_type="REDIS_HIGHMEM_MEDIUM",
        discovery_endpoints=[{"address": "10.1.0.2", "port": 6379}],
        psc_connections=[
            {"address": "10.1.0.2", "connection_type": "CONNECTION_TYPE_DISCOVERY"},
            {"address": "10.1.0.3"},
        ],
    )

    assert (found.uid, found.shards, found.replicas_per_shard, found.node_count) == ("u-1", 3, 2, 9)
    assert (found.memory_bytes, found.node_memory_bytes) == (39 * GIB, 13 * GIB)
    assert (found.node_type, found.is_cluster) == ("REDIS_HIGHMEM_MEDIUM", True)
    assert found.endpoints == (Endpoint("10.1.0.2", 6379, "discovery"),)


@pytest.mark.parametrize(
    ("product", "authorization", "encryption", "auth", "tls"),
    [
        (Product.REDIS_CLUSTER, 1, 2, "iam", True),
        (Product.REDIS_CLUSTER, 2, 1, "none", False),
        (Product.REDIS_CLUSTER, 3, 0, "token", None),
        (Product.VALKEY, 1, 1, "none", False),
        (Product.VALKEY, 2, 2, "iam", True),
        (Product.VALKEY, 3, 0, "token", None),
    ],
)
def test_the_same_number_means_other_locks_in_other_products(
    product: Product, authorization: int, encryption: int, auth: str, tls: bool | None
) -> None:
    found = facts_with(product, authorization_mode=authorization, transit_encryption_mode=encryption)

    assert (found.auth, found.tls) == (auth, tls)


def test_a_new_way_to_sign_in_is_unknown() -> None:
    assert facts(Product.VALKEY, {"authorization_mode": 9}).auth == "unknown"


def test_a_cluster_tells_what_its_update_leads_to() -> None:
    found = facts_with(
        Product.REDIS_CLUSTER, state_info={"update_info": {"target_shard_count": 5, "target_replica_count": 1}}
    )

    assert found.target == Target(5, 1, "", "")


def test_valkey_tells_what_its_update_leads_to() -> None:
    update = {"target_engine_version": "VALKEY_9_0", "target_node_type": "HIGHMEM_XLARGE"}

    assert facts_with(Product.VALKEY, state_info={"update_info": update}).target == Target(
        None, None, "9.0", "HIGHMEM_XLARGE"
    )


def test_valkey_is_reached_by_what_it_says_of_its_connections() -> None:
    kinds = ("CONNECTION_TYPE_PRIMARY", "CONNECTION_TYPE_READER", "CONNECTION_TYPE_UNSPECIFIED")
    connections = [
        {"psc_auto_connection": {"ip_address": f"10.2.0.{number}", "port": 6379, "connection_type": kind}}
        for number, kind in enumerate(kinds)
    ]
    found = facts_with(Product.VALKEY, mode="CLUSTER_DISABLED", endpoints=[{"connections": connections}])

    assert found.endpoints == (Endpoint("10.2.0.0", 6379, "primary"), Endpoint("10.2.0.1", 6379, "reader"))
    assert not found.is_cluster


def test_valkey_tells_its_sizes_and_version() -> None:
    found = facts_with(
        Product.VALKEY, mode="CLUSTER", shard_count=3, node_config={"size_gb": 13.0}, engine_version="VALKEY_8_0"
    )

    assert (found.memory_bytes, found.node_memory_bytes, found.version) == (39 * GIB, 13 * GIB, "8.0")
    assert found.is_cluster


def test_authorities_of_clusters_tell_when_they_end() -> None:
    pem = Authority().pem
    found = facts(Product.VALKEY, {AUTHORITY: {"certificates": [pem, "garbage"], "at": ""}})

    first, second = found.ca_certs
    assert first.pem == pem
    assert first.expires_at is not None
    assert second.expires_at is None


def test_memcached_tells_its_nodes_and_sizes() -> None:
    found = facts_with(
        Product.MEMCACHED,
        node_count=2,
        node_config={"cpu_count": 4, "memory_size_mb": 1024},
        memcache_nodes=[{"node_id": "n-a", "zone": "a", "host": "10.3.0.5", "port": 11211, "state": "READY"}],
        discovery_endpoint="10.3.0.4:11211",
        memcache_full_version="memcached-1.6.15",
    )

    assert (found.vcpu, found.node_memory_bytes, found.memory_bytes, found.node_count) == (4, GIB, 2 * GIB, 2)
    assert (found.version, found.auth, found.tls) == ("1.6.15", "none", False)
    assert found.endpoints == (Endpoint("10.3.0.4", 11211, "discovery"), Endpoint("10.3.0.5", 11211, "node"))
    assert found.nodes == (ServiceNode("n-a", "a", "10.3.0.5", 11211, "READY"),)


def test_memcached_tells_what_is_wrong() -> None:
    messages = [{"code": "ZONE_DISTRIBUTION_UNBALANCED", "message": "Add nodes."}]

    assert facts_with(Product.MEMCACHED, instance_messages=messages).messages == (
        Message("ZONE_DISTRIBUTION_UNBALANCED", "Add nodes."),
    )


def test_the_kind_of_endpoint_asked_for_first_is_taken() -> None:
    found = facts(Product.MEMCACHED, {"discovery_endpoint": "10.3.0.4:11211"})

    assert found.endpoint("primary", "discovery") == Endpoint("10.3.0.4", 11211, "discovery")
    assert found.endpoint("reader") is None


@pytest.mark.parametrize("words", ["", "10.3.0.4", ":11211", "10.3.0.4:"])
def test_an_endpoint_without_host_and_port_is_none(words: str) -> None:
    assert facts(Product.MEMCACHED, {"discovery_endpoint": words}).endpoints == ()
