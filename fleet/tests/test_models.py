"""What caches, shards and nodes know of themselves."""

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.utils import timezone

from fleet.addresses import AddressError
from fleet.engines import Engine, abilities_of
from fleet.models import NAME_RULE, Cache, Node, Shard


@pytest.mark.parametrize("name", ["a", "0", "a-b", "a.b", "a--b", "a..b", "9-9", "a" * 63])
def test_it_takes_a_name_that_fits_into_an_address(name: str) -> None:
    NAME_RULE(name)


@pytest.mark.parametrize(
    "name",
    ["", "A", "-a", "a-", ".a", "a.", "a_b", "a b", "a/b", "ä", "a\n", "\na", "a" * 64, "１", "a\u0000b", "../etc"],
)
def test_it_refuses_a_name_that_does_not(name: str) -> None:
    with pytest.raises(ValidationError):
        NAME_RULE(name)


@pytest.mark.parametrize(
    ("slots", "count"),
    [([], 0), ([[0, 0]], 1), ([[0, 16_383]], 16_384), ([[0, 5_460], [6_000, 6_000]], 5_462)],
)
def test_a_shard_counts_the_first_and_the_last_slot(slots: list[list[int]], count: int) -> None:
    assert Shard(slots=slots).slot_count() == count


@pytest.mark.parametrize(
    ("host", "address"),
    [("10.0.0.5", "10.0.0.5:6379"), ("::1", "[::1]:6379"), ("cache.example", "cache.example:6379")],
)
def test_a_node_is_named_by_its_address(host: str, address: str) -> None:
    assert str(Node(host=host, port=6379)) == address


def test_a_cache_knows_its_seeds() -> None:
    seeds = Cache(address="rediss://a:7000, rediss://[::1]").seeds()

    assert [(seed.host, seed.port, seed.tls) for seed in seeds] == [("a", 7000, True), ("::1", 6379, True)]


def test_a_damaged_address_is_told() -> None:
    with pytest.raises(AddressError):
        Cache(address="").seeds()


@pytest.mark.parametrize(("engine", "expected"), [("redis", True), ("valkey", True), ("", True), ("memcached", False)])
def test_replicas_are_looked_for_where_there_may_be_some(engine: str, expected: bool) -> None:
    assert abilities_of(Engine(engine)).replication is expected


@pytest.mark.django_db
def test_a_node_that_left_is_not_present() -> None:
    cache = Cache.objects.create(name="game", address="redis://a")
    here = Node.objects.create(cache=cache, identity="here", host="a", port=1)
    Node.objects.create(cache=cache, identity="gone", host="a", port=2, left_at=timezone.now())

    assert list(Node.objects.present()) == [here]


@pytest.mark.django_db
def test_a_node_id_is_unique_within_its_cache_only() -> None:
    caches = [Cache.objects.create(name=name, address="redis://a") for name in ("one", "two")]
    for cache in caches:
        Node.objects.create(cache=cache, identity="same", host="a", port=1)

    with pytest.raises(IntegrityError):
        Node.objects.create(cache=caches[0], identity="same", host="b", port=2)


@pytest.mark.django_db
def test_a_node_outlives_its_shard_but_not_its_cache() -> None:
    cache = Cache.objects.create(name="game", address="redis://a")
    shard = Shard.objects.create(cache=cache, identity="s", number=1)
    Node.objects.create(cache=cache, shard=shard, identity="n", host="a", port=1)

    shard.delete()
    left_alone = Node.objects.get().shard
    cache.delete()

    assert left_alone is None
    assert not Node.objects.exists()
