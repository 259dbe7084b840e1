"""A look at a target: each check at its bounds, and a real server."""

from collections.abc import Callable
from dataclasses import fields, replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from collectors.latest import CacheLatest
from collectors.models import NodeFact
from collectors.tests.cast import cache_with_nodes
from fleet.models import Cache
from launcher import valkey
from switches import preflight
from switches.preflight import Check, Known
from switches.tests.cast import cache, switch

VERSION = {"valkey_version": frozenset({"8.0.1"})}


def summary(**given: Any) -> CacheLatest:
    counts = {"cache_id": 1, "nodes": 2, "answering": 2, "primaries": 1, "replicas": 1, "links_down": 0}
    values: dict[str, Any] = {field.name: None for field in fields(CacheLatest)} | counts | given
    return CacheLatest(**values)


def seen(facts: dict[str, frozenset[str]] | None = None, slowest: float | None = None, **given: Any) -> Known:
    # Parameters are made long before they are looked at.
    return Known(summary(at=timezone.now() + timedelta(hours=1), **given), facts or {}, slowest)


def verdicts(target: Known, now: Known | None = None) -> dict[str, str]:
    rows = preflight.of_samples(Cache(poll_interval_seconds=15), target, now or Known())
    return {found.check: found.verdict for found in rows}


def test_a_sound_target_is_sound() -> None:
    facts = VERSION | {"maxmemory_policy": frozenset({"allkeys-lru"})}
    figures = {"memory_limit_bytes": 100, "used_memory": 50, "connected_clients": 10, "fullest_maxclients": 1_000}
    known = seen(facts, 0.001, keys=5, hit_ratio=0.9, **figures)

    assert set(verdicts(known, known).values()) == {"ok"}
    assert len(verdicts(known, known)) == len(Check) - 1


def test_a_target_that_nobody_polls_is_refused() -> None:
    assert verdicts(Known()) == {"polled": "failed"}
    assert verdicts(Known(replace(summary(), at=None))) == {"polled": "failed"}


def test_what_a_server_does_not_report_is_unknown() -> None:
    told = verdicts(seen())

    assert {told[name] for name in ("version", "memory", "policy", "connections", "latency", "warmth")} == {"unknown"}


@pytest.mark.parametrize(
    ("check", "target", "now", "verdict"),
    [
        ("role", seen(primaries=0), Known(), "failed"),
        ("polled", seen(nodes=3, answering=2), Known(), "warning"),
        ("warmth", seen(keys=0), Known(), "warning"),
        ("memory", seen(memory_limit_bytes=99), seen(used_memory=100), "warning"),
        ("memory", seen(memory_limit_bytes=100), seen(used_memory=100), "ok"),
        ("version", seen({"redis_version": frozenset({"7.2.4"})}), seen(VERSION), "warning"),
        ("version", seen({"valkey_version": frozenset({"8.0.10"})}), seen(VERSION), "ok"),
        (
            "policy",
            seen({"maxmemory_policy": frozenset({"a"})}),
            seen({"maxmemory_policy": frozenset({"b"})}),
            "warning",
        ),
        ("latency", seen(slowest=0.0041), seen(slowest=0.002), "warning"),
        ("latency", seen(slowest=0.0009), seen(slowest=0.0001), "ok"),
        ("connections", seen(nodes=1, connected_clients=0, fullest_maxclients=100), seen(connected_clients=80), "ok"),
        (
            "connections",
            seen(nodes=1, connected_clients=1, fullest_maxclients=100),
            seen(connected_clients=80),
            "warning",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_target_is_held_against_the_cache_of_now(check: str, target: Known, now: Known, verdict: str) -> None:
    assert verdicts(target, now)[check] == verdict


@pytest.mark.django_db
def test_facts_are_those_of_primaries() -> None:
    made = cache_with_nodes(1, 1)
    primary, replica = made.nodes.order_by("pk")
    for node, value in ((primary, "8.0.1"), (replica, "7.2.0")):
        NodeFact.objects.create(node=node, name="valkey_version", value=value, since=timezone.now())

    assert preflight.known(made).fact("valkey_version", "redis_version") == "8.0.1"


@pytest.mark.django_db
def test_a_real_server_is_reached(valkey_server: Callable[[], valkey.Valkey]) -> None:
    cache("real", valkey_server().url)

    reach, polled = preflight.look(switch(), Cache.objects.get())

    assert (reach.check, reach.verdict, polled.verdict) == ("reach", "ok", "failed")
    assert reach.as_json()["data"]["step"] == "layout"


@pytest.mark.django_db
def test_a_dead_server_is_not() -> None:
    cache("dead", "redis://127.0.0.1:1")

    reach, *_others = preflight.look(switch(), Cache.objects.get())

    assert reach.verdict == "failed"
    assert "listens" in reach.data["sentence"]
