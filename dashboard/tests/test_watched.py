"""What is known of a node and a cache at one moment."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import translation

from dashboard.tests.cast import LONG_AGO, NOW, failing, member, summary, watched
from dashboard.watched import NEW_NODE, STALE_INTERVALS, Watched, WatchedNode, place
from fleet.models import Cache, Node, Shard


def lost(node: WatchedNode) -> WatchedNode:
    """Return the node after it failed and its shard went on without it."""
    node.node.role = ""
    return failing(node, NOW)


@pytest.mark.parametrize(
    ("facts", "keys", "without_ttl", "evicted", "evicts"),
    [
        ({"maxmemory_policy": "allkeys-lru"}, None, None, None, True),
        ({"maxmemory_policy": "allkeys-random"}, 100, 100, 0.0, True),
        ({"maxmemory_policy": "noeviction"}, 100, 0, 0.0, False),
        ({"maxmemory_policy": "volatile-lru"}, 100, 50, 2.5, True),
        ({"maxmemory_policy": "volatile-ttl"}, 100, 0, 2.5, True),
        ({"maxmemory_policy": "volatile-lru"}, 100, 51, 2.5, False),
        ({"maxmemory_policy": "volatile-lru"}, 100, 0, 0.0, False),
        ({"maxmemory_policy": "volatile-lru"}, 100, 0, None, False),
        ({"maxmemory_policy": "volatile-ttl"}, 0, 0, 2.5, False),
        ({"maxmemory_policy": "volatile-ttl"}, None, 0, 2.5, False),
        ({"maxmemory_policy": "volatile-ttl"}, 100, None, 2.5, False),
        ({"maxmemory_policy": ""}, 100, 0, 2.5, False),
        ({}, 100, 0, 2.5, False),
    ],
)
def test_a_full_memory_is_by_design_where_enough_is_dropped(
    facts: dict[str, str], keys: int | None, without_ttl: int | None, evicted: float | None, evicts: bool
) -> None:
    node = member(facts=facts, keys=keys, keys_without_ttl=without_ttl, evicted_keys_per_second=evicted)

    assert (node.evicts, node.must_not_fill) == (evicts, not evicts)


@pytest.mark.parametrize(("without_ttl", "evicts"), [(10, True), (90, False)])
def test_a_replica_drops_what_its_primary_drops(without_ttl: int, evicts: bool) -> None:
    facts = {"maxmemory_policy": "volatile-lru"}

    node = member(role="replica", facts=facts, keys=100, keys_without_ttl=without_ttl, evicted_keys_per_second=0.0)

    assert node.evicts is evicts


@pytest.mark.parametrize(
    ("facts", "version"),
    [
        ({}, ""),
        ({"redis_version": "7.2.4"}, "Redis 7.2.4"),
        ({"redis_version": "7.2.4", "valkey_version": "9.0.0"}, "Valkey 9.0.0"),
        ({"redis_version": ""}, ""),
    ],
)
def test_valkey_is_not_called_by_the_version_that_it_imitates(facts: dict[str, str], version: str) -> None:
    assert member(facts=facts).version == version


@pytest.mark.parametrize(
    ("given", "ratio"),
    [
        ({}, None),
        ({"cpu_ratio": 0.5}, 0.5),
        ({"main_thread_cpu_ratio": 0.2, "cpu_ratio": 0.5}, 0.2),
        ({"main_thread_cpu_ratio": 0.0, "cpu_ratio": 0.5}, 0.0),
    ],
)
def test_the_main_thread_counts_before_all_threads(given: dict[str, Any], ratio: float | None) -> None:
    assert member(**given).cpu_ratio == ratio


def test_a_silent_node_has_no_figures() -> None:
    node = member(used_memory=5)

    assert node.value("used_memory") == 5
    assert failing(node, NOW).value("used_memory") is None
    assert WatchedNode(node.node).value("used_memory") is None


@pytest.mark.parametrize("value", [0, 0.0, False])
def test_a_reported_zero_is_known(value: float) -> None:
    assert member(used_memory=value).value("used_memory") == 0


@pytest.mark.parametrize(
    ("age", "words"),
    [
        (timedelta(0), "waiting for the second sample"),
        (NEW_NODE, "waiting for the second sample"),
        (NEW_NODE + timedelta(seconds=1), ""),
        (timedelta(days=3), ""),
    ],
)
def test_a_new_node_waits_for_its_second_sample(age: timedelta, words: str) -> None:
    node = member(used_memory=1)
    node.node.joined_at = NOW - age

    assert node.no_rate == words


@pytest.mark.parametrize(
    ("language", "names"),
    [
        ("en", ["shard 2 primary", "shard 2 replica", "shard 2 former primary"]),
        ("ja", ["シャード", "シャード", "シャード"]),
    ],
)
def test_a_sentence_calls_a_node_by_shard_and_role(language: str, names: list[str]) -> None:
    nodes = [member(2), member(2, "replica"), lost(member(2))]

    with translation.override(language):
        called = [node.name for node in nodes]

    assert all(part in name for part, name in zip(names, called, strict=True))
    assert len({*called}) == 3


def test_a_node_of_the_only_shard_is_called_by_its_address() -> None:
    node = member()

    assert WatchedNode(node.node).name == "10.0.0.1:6379"


@pytest.mark.parametrize(
    ("role", "is_failing", "expected"), [("", True, True), ("", False, False), ("primary", True, False)]
)
def test_a_former_primary_failed_and_was_replaced(role: str, is_failing: bool, expected: bool) -> None:
    node = member()
    node.node.role = role

    assert (failing(node, NOW) if is_failing else node).is_former_primary == expected


@pytest.mark.parametrize(
    ("intervals", "is_paused", "is_stale"),
    [(0, False, False), (STALE_INTERVALS, False, False), (STALE_INTERVALS + 0.1, False, True), (999, True, False)],
)
def test_figures_are_old_after_some_polls_that_did_not_come(intervals: float, is_paused: bool, is_stale: bool) -> None:
    at = NOW - timedelta(seconds=15 * intervals)

    assert watched(latest=summary(at=at), poll_interval_seconds=15, is_paused=is_paused).is_stale == is_stale


@pytest.mark.parametrize("latest", [None, summary(at=None)])
def test_a_cache_that_was_never_polled_is_not_old(latest: Any) -> None:
    assert not Watched(Cache(created_at=LONG_AGO), NOW, latest).is_stale


@pytest.mark.parametrize(
    ("nodes", "shards"),
    [([], None), ([member(1)], 1), ([member(1), member(1, "replica"), member(2)], 2)],
)
def test_unread_nodes_are_no_missing_shards(nodes: list[WatchedNode], shards: int | None) -> None:
    assert watched(*nodes).shards == shards


def test_lists_go_by_shard_with_the_primary_first_and_the_lost_last() -> None:
    first, second = Shard(number=1), Shard(number=10)
    nodes = [Node(shard=None), Node(shard=second, role="primary"), Node(shard=first), Node(shard=first, role="primary")]

    ordered = sorted(nodes, key=place)

    assert [(node.shard and node.shard.number, bool(node.role)) for node in ordered] == [
        (1, True),
        (1, False),
        (10, True),
        (None, False),
    ]
