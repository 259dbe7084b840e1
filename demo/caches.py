"""The demo fleet's entries among the caches that Shardwatch watches."""

from django.db import transaction
from django.db.models import F

from demo.layout import GAME, SESSIONS, Member
from fleet.models import Cache
from launcher.valkey import HOST

LABELS = {
    GAME: {"env": "demo", "team": "game", "service": "backend"},
    SESSIONS: {"env": "demo", "team": "platform", "service": "login"},
}


def are_registered() -> bool:
    return Cache.objects.filter(is_demo=True).exists()


@transaction.atomic
def register(fleet: list[Member]) -> list[str]:
    """Add the demo caches unless some are there, else correct their addresses; return the names that were added.

    One of them that somebody deleted stays deleted.
    """
    addresses = {
        name: next(f"redis://{HOST}:{member.port}" for member in fleet if member.cache == name) for name in LABELS
    }
    known = {cache.name.removeprefix("demo-"): cache for cache in Cache.objects.filter(is_demo=True)}
    for name, cache in known.items():
        if name in addresses and cache.address != addresses[name]:
            Cache.objects.filter(pk=cache.pk).update(address=addresses[name], revision=F("revision") + 1)
    if known:
        return []
    return [add(name, address) for name, address in addresses.items()]


def add(name: str, address: str) -> str:
    """Add one demo cache; a cache of the user's with the same name keeps it."""
    free = f"demo-{name}" if Cache.objects.filter(name=name).exists() else name
    Cache.objects.create(name=free, address=address, labels=LABELS[name], is_demo=True)
    return free
