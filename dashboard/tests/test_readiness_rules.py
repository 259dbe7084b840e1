"""Every rule of readiness at its borders, and what is not known is never well."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils.translation import override

from dashboard.readiness import RULES, Part, check, summary
from dashboard.readiness.inputs import Inputs, Measured, Origin
from dashboard.readiness.rules import Check
from dashboard.readiness.scaling import rooms_below
from dashboard.readiness.verdict import MARK_WORDS, SIGNS, Mark, worst

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
READY, CARE, NOT_READY, UNKNOWN, NONE = Mark.READY, Mark.CARE, Mark.NOT_READY, Mark.UNKNOWN, Mark.NONE
CLUSTER: dict[str, Any] = {"product": "valkey", "is_clustered": True}
REDIS: dict[str, Any] = {"product": "redis"}
SELF_RUN: dict[str, Any] = {"is_clustered": True}
PRODUCTS = ("redis", "redis-cluster", "valkey", "memcached", "")
GIB = 2**30


def seen(value: float, days: float = 0) -> Measured:
    return Measured(value, Origin.MONITORING, NOW - timedelta(days=days))


def judged(name: str, **given: Any) -> Check:
    measured: dict[str, Any] = {key: seen(value) if isinstance(value, float) else value for key, value in given.items()}
    return next(one for one in check(Inputs(NOW, **measured)) if one.rule.name == name)


def mark(name: str, **given: Any) -> Mark:
    return judged(name, **given).mark


def whole(**given: Any) -> Inputs:
    """Return a cluster of which everything is known, and well."""
    known: dict[str, Any] = {
        **CLUSTER,
        "node_type": "HIGHMEM_MEDIUM",
        "shards": 3,
        "replicas_per_shard": 1,
        "memory": seen(0.3),
        "cpu_primary": seen(0.2),
        "cpu_replica": seen(0.2),
        "biggest_key": seen(1_000),
        "connections": seen(100),
        "commands": seen(100),
        "used_bytes": seen(GIB),
        "node_bytes": seen(10 * GIB),
        "has_window": True,
        "has_auth": seen(1),
        "has_tls": seen(1),
    }
    return Inputs(NOW, **{**known, **given})


@pytest.mark.parametrize(
    ("level", "expected"),
    [(0.0, READY), (0.45, READY), (0.451, CARE), (0.5, CARE), (0.501, NOT_READY), (1.0, NOT_READY)],
)
def test_redis_needs_half_of_its_system_memory_for_maintenance(level: float, expected: Mark) -> None:
    assert mark("system-memory", **REDIS, system_memory=level) == expected


@pytest.mark.parametrize("product", ["redis-cluster", "valkey", "memcached", ""])
def test_the_rule_of_system_memory_is_about_redis_alone(product: str) -> None:
    assert mark("system-memory", product=product, system_memory=0.9) == NONE


@pytest.mark.parametrize(
    ("level", "expected"), [(0.72, READY), (0.721, CARE), (0.8, CARE), (0.801, NOT_READY), (1.0, NOT_READY)]
)
@pytest.mark.parametrize("kind", [CLUSTER, {"product": "redis-cluster"}, SELF_RUN], ids=["valkey", "redis", "own"])
def test_clusters_keep_a_fifth_for_a_replica(kind: dict[str, Any], level: float, expected: Mark) -> None:
    assert mark("replica-memory", **kind, memory=level) == expected


PRIMARIES: tuple[tuple[dict[str, Any], int | None, float, Mark], ...] = (
    (REDIS, 0, 0.9, CARE),
    (REDIS, 1, 0.81, READY),
    (REDIS, 1, 0.901, NOT_READY),
    (CLUSTER, 1, 0.45, READY),
    (CLUSTER, 1, 0.5, CARE),
    (CLUSTER, 1, 0.501, NOT_READY),
    (CLUSTER, 2, 0.501, READY),
    (CLUSTER, 2, 0.9, CARE),
    (CLUSTER, 5, 0.901, NOT_READY),
    (CLUSTER, 0, 0.1, NONE),
    (CLUSTER, None, 0.1, UNKNOWN),
    (SELF_RUN, 1, 0.501, NOT_READY),
    ({"product": "memcached"}, 0, 0.1, NONE),
    ({}, 1, 0.1, NONE),
)
REPLICAS = (
    (REDIS, 1, 0.45, READY),
    (REDIS, 1, 0.5, CARE),
    (REDIS, 5, 0.501, NOT_READY),
    (REDIS, 0, 0.1, NONE),
    (CLUSTER, 1, 0.5, CARE),
    (CLUSTER, 2, 0.501, NOT_READY),
    (CLUSTER, 0, 0.1, NONE),
    (CLUSTER, None, 0.1, UNKNOWN),
)


@pytest.mark.parametrize(
    ("role", "kind", "replicas", "level", "expected"),
    [*(("primary", *row) for row in PRIMARIES), *(("replica", *row) for row in REPLICAS)],
    ids=str,
)
def test_cpu_has_a_limit_by_role_and_replicas(
    role: str, kind: dict[str, Any], replicas: int | None, level: float, expected: Mark
) -> None:
    given = {**kind, "replicas_per_shard": replicas, f"cpu_{role}": level}

    assert mark(f"cpu-{role}", **given) == expected


def test_it_says_that_no_limit_is_published_without_replicas() -> None:
    found = judged("cpu-primary", **CLUSTER, replicas_per_shard=0, cpu_primary=0.99)

    assert found.verdict.sentence == "No limit is published for clusters without replicas."


@pytest.mark.parametrize(
    ("size", "days", "expected"),
    [
        (0, 0, READY),
        (115_200_000, 7, READY),
        (115_200_001, 0, CARE),
        (127_999_999, 0, CARE),
        (128_000_000, 0, NOT_READY),
        (1_000, 7.001, CARE),
        (128_000_000, 30, NOT_READY),
    ],
)
def test_a_key_of_128_mb_keeps_its_slot_where_it_is(size: float, days: float, expected: Mark) -> None:
    assert mark("biggest-key", **CLUSTER, biggest_key=seen(size, days)) == expected


@pytest.mark.parametrize(
    ("is_reached", "words"),
    [(True, "run one to know"), (False, "It cannot be known from here")],
    ids=["reached", "not reached"],
)
def test_a_key_that_nobody_scanned_is_not_known(is_reached: bool, words: str) -> None:
    verdict = judged("biggest-key", **CLUSTER, biggest_key=None, is_reached=is_reached).verdict

    assert verdict.mark == Mark.UNKNOWN
    assert words in verdict.sentence
    assert ("memkeys" in verdict.sentence) is not is_reached


def test_a_key_is_told_with_the_age_of_its_scan() -> None:
    assert "Scanned 2 d ago" in judged("biggest-key", **CLUSTER, biggest_key=seen(5, 2)).verdict.sentence


@pytest.mark.parametrize(
    ("connections", "commands", "expected"),
    [
        (0.0, 0.0, READY),
        (10_000.0, 15_000.0, READY),
        (10_001.0, 15_000.0, CARE),
        (10_000.0, 15_001.0, CARE),
        (31_999.0, 50_000.0, CARE),
        (32_000.0, 49_999.0, CARE),
        (32_000.0, 50_000.0, NOT_READY),
        (9_000.0, 90_000.0, CARE),
        (90_000.0, 90_000.0, NOT_READY),
    ],
)
def test_load_is_held_against_two_scalings_that_were_measured(
    connections: float, commands: float, expected: Mark
) -> None:
    assert mark("load", **CLUSTER, connections=connections, commands=commands) == expected


@pytest.mark.parametrize("missing", ["connections", "commands"])
def test_half_of_the_load_is_not_known(missing: str) -> None:
    given = {"connections": seen(1), "commands": seen(1)} | {missing: None}

    assert mark("load", **CLUSTER, **given) == UNKNOWN


@pytest.mark.parametrize(
    ("shards", "used", "expected", "figure"),
    [
        (3, 20 * GIB / 1.5, READY, "down to 2 shards"),
        (3, 20 * GIB / 1.5 + 1, NOT_READY, "no room"),
        (3, 10 * GIB / 1.5, READY, "down to 1 shard"),
        (250, 0.0, READY, "down to 1 shard"),
        (2, 10 * GIB / 1.5, READY, "down to 1 shard"),
    ],
)
def test_fewer_shards_must_hold_half_as_much_again(shards: int, used: float, expected: Mark, figure: str) -> None:
    found = judged("scale-in", **CLUSTER, shards=shards, used_bytes=used, node_bytes=10.0 * GIB)

    assert (found.mark, found.verdict.figure) == (expected, figure)


def test_one_shard_cannot_be_less() -> None:
    assert mark("scale-in", **CLUSTER, shards=1, used_bytes=1.0, node_bytes=1.0) == NONE


@pytest.mark.parametrize("missing", ["shards", "used_bytes", "node_bytes"])
def test_scale_in_wants_shards_memory_and_the_size_of_a_node(missing: str) -> None:
    given = {"shards": 3, "used_bytes": seen(1), "node_bytes": seen(9)} | {missing: None}

    assert mark("scale-in", **CLUSTER, **given) == UNKNOWN


def test_every_smaller_number_is_judged_down_to_the_first_that_is_too_small() -> None:
    rooms = list(rooms_below(6, used=20, node=10))

    assert [(room.shards, room.room, room.needed, room.fits) for room in rooms] == [
        (5, 50, 30, True),
        (4, 40, 30, True),
        (3, 30, 30, True),
        (2, 20, 30, False),
    ]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"product": "redis", "has_window": True}, READY),
        ({"product": "memcached", "has_window": False}, NOT_READY),
        ({"product": "valkey", "has_window": None}, UNKNOWN),
        ({"has_window": True}, NONE),
    ],
    ids=str,
)
def test_a_window_is_set_or_not(given: dict[str, Any], expected: Mark) -> None:
    assert mark("window", **given) == expected


@pytest.mark.parametrize(
    ("product", "replicas", "expected"),
    [("valkey", 0, CARE), ("valkey", 1, READY), ("redis", None, UNKNOWN), ("", 0, CARE), ("memcached", 0, NONE)],
)
def test_a_cache_without_replicas_takes_care(product: str, replicas: int | None, expected: Mark) -> None:
    assert mark("replicas", product=product, replicas_per_shard=replicas) == expected


@pytest.mark.parametrize(
    ("product", "node_type", "memory", "expected"),
    [
        ("valkey", "STANDARD_SMALL", None, READY),
        ("valkey", "SHARED_CORE_NANO", 0.98, CARE),
        ("valkey", "SHARED_CORE_NANO", 0.981, NOT_READY),
        ("redis-cluster", "REDIS_SHARED_CORE_NANO", None, CARE),
        ("redis-cluster", "", None, UNKNOWN),
        ("redis", "", None, NONE),
        ("", "", None, NONE),
    ],
)
def test_nano_nodes_are_outside_the_sla(product: str, node_type: str, memory: float | None, expected: Mark) -> None:
    assert mark("node-type", product=product, node_type=node_type, memory=memory) == expected


@pytest.mark.parametrize("name", ["auth", "tls"])
@pytest.mark.parametrize(("value", "expected"), [(1.0, READY), (0.0, NOT_READY), (None, UNKNOWN)])
def test_auth_and_tls_are_on_or_off(name: str, value: float | None, expected: Mark) -> None:
    assert mark(name, **CLUSTER, **{f"has_{name}": value}) == expected
    assert mark(name, product="memcached", **{f"has_{name}": value}) == NONE


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize("is_clustered", [True, False])
def test_what_is_not_known_is_never_ready(product: str, is_clustered: bool) -> None:
    marks = {one.mark for one in check(Inputs(NOW, product=product, is_clustered=is_clustered))}

    assert marks <= {UNKNOWN, NONE}


def test_a_cluster_that_is_well_is_ready_in_every_part() -> None:
    assert set(summary(check(whole())).values()) == {READY}


@pytest.mark.parametrize("missing", [field.name for field in fields(Inputs) if field.name not in {"now", "product"}])
def test_each_number_that_is_missing_is_missed(missing: str) -> None:
    unknowing = {"system_memory", "is_clustered", "is_reached"}
    gone: dict[str, Any] = {missing: "" if missing == "node_type" else None}

    found = check(whole(**gone))

    assert (UNKNOWN in {one.mark for one in found}) == (missing not in unknowing)


@pytest.mark.parametrize(
    ("marks", "expected"),
    [
        ([], NONE),
        ([NONE], NONE),
        ([NONE, READY], READY),
        ([READY, UNKNOWN], UNKNOWN),
        ([UNKNOWN, CARE], CARE),
        ([CARE, NOT_READY, UNKNOWN], NOT_READY),
    ],
)
def test_the_worst_mark_stands_for_all(marks: list[Mark], expected: Mark) -> None:
    assert worst(marks) == expected


def test_scale_in_does_not_spoil_the_other_parts() -> None:
    found = summary(check(whole(used_bytes=seen(25 * GIB))))

    assert (found[Part.SCALE_IN], found[Part.SCALING], found[Part.MAINTENANCE]) == (NOT_READY, READY, READY)


def test_every_mark_has_a_sign_and_a_word() -> None:
    assert [SIGNS[one] for one in (READY, CARE, NOT_READY)] == ["○", "△", "\u00d7"]
    assert len(set(SIGNS.values())) == len({str(MARK_WORDS[one]) for one in Mark}) == len(Mark)


def test_every_rule_names_who_published_it() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert all(rule.text and rule.title and rule.pages for rule in RULES)
    assert {rule.part for rule in RULES} == set(Part)


def test_a_check_tells_who_measured_and_when() -> None:
    older = Measured(9e9, Origin.INFO, NOW - timedelta(minutes=3))

    found = judged("scale-in", **CLUSTER, shards=3, used_bytes=seen(1), node_bytes=older)

    assert [str(origin) for origin in found.origins] == ["Cloud Monitoring", "INFO of the nodes"]
    assert found.measured_at == NOW - timedelta(minutes=3)


@pytest.mark.parametrize("given", [{}, {"product": "redis"}, CLUSTER, {"product": "memcached"}], ids=str)
def test_every_verdict_has_its_reason(given: dict[str, Any]) -> None:
    with override("en"):
        assert all(one.verdict.sentence.endswith(".") for one in [*check(Inputs(NOW, **given)), *check(whole())])
