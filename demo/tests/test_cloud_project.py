"""The demo's instances, as they stand in the emulator."""

from datetime import UTC, datetime, timedelta

import pytest

from collectors.cloud.models import InstanceState
from collectors.cloud.products import Product
from collectors.cloud.service_facts import ServiceFacts
from collectors.cloud.snapshots import facts
from demo.cloud import project
from demo.cloud.emulator import Emulator
from demo.cloud.instances import SHAPES
from demo.layout import members
from launcher.valkey import HOST

FLEET = members(17_000)
BORN = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
PORTS = 11_211, 11_212


def furnished(page_cache: tuple[int, int] | None = PORTS) -> Emulator:
    emulator = Emulator()
    project.furnish(emulator, FLEET, page_cache, BORN)
    return emulator


def facts_of(product: Product, short_id: str) -> ServiceFacts:
    collection = SHAPES[product].field
    message = furnished().instances.get(product, project.name_of(collection, short_id))
    return facts(product, type(message).to_dict(message, use_integers_for_enums=False))


@pytest.mark.parametrize(
    ("today", "days"),
    [
        ("2026-03-02T09:15", 6),
        ("2026-03-07T23:59", 1),
        ("2026-03-08T00:01", 0),
        ("2026-03-08T18:30", 0),
        ("2026-03-08T19:00", 7),
    ],
    ids=["Monday", "before Sunday", "on Sunday", "in the window", "after it"],
)
def test_the_next_window_stays_until_it_is_over(today: str, days: int) -> None:
    now = datetime.fromisoformat(f"{today}:00+00:00")

    window = project.next_window(now)

    assert window.strftime("%A %H:%M:%S") == "Sunday 18:00:00"
    assert (window.date() - now.date()).days == days


def test_maintenance_is_planned_again_once_it_is_over() -> None:
    emulator = furnished()
    name = project.name_of("instances", "sessions")
    first = emulator.instances.get(Product.REDIS, name).maintenance_schedule.end_time

    project.plan_again(emulator, first - timedelta(seconds=1))
    kept = emulator.instances.get(Product.REDIS, name).maintenance_schedule.end_time
    project.plan_again(emulator, first)

    assert kept == first
    assert emulator.instances.get(Product.REDIS, name).maintenance_schedule.end_time == first + timedelta(days=7)


def test_zones_go_round() -> None:
    assert project.zones(4) == [*project.ZONES, project.ZONES[0]]


def test_every_product_is_there_and_fed_by_its_servers() -> None:
    fed = project.furnish(Emulator(), FLEET, PORTS, BORN)

    assert {one.product: len(one.servers) for one in fed} == {
        Product.REDIS: 2,
        Product.REDIS_CLUSTER: 6,
        Product.VALKEY: 6,
        Product.MEMCACHED: 1,
    }
    assert all(len(one.zones) == len(one.servers) for one in fed)


def test_memcached_is_left_out_where_there_is_none() -> None:
    assert {product for product, _ in furnished(None).instances.known} == {*Product} - {Product.MEMCACHED}


def test_instances_keep_the_time_at_which_they_were_made() -> None:
    for message in furnished().instances.known.values():
        assert message.create_time.timestamp() == BORN.timestamp()


@pytest.mark.parametrize(
    ("product", "short_id", "endpoint"),
    [
        (Product.REDIS, "sessions", (HOST, 17_006, "primary")),
        (Product.REDIS_CLUSTER, "game", (HOST, 17_000, "discovery")),
        (Product.VALKEY, "far-away", (project.FAR_AWAY, 6_379, "discovery")),
        (Product.MEMCACHED, "pages", (HOST, 11_212, "discovery")),
    ],
)
def test_the_application_reads_where_each_is_reached(
    product: Product, short_id: str, endpoint: tuple[str, int, str]
) -> None:
    found = facts_of(product, short_id)

    assert tuple(found.endpoints[0]) == endpoint
    assert found.state == InstanceState.UP


def test_sizes_are_those_of_the_servers() -> None:
    game, far, pages = (
        facts_of(product, short_id)
        for product, short_id in (
            (Product.REDIS_CLUSTER, "game"),
            (Product.VALKEY, "far-away"),
            (Product.MEMCACHED, "pages"),
        )
    )

    assert [one.memory_bytes for one in (game, far, pages)] == [144 << 20, 144 << 20, 64 << 20]
    assert [one.shards for one in (game, far)] == [3, 3]


def test_only_the_far_one_wants_to_know_who_asks() -> None:
    told = [
        facts_of(product, short_id).auth
        for product, short_id in (
            (Product.REDIS, "sessions"),
            (Product.REDIS_CLUSTER, "game"),
            (Product.VALKEY, "far-away"),
        )
    ]

    assert told == ["none", "none", "token"]


def test_all_that_take_snapshots_say_so() -> None:
    told = [
        facts_of(product, short_id).persistence
        for product, short_id in (
            (Product.REDIS, "sessions"),
            (Product.REDIS_CLUSTER, "game"),
            (Product.VALKEY, "far-away"),
            (Product.MEMCACHED, "pages"),
        )
    ]

    assert told == ["rdb", "rdb", "rdb", "none"]


def test_one_of_them_has_no_window_for_maintenance() -> None:
    windows = {
        short_id: len(facts_of(product, short_id).windows)
        for product, short_id in (
            (Product.REDIS, "sessions"),
            (Product.REDIS_CLUSTER, "game"),
            (Product.VALKEY, "far-away"),
            (Product.MEMCACHED, "pages"),
        )
    }

    assert windows == {"sessions": 1, "game": 0, "far-away": 1, "pages": 1}
