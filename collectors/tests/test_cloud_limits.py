"""Published limits of nodes: which product, type, size and version has which, and who has none."""

from datetime import date

import pytest

from collectors import latest, samples
from collectors.cloud import limits
from collectors.cloud.limits import GIB, NodeLimits
from collectors.cloud.products import Product
from collectors.tests.cast import cache_with_nodes, reading
from fleet.models import Cache

CLUSTERS = (Product.REDIS_CLUSTER, Product.VALKEY)


@pytest.mark.parametrize(
    ("product", "node_type", "expected"),
    [
        (Product.REDIS_CLUSTER, "REDIS_SHARED_CORE_NANO", (5_000, 1.12, 0.5, False)),
        (Product.REDIS_CLUSTER, "REDIS_STANDARD_SMALL", (16_000, 5.2, 2, True)),
        (Product.REDIS_CLUSTER, "REDIS_HIGHMEM_MEDIUM", (32_000, 10.4, 2, True)),
        (Product.REDIS_CLUSTER, "REDIS_HIGHMEM_XLARGE", (64_000, 46.4, 8, True)),
        (Product.VALKEY, "SHARED_CORE_NANO", (5_000, 1.12, 0.5, False)),
        (Product.VALKEY, "STANDARD_SMALL", (16_000, 5.2, 2, True)),
        (Product.VALKEY, "HIGHMEM_MEDIUM", (32_000, 10.4, 2, True)),
        (Product.VALKEY, "HIGHMEM_XLARGE", (64_000, 46.4, 8, True)),
    ],
)
def test_a_node_type_has_its_row(product: Product, node_type: str, expected: tuple[int, float, float, bool]) -> None:
    found = limits.of_node(product, node_type)

    maxclients, writable_gb, vcpu, in_sla = expected
    assert (found.maxclients, found.writable_bytes) == (maxclients, round(writable_gb * GIB))
    assert (found.vcpu, found.in_sla) == (vcpu, in_sla)
    assert found.is_published


@pytest.mark.parametrize("product", CLUSTERS)
@pytest.mark.parametrize("node_type", ["HIGHMEM_2XLARGE", "REDIS_HIGHMEM_2XLARGE", "CUSTOM_PICO", "77", ""])
def test_a_type_without_a_published_size_has_no_limit(product: Product, node_type: str) -> None:
    assert limits.of_node(product, node_type) == NodeLimits()
    assert not limits.of_node(product, node_type).is_published


def test_a_type_of_another_product_is_none() -> None:
    assert not limits.of_node(Product.VALKEY, "REDIS_STANDARD_SMALL").is_published
    assert not limits.of_node("something-new", "STANDARD_SMALL").is_published


def test_a_default_may_be_raised_up_to_the_most() -> None:
    found = limits.of_node(Product.VALKEY, "STANDARD_SMALL")

    assert (found.maxclients, found.maxclients_most) == (16_000, 32_000)


@pytest.mark.parametrize(
    ("gib", "tier", "encrypted"),
    [
        (1, "M1", 1_000),
        (4, "M1", 1_000),
        (5, "M2", 2_500),
        (10, "M2", 2_500),
        (11, "M3", 15_000),
        (35, "M3", 15_000),
        (36, "M4", 30_000),
        (100, "M4", 30_000),
        (101, "M5", 65_000),
        (300, "M5", 65_000),
    ],
)
def test_redis_with_encryption_is_bound_by_its_size(gib: int, tier: str, encrypted: int) -> None:
    found = limits.of_node(Product.REDIS, node_memory_bytes=gib * GIB, version="6.x", tls=True)

    assert (found.capacity_tier, found.maxclients) == (tier, encrypted)
    assert found.memory_bytes == found.writable_bytes == gib * GIB


@pytest.mark.parametrize(
    ("version", "tls", "expected"),
    [
        ("5.0", True, 1_000),
        ("6.x", True, 1_000),
        ("", True, 1_000),
        ("7.0", True, 65_000),
        ("10.1", True, 65_000),
        ("6.x", False, 65_000),
        ("6.x", None, 65_000),
    ],
)
def test_encryption_costs_connections_up_to_version_six(version: str, tls: bool | None, expected: int) -> None:
    assert limits.of_node(Product.REDIS, node_memory_bytes=GIB, version=version, tls=tls).maxclients == expected


def test_redis_of_an_unknown_or_impossible_size_has_no_tier() -> None:
    assert limits.of_node(Product.REDIS).capacity_tier == ""
    assert limits.of_node(Product.REDIS, node_memory_bytes=301 * GIB, version="6.x", tls=True).maxclients is None


def test_memcached_takes_its_memory_from_the_instance() -> None:
    found = limits.of_node(Product.MEMCACHED, node_memory_bytes=4 * GIB)

    assert (found.maxclients, found.memory_bytes, found.writable_bytes) == (65_000, 4 * GIB, None)


@pytest.mark.parametrize(
    ("product", "most"), [("redis-cluster", 250), ("valkey", 250), ("redis", None), ("memcached", None)]
)
def test_clusters_have_a_number_of_units(product: str, most: int | None) -> None:
    assert limits.units_most(product) == most


def test_memcached_ends() -> None:
    found = limits.end_of_life(Product.MEMCACHED)

    assert found is not None
    assert (found.no_new_from, found.shutdown) == (date(2027, 2, 1), date(2029, 1, 31))
    assert found.successor == Product.VALKEY
    assert limits.end_of_life(Product.REDIS) is None


def test_every_source_is_a_dated_page() -> None:
    pages = [limits.page(source) for source in limits.tables()["sources"]]

    assert all(one.title and one.url.startswith("https://docs.cloud.google.com/memorystore/docs/") for one in pages)
    assert {one.date.year for one in pages} == {2026}


def levels(cache: Cache) -> tuple[float | None, float | None]:
    samples.write([reading(node, used_memory=500, connected_clients=50) for node in cache.nodes.all()])
    found = next(iter(latest.nodes([cache.pk]).values()))
    return found.memory_used_ratio, found.connections_used_ratio


@pytest.mark.django_db
def test_a_published_limit_stands_in_where_nobody_names_one() -> None:
    cache = cache_with_nodes()
    Cache.objects.update(service_memory_bytes=1_000, service_maxclients=200)

    assert levels(cache) == (0.5, 0.25)
    summary = latest.caches()[cache.pk]
    assert (summary.memory_limit_bytes, summary.fullest_maxclients) == (1_000, 200)


@pytest.mark.django_db
def test_a_persons_word_goes_before_the_published_limit() -> None:
    cache = cache_with_nodes()
    Cache.objects.update(
        service_memory_bytes=1_000, service_maxclients=200, plan_memory_bytes=2_000, plan_maxclients=500
    )

    memory, connections = levels(cache)
    assert (memory, round(connections or 0, 6)) == (0.25, 0.1)


@pytest.mark.django_db
def test_the_server_goes_before_both() -> None:
    cache = cache_with_nodes()
    Cache.objects.update(service_memory_bytes=1_000, plan_memory_bytes=2_000)
    samples.write([reading(node, used_memory=500, maxmemory=5_000) for node in cache.nodes.all()])

    assert next(iter(latest.nodes([cache.pk]).values())).memory_used_ratio == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("given", "expected"), [({}, (None, None)), ({"plan_memory_bytes": 7}, (7, 300)), ({"plan_maxclients": 9}, (5, 9))]
)
def test_a_cache_knows_what_stands_in(given: dict[str, int], expected: tuple[int | None, int | None]) -> None:
    service = {"service_memory_bytes": 5, "service_maxclients": 300} if given else {}

    cache = Cache(**service, **given)

    assert (cache.other_memory_limit, cache.other_maxclients) == expected
