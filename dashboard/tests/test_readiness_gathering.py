"""Where the numbers of readiness come from: Cloud Monitoring, else INFO, else they are not known."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from collectors.cloud.feed import CloudPlace
from collectors.cloud.known import Service
from collectors.cloud.latest import Latest
from collectors.cloud.models import CloudInstance
from collectors.cloud.reading import Place
from collectors.cloud.service_metrics import SERVICE_METRICS
from collectors.cloud.snapshots import facts
from collectors.cloud.storing import store
from collectors.keyscan.details import Detail
from collectors.tests.cast import cache_with_nodes
from dashboard.readiness.gathering import Known, gather, inputs_of
from dashboard.readiness.inputs import Inputs, Measured, Origin
from dashboard.tests.cast import NOW, failing, member
from dashboard.tests.scan_cast import scanned_cache, stored
from dashboard.tests.service_cast import REDIS, SNAPSHOTS, VALKEY, in_cloud
from dashboard.tests.test_fleet import sampled
from dashboard.watched import WatchedNode
from fleet.models import Cache, Reach

GIB = 2**30
BUSY: dict[str, Any] = {
    "main_thread_cpu_ratio": 0.3,
    "connected_clients": 40,
    "commands_per_second": 100.0,
    "used_memory": GIB,
    "maxmemory": 4 * GIB,
    "memory_used_ratio": 0.25,
    "used_memory_rss": 2 * GIB,
}


def service(product: str = "valkey", **changes: Any) -> Service:
    return Service(CloudInstance(), facts(product, SNAPSHOTS[product] | changes))


def figure(name: str, *values: float, role: str = "", minutes: float = 5) -> dict[str, list[Latest]]:
    at = NOW - timedelta(minutes=minutes)
    return {name: [Latest(Place(n, 1, f"node-{n}", role), value, at) for n, value in enumerate(values)]}


def known(*nodes: WatchedNode, **given: Any) -> Inputs:
    cache = given.pop("cache", Cache(name="game", address="redis://10.0.0.3:6379", topology="cluster"))
    return inputs_of(Known(cache, NOW, nodes=nodes, **given))


def pair(**changes: Any) -> tuple[WatchedNode, WatchedNode]:
    return member(1, **BUSY), member(1, "replica", **{**BUSY, "main_thread_cpu_ratio": 0.1, **changes})


def test_info_tells_what_the_service_does_not() -> None:
    found = known(*pair())

    assert (found.shards, found.replicas_per_shard, found.is_clustered, found.product) == (1, 1, True, "")
    assert found.cpu_primary == Measured(0.3, Origin.INFO, NOW)
    assert found.cpu_replica == Measured(0.1, Origin.INFO, NOW)
    assert [found.connections, found.commands] == [Measured(80, Origin.INFO, NOW), Measured(200, Origin.INFO, NOW)]
    assert [found.used_bytes, found.node_bytes] == [Measured(n * GIB, Origin.INFO, NOW) for n in (1, 4)]


def test_the_service_goes_before_info() -> None:
    figures = (
        figure("service_cpu_utilization", 0.6, 0.7, role="primary")
        | figure("service_memory_maximum_utilization", 0.5)
        | figure("service_connected_clients", 30, 20)
        | figure("service_used_memory", 9)
    )

    found = known(*pair(), service=service(), figures=figures)

    at = NOW - timedelta(minutes=5)
    assert found.cpu_primary == Measured(0.7, Origin.MONITORING, at)
    assert found.memory == Measured(0.5, Origin.MONITORING, at)
    assert found.connections == Measured(50, Origin.MONITORING, at)
    assert found.used_bytes == Measured(9, Origin.MONITORING, at)
    assert found.cpu_replica == Measured(0.1, Origin.INFO, NOW)


def test_the_oldest_of_its_points_tells_the_age() -> None:
    mixed = figure("service_connected_clients", 1)
    mixed["service_connected_clients"] += figure("service_connected_clients", 2, minutes=9)["service_connected_clients"]

    found = known(figures=mixed).connections

    assert found == Measured(3, Origin.MONITORING, NOW - timedelta(minutes=9))


@pytest.mark.parametrize("name", ["cpu_replica", "connections", "commands", "memory"])
def test_a_node_that_does_not_tell_leaves_the_cache_unknown(name: str) -> None:
    fields = ("main_thread_cpu_ratio", "connected_clients", "commands_per_second", "memory_used_ratio")

    found = known(*pair(**dict.fromkeys(fields)))

    assert getattr(found, name) is None
    assert found.cpu_primary is not None


def test_a_silent_node_leaves_the_cache_unknown() -> None:
    primary, replica = pair()

    found = known(primary, failing(replica, NOW))

    assert (found.memory, found.connections, found.cpu_replica) == (None, None, None)


def test_old_samples_tell_nothing_of_now() -> None:
    old = member(1, **{**BUSY, "at": NOW - timedelta(minutes=11)})

    found = known(old)

    assert (found.cpu_primary, found.memory, found.used_bytes, found.node_bytes) == (None, None, None, None)


def test_without_nodes_and_service_nothing_is_known() -> None:
    found = known()

    values = {getattr(found, name) for name in ("shards", "replicas_per_shard", "memory", "has_auth", "has_tls")}
    assert values == {None}
    assert found.has_window is None


def test_the_main_thread_counts_on_redis_and_the_whole_node_on_clusters() -> None:
    figures = figure("service_main_thread_cpu_ratio", 0.8, role="primary")
    figures |= figure("service_cpu_utilization", 0.4, role="primary")

    redis, cluster = (known(service=service(product), figures=figures) for product in ("redis", "valkey"))

    assert redis.cpu_primary is not None
    assert cluster.cpu_primary is not None
    assert (redis.cpu_primary.value, cluster.cpu_primary.value) == (0.8, 0.4)


def test_redis_without_monitoring_is_judged_by_resident_memory() -> None:
    found = known(*pair(), service=service("redis"))

    assert found.system_memory == Measured(0.4, Origin.INFO, NOW)
    assert known(*pair()).system_memory is None


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"plan_memory_bytes": 7, "service_memory_bytes": 9}, Measured(7, Origin.PERSON)),
        ({"service_memory_bytes": 9}, Measured(9, Origin.LIMITS)),
        ({}, None),
    ],
)
def test_a_published_size_stands_in_for_maxmemory(limits: dict[str, int], expected: Measured | None) -> None:
    bare = member(1, **{**BUSY, "maxmemory": 0})

    assert known(bare, cache=Cache(address="redis://h", **limits)).node_bytes == expected


def test_the_service_tells_the_shape_even_where_no_node_is_seen() -> None:
    found = known(service=service())

    assert (found.product, found.node_type, found.shards, found.replicas_per_shard) == (
        "valkey",
        "HIGHMEM_MEDIUM",
        3,
        1,
    )
    assert found.has_window is True


def test_the_shard_with_fewest_replicas_counts() -> None:
    found = known(member(1, **BUSY), member(1, "replica", **BUSY), member(2, **BUSY))

    assert (found.shards, found.replicas_per_shard) == (2, 0)


@pytest.mark.parametrize(
    ("changes", "auth", "tls"),
    [
        ({}, True, True),
        ({"authorization_mode": "AUTH_DISABLED"}, False, True),
        ({"authorization_mode": "77"}, None, True),
        ({"transit_encryption_mode": "TRANSIT_ENCRYPTION_DISABLED"}, True, False),
        ({"transit_encryption_mode": "77"}, True, None),
    ],
    ids=str,
)
def test_the_api_tells_auth_and_tls(changes: dict[str, Any], auth: bool | None, tls: bool | None) -> None:
    found = known(service=service(**changes))

    assert found.has_auth == (None if auth is None else Measured(auth, Origin.API))
    assert found.has_tls == (None if tls is None else Measured(tls, Origin.API))


@pytest.mark.parametrize(
    ("cache", "auth", "tls"),
    [
        ({"address": "rediss://h", "password": "x"}, True, True),
        ({"address": "redis://h"}, False, False),
        ({"address": "redis://h", "login": "google-iam"}, True, False),
        ({"address": "redis://a,redis://b", "client_certificate": "x"}, True, False),
    ],
    ids=str,
)
def test_without_a_service_the_address_tells(cache: dict[str, Any], auth: bool, tls: bool) -> None:
    found = known(member(1, **BUSY), cache=Cache(**cache))

    assert (found.has_auth, found.has_tls) == (Measured(auth, Origin.ADDRESS), Measured(tls, Origin.ADDRESS))


def test_an_address_that_never_answered_tells_nothing() -> None:
    silent = replace(member(1), latest=None)

    found = known(silent, cache=Cache(address="rediss://h", password="x"))

    assert (found.has_auth, found.has_tls) == (None, None)


@pytest.mark.django_db
def test_it_reads_what_is_stored() -> None:
    cache, now = cache_with_nodes(1, 1), timezone.now()
    place = CloudPlace.objects.create(instance=in_cloud(cache), role="primary", seen_on=now.date())
    numbers: list[float | None] = [None] * len(SERVICE_METRICS)
    numbers[0] = 0.42
    store([(int(now.timestamp()) // 60 * 60 - 300, place.pk, numbers)])
    sampled(cache, used_memory=GIB, maxmemory=4 * GIB)

    found = gather([cache], now)[cache.pk]

    assert SERVICE_METRICS[0].name == "service_cpu_utilization"
    assert (found.cpu_primary and found.cpu_primary.value, found.cpu_replica) == (0.42, None)
    assert (found.used_bytes and found.used_bytes.value, found.node_type) == (GIB, "HIGHMEM_MEDIUM")


@pytest.mark.django_db
@pytest.mark.parametrize("reach", [Reach.NODES, Reach.SERVICE])
def test_it_knows_whether_the_nodes_are_reached(reach: Reach) -> None:
    cache = Cache.objects.create(name="carts", address="redis://10.0.0.3", reach=reach)

    assert gather([cache], timezone.now())[cache.pk].is_reached is (reach == Reach.NODES)


@pytest.mark.django_db
def test_the_biggest_key_is_that_of_the_last_scan() -> None:
    cache = scanned_cache()
    scan = stored(cache, [Detail(b"feed", 40_000_000), Detail(b"b", 5)])

    found = gather([cache], timezone.now())[cache.pk].biggest_key

    assert found is not None
    assert (found.value, found.origin) == (40_000_000, Origin.SCAN)
    assert found.at is not None
    assert abs(found.at - scan.at) < timedelta(minutes=1)


@pytest.mark.django_db
def test_many_caches_cost_no_more_queries(django_assert_max_num_queries: DjangoAssertNumQueries) -> None:
    for number in range(4):
        product, snapshot = ("redis", REDIS) if number % 2 else ("valkey", VALKEY)
        in_cloud(cache_with_nodes(2, 1, f"game-{number}"), product, name=f"{snapshot['name']}-{number}")

    with django_assert_max_num_queries(11):
        assert len(gather(list(Cache.objects.all()), timezone.now())) == 4
