import pytest

from demo import caches
from demo.layout import members
from fleet.models import Cache

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def no_caches(db: None) -> None:
    Cache.objects.all().delete()


def test_it_registers_both_caches_with_labels() -> None:
    added = caches.register(members(17_000))

    game, sessions = Cache.objects.order_by("name")
    assert added == ["game-cache", "session-store"]
    assert (game.address, sessions.address) == ("redis://127.0.0.1:17000", "redis://127.0.0.1:17006")
    assert game.labels == {"env": "demo", "team": "game", "service": "backend"}
    assert game.is_demo


def test_it_corrects_addresses_and_leaves_the_rest_alone() -> None:
    caches.register(members(17_000))
    Cache.objects.filter(name="game-cache").update(labels={"mine": "yes"})

    added = caches.register(members(18_000))

    game = Cache.objects.get(name="game-cache")
    assert added == []
    assert (game.address, game.revision, game.labels) == ("redis://127.0.0.1:18000", 2, {"mine": "yes"})


def test_it_does_not_bring_back_what_somebody_deleted() -> None:
    caches.register(members(17_000))
    Cache.objects.filter(name="session-store").delete()

    caches.register(members(17_000))

    assert [cache.name for cache in Cache.objects.all()] == ["game-cache"]


def test_it_leaves_the_name_to_a_cache_that_is_not_a_demo() -> None:
    Cache.objects.create(name="game-cache", address="redis://10.0.0.5:6379")

    caches.register(members(17_000))
    caches.register(members(18_000))

    assert Cache.objects.get(name="game-cache").address == "redis://10.0.0.5:6379"
    assert Cache.objects.get(name="demo-game-cache").address == "redis://127.0.0.1:18000"
