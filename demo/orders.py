"""The troubles that are ordered now: a small file that the fleet and the traffic obey."""

import time
from dataclasses import dataclass
from typing import Any

from demo.layout import GAME, Home, read_json, write_json

NAMES = ("growth", "storm", "bigkeys", "hotshard", "kill-node", "unplug")


@dataclass(frozen=True, slots=True)
class Orders:
    """What is ordered: for each trouble the cache, the time, and for kill-node the server."""

    revision: int
    active: dict[str, dict[str, Any]]

    @property
    def held_node(self) -> str | None:
        return self.active.get("kill-node", {}).get("node")

    def names(self) -> list[str]:
        return sorted(self.active)

    def cache_of(self, trouble: str) -> str:
        return str(self.active[trouble].get("cache", GAME))


def read(home: Home) -> Orders:
    content = read_json(home.path / "trouble.json")
    return Orders(int(content.get("revision", 0)), dict(content.get("active", {})))


def order(home: Home, trouble: str, **details: Any) -> Orders:
    """Add a trouble to those that are ordered."""
    now = read(home)
    return write(home, {**now.active, trouble: {"since": time.time(), **details}}, now.revision + 1)


def clear(home: Home) -> Orders:
    return write(home, {}, read(home).revision + 1)


def write(home: Home, active: dict[str, dict[str, Any]], revision: int) -> Orders:
    write_json(home.path / "trouble.json", {"revision": revision, "active": active})
    return Orders(revision, active)
