"""What Google publishes about sizes: connections, memory and vCPU of a node, units of an instance.

The figures are data (product_limits.json), each with the page and the date it was read from: products move.
"""

import json
import re
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from collectors.cloud.products import Product
from collectors.cloud.service_facts import ServiceFacts

# Google writes GB and, where its API says more, means this.
GIB = 2**30


@dataclass(frozen=True, slots=True)
class Page:
    """A page of Google's documentation, and the date that it carried when it was read."""

    title: str
    url: str
    date: date


@dataclass(frozen=True, slots=True)
class NodeLimits:
    """One node's published limits; None is not published. `writable_bytes` is what keys may fill by default."""

    maxclients: int | None = None
    maxclients_most: int | None = None
    memory_bytes: int | None = None
    writable_bytes: int | None = None
    vcpu: float | None = None
    in_sla: bool | None = None
    # M1 to M5: derived from the size, since the API does not tell it.
    capacity_tier: str = ""
    source: Page | None = None

    @property
    def is_published(self) -> bool:
        return self.source is not None


@dataclass(frozen=True, slots=True)
class EndOfLife:
    no_new_from: date
    shutdown: date
    successor: Product
    source: Page


@cache
def tables() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(__file__).with_name("product_limits.json").read_text())
    return found


@cache
def page(source: str) -> Page:
    """Return a page by its id in the tables. Raise KeyError for one that is not there."""
    found = tables()["sources"][source]
    return Page(found["title"], found["url"], date.fromisoformat(found["date"]))


def of_node(
    product: str,
    node_type: str = "",
    node_memory_bytes: int | None = None,
    version: str = "",
    *,
    tls: bool | None = None,
) -> NodeLimits:
    """Return what is published for a node of this product, type and size; nothing for a type without a row."""
    if product == Product.REDIS:
        return _redis(node_memory_bytes, version, tls=tls)
    if product == Product.MEMCACHED:
        row = tables()["memcached"]
        return NodeLimits(row["maxclients"], row["maxclients"], node_memory_bytes, source=page(row["source"]))
    row = tables()["node_types"].get(product, {}).get(node_type)
    return _of_type(row, tables()["node_source"][product]) if row else NodeLimits()


def _of_type(row: dict[str, Any], source: str) -> NodeLimits:
    memory, writable = (round(row[name] * GIB) for name in ("memory_gb", "writable_gb"))
    limits = row["maxclients"], row["maxclients_most"]
    return NodeLimits(*limits, memory, writable, float(row["vcpu"]), row["in_sla"], source=page(source))


def _redis(memory_bytes: int | None, version: str, *, tls: bool | None) -> NodeLimits:
    """Up to version 6 encryption leaves room for far fewer connections, by size."""
    table = tables()["redis"]
    tier = _capacity_tier(memory_bytes)
    major = version.partition(".")[0]
    is_bound = tls and (not major.isdecimal() or int(major) <= table["tls_until_major"])
    if not is_bound:
        limit, source = table["maxclients"], table["source"]
    else:
        limit, source = (tier["tls_maxclients"] if tier else None), table["tls_source"]
    name = tier["name"] if tier else ""
    return NodeLimits(limit, limit, memory_bytes, memory_bytes, capacity_tier=name, source=page(source))


def _capacity_tier(memory_bytes: int | None) -> dict[str, Any] | None:
    if not memory_bytes:
        return None
    tiers: list[dict[str, Any]] = tables()["redis"]["capacity_tiers"]
    return next((tier for tier in tiers if memory_bytes <= tier["to_gib"] * GIB), None)


def units_most(product: str) -> int | None:
    """Return how many nodes, primaries and replicas together, one instance may have."""
    row = tables()["units"].get(product)
    return row["most"] if row else None


def end_of_life(product: str) -> EndOfLife | None:
    row = tables()["end_of_life"].get(product)
    if not row:
        return None
    first, last = (date.fromisoformat(row[name]) for name in ("no_new_from", "shutdown"))
    return EndOfLife(first, last, Product(row["successor"]), page(row["source"]))


def of(facts: ServiceFacts) -> NodeLimits:
    """Return the limits of an instance's nodes: what is published, and what its settings say otherwise."""
    given = facts.product, facts.node_type, facts.node_memory_bytes, facts.version
    found = of_node(*given, tls=facts.tls)
    changes: dict[str, Any] = {}
    if (clients := facts.configs.get("maxclients", "")).isdecimal():
        changes["maxclients"] = int(clients)
    if facts.product == Product.REDIS and (size := _gib(facts.configs.get("maxmemory-gb", ""))):
        changes["writable_bytes"] = size
    return replace(found, **changes) if changes else found


def _gib(text: str) -> int | None:
    """Return a size that is written in GiB, such as 4.5; None for what is no size."""
    return round(float(text) * GIB) if re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", text) else None
