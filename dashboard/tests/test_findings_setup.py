"""Advice about how caches are set up: when it speaks, what it says, and when it stays silent."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from dashboard.findings import Finding, State, setup
from dashboard.past import Past
from dashboard.tests.cast import member, summary, watched
from dashboard.watched import Watched
from fleet.secrets import Secret

FULL: dict[str, Any] = {"memory_used_ratio": 0.9, "maxmemory": 2**30}
STRICT = {"maxmemory_policy": "noeviction"}
MIGHTY = {"default_user": "all"}
REMOTE: dict[str, Any] = {"address": "redis://10.0.0.1:6379"}


def said(finding: Finding | None) -> Finding:
    assert finding is not None
    assert finding.state is State.NOTICE
    return finding


def knowing(cache: Watched, **past: Any) -> Watched:
    return replace(cache, past=Past(**past))


@pytest.mark.parametrize(
    ("values", "facts", "speaks"),
    [
        (FULL | {"memory_used_ratio": 0.85}, STRICT, True),
        (FULL | {"memory_used_ratio": 0.849}, STRICT, False),
        (FULL, {"maxmemory_policy": "allkeys-lru"}, False),
        (FULL, {"maxmemory_policy": "volatile-lru"}, False),
        (FULL, {}, False),
        (FULL | {"maxmemory": 0}, STRICT, False),
        (FULL | {"maxmemory": None}, STRICT, False),
        ({"maxmemory": 2**30}, STRICT, False),
    ],
)
def test_it_foretells_refused_writes_where_nothing_is_evicted(
    values: dict[str, Any], facts: dict[str, str], speaks: bool
) -> None:
    assert bool(setup.writes_refused_soon(watched(member(facts=facts, **values)))) == speaks


def test_it_names_the_policy_to_choose() -> None:
    found = said(setup.writes_refused_soon(watched(member(2, facts=STRICT, **FULL), member(1))))

    assert found.sentence.startswith(
        "game-cache shard 2 primary evicts nothing (noeviction) and is 90% full: at 100% it"
    )
    assert "allkeys-lru" in found.sentence


@pytest.mark.parametrize(("databases", "speaks"), [(0, False), (1, False), (2, True), (None, False)])
def test_it_counts_logical_databases(databases: int | None, speaks: bool) -> None:
    node = member()
    known = {} if databases is None else {node.node.pk: databases}

    assert bool(setup.several_databases(knowing(watched(node), databases=known))) == speaks


def at(day: str, **facts: str) -> Finding | None:
    return setup.version_ended(
        replace(watched(member(facts=facts)), now=datetime.fromisoformat(day).replace(tzinfo=UTC))
    )


@pytest.mark.parametrize(
    ("day", "facts", "speaks"),
    [
        ("2024-07-28", {"redis_version": "7.0.15"}, False),
        ("2024-07-29", {"redis_version": "7.0.15"}, True),
        ("2026-11-01", {"redis_version": "3.2.12"}, True),
        ("2026-11-01", {"redis_version": "6.2.14"}, False),
        ("2026-11-01", {"redis_version": "7.4.1"}, False),
        ("2026-11-01", {"redis_version": "9.9.9"}, False),
        ("2026-11-01", {"redis_version": "7.2.4", "valkey_version": "8.1.0"}, False),
        ("2030-03-30", {"redis_version": "7.2.4", "valkey_version": "8.1.0"}, False),
        ("2030-03-31", {"redis_version": "7.2.4", "valkey_version": "8.1.0"}, True),
        ("2026-11-01", {"redis_version": "unstable"}, False),
        ("2026-11-01", {"redis_version": "7"}, False),
        ("2026-11-01", {}, False),
    ],
)
def test_it_knows_which_versions_are_mended_no_more(day: str, facts: dict[str, str], speaks: bool) -> None:
    assert bool(at(day, **facts)) == speaks


def test_it_says_since_when_a_version_is_mended_no_more() -> None:
    found = said(at("2026-11-01", redis_version="7.0.15"))

    assert found.sentence.startswith("game-cache runs Redis 7.0.15: its makers ended fixes on July 29, 2024")


@pytest.mark.parametrize(
    ("given", "speaks"),
    [
        ({"address": "redis://10.0.0.1:6379", "password": Secret("stored")}, True),
        ({"address": "rediss://10.0.0.1:6379", "password": Secret("stored")}, False),
        ({"address": "redis://127.0.0.1:6379", "password": Secret("stored")}, False),
        ({"address": "redis://10.0.0.1:6379", "password": Secret("stored"), "is_demo": True}, False),
        ({"address": "redis://10.0.0.1:6379"}, False),
    ],
)
def test_it_speaks_of_passwords_in_clear_text(given: dict[str, Any], speaks: bool) -> None:
    assert bool(setup.no_encryption(watched(member(used_memory=1), **given))) == speaks


def test_it_says_nothing_of_encryption_before_the_first_answer() -> None:
    cache = watched(member(), latest=summary(), password=Secret("stored"), **REMOTE)

    assert setup.no_encryption(replace(cache, latest=None)) is None


@pytest.mark.parametrize(
    ("rights", "speaks"),
    [
        ("all", True),
        ("limited", False),
        ("", False),
    ],
)
def test_it_speaks_of_a_default_user_that_may_do_everything(rights: str, speaks: bool) -> None:
    cache = knowing(watched(member(facts={"default_user": rights}), **REMOTE), connections_by_user={"default": 40})

    assert bool(setup.default_user(cache)) == speaks


def test_it_counts_the_connections_of_the_default_user() -> None:
    cache = knowing(watched(member(facts=MIGHTY), **REMOTE), connections_by_user={"default": 40, "game": 900})

    assert said(setup.default_user(cache)).sentence.startswith("40 connections of game-cache use the default user")


@pytest.mark.parametrize(
    ("users", "given"),
    [
        ({"game": 40}, REMOTE),
        ({}, REMOTE),
        ({"default": 40}, REMOTE | {"is_demo": True}),
        ({"default": 40}, {"address": "redis://localhost:6379"}),
    ],
)
def test_it_minds_a_mighty_default_user_only_where_applications_use_it(
    users: dict[str, int], given: dict[str, Any]
) -> None:
    assert setup.default_user(knowing(watched(member(facts=MIGHTY), **given), connections_by_user=users)) is None


@pytest.mark.parametrize(
    ("ahead", "words"),
    [(5.0, "5 s ahead"), (4.99, ""), (-5.0, "5 s behind"), (-4.99, ""), (7_200.0, "2 h ahead"), (None, "")],
)
def test_it_speaks_of_a_clock_that_differs_from_ours(ahead: float | None, words: str) -> None:
    node = member()
    known = {} if ahead is None else {node.node.pk: ahead}

    found = setup.clock_skew(knowing(watched(node), clock_ahead_seconds=known))

    assert bool(found) == bool(words)
    assert words in (found.sentence.replace("\u00a0", " ") if found else "")


def test_it_has_no_advice_about_a_node_of_which_nothing_is_known() -> None:
    nothing = watched(member(), latest=summary(), **REMOTE)

    assert [check.__name__ for check in setup.ADVICE if check(nothing)] == []
