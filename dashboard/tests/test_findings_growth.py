"""Advice from the last hours: when it speaks, what it says, and when it stays silent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from dashboard.findings import Finding, State, growth
from dashboard.past import Past
from dashboard.tests.cast import NOW, failing, member, watched
from dashboard.watched import Watched, WatchedNode

Points = Sequence[float | None]
CLIMB = [100.0 + 10 * step for step in range(9)]
STEADY = [500.0] * 9


def after(node: WatchedNode, *others: WatchedNode, **trends: Points) -> Watched:
    """Return a cache whose first node has these trends."""
    return replace(watched(node, *others), past=Past(trends={name: {node.node.pk: t} for name, t in trends.items()}))


def said(finding: Finding | None) -> Finding:
    assert finding is not None
    assert finding.state is State.NOTICE
    return finding


def test_it_calls_connections_a_leak_that_climb_without_work() -> None:
    cache = after(member(2), member(1), connected_clients=CLIMB, commands_per_second=STEADY)

    found = said(growth.connection_leak(cache))

    assert found.sentence == (
        "game-cache shard 2 primary has 80 connections more than 2 h ago, now 180, but no more commands: a leak?"
    )
    assert (found.figure, found.chart) == ("+80", "connections")


def climbing(first: float, last: float, points: int = 9) -> list[float]:
    return [first + (last - first) * step / (points - 1) for step in range(points)]


@pytest.mark.parametrize(
    ("open_", "commands", "speaks"),
    [
        (climbing(100, 150), STEADY, True),
        (climbing(100, 149), STEADY, False),
        (climbing(1_000, 1_300), STEADY, True),
        (climbing(1_000, 1_290), STEADY, False),
        (climbing(100, 200, 8), STEADY, True),
        (climbing(100, 200, 7), STEADY, False),
        (climbing(100, 200), climbing(500, 900), False),
        (climbing(100, 400), climbing(500, 600), True),
        (climbing(0, 200), STEADY, True),
        (climbing(200, 100), STEADY, False),
        ([100.0, 100, 300, 100, 100, 100, 100, 300, 200], STEADY, False),
        (STEADY, STEADY, False),
        (CLIMB, (), False),
        (CLIMB, [None] * 9, False),
        ((), STEADY, False),
    ],
)
def test_it_tells_a_leak_from_load_and_from_noise(open_: Points, commands: Points, speaks: bool) -> None:
    cache = after(member(), connected_clients=open_, commands_per_second=commands)

    assert bool(growth.connection_leak(cache)) == speaks


def test_it_looks_at_the_time_after_the_last_gap_only() -> None:
    broken: Points = [10.0, 10.0, None, *CLIMB[:5]]

    assert growth.connection_leak(after(member(), connected_clients=broken, commands_per_second=STEADY)) is None


def test_it_waits_for_the_point_that_has_just_begun() -> None:
    cache = after(member(), connected_clients=[*CLIMB, None], commands_per_second=[*STEADY, None])

    assert growth.connection_leak(cache)


def test_it_sees_no_leak_on_a_node_that_is_silent() -> None:
    node = failing(member(), NOW - timedelta(minutes=3))

    assert growth.connection_leak(after(node, connected_clients=CLIMB, commands_per_second=STEADY)) is None


@pytest.mark.parametrize(
    ("keys", "policy", "speaks"),
    [
        ([100_000.0, 110_000.0], "noeviction", True),
        ([100_000.0, 109_999.0], "noeviction", False),
        ([200_000.0, 215_000.0], "noeviction", False),
        ([0.0, 10_000.0], "noeviction", True),
        ([0.0, 9_999.0], "noeviction", False),
        ([100_000.0, 200_000.0], "volatile-lru", True),
        ([100_000.0, 200_000.0], "allkeys-lru", False),
        ([100_000.0, 200_000.0], "", True),
        ([100_000.0], "noeviction", False),
        ((), "noeviction", False),
        ([None, None], "noeviction", False),
    ],
)
def test_it_speaks_of_lasting_keys_that_become_many_more(keys: Points, policy: str, speaks: bool) -> None:
    node = member(facts={"maxmemory_policy": policy})

    assert bool(growth.lasting_keys_growing(after(node, keys_without_ttl=keys))) == speaks


def test_it_says_how_many_lasting_keys_came_in_which_time() -> None:
    found = said(growth.lasting_keys_growing(after(member(), keys_without_ttl=[1e6, 1.1e6, 1.2e6, 1.3e6, 1.5e6])))

    assert found.sentence == "game-cache keeps 500k more keys without a time to live than 1 h ago, now 1.50M"
    assert found.figure == "+500k"


def test_it_counts_no_keys_twice_on_replicas() -> None:
    assert growth.lasting_keys_growing(after(member(role="replica"), keys_without_ttl=[0.0, 1e6])) is None


def copied(*siblings: WatchedNode, times: float = 2.0) -> Finding | None:
    source = member(1, uptime_in_seconds=90_000)
    cache = watched(source, *siblings)
    return growth.full_resyncs(replace(cache, past=Past(full_resyncs={source.node.pk: times})))


def test_it_counts_full_copies() -> None:
    assert "sent 2 full copies to replicas in the last hour" in said(copied()).sentence
    assert "sent 1 full copy to a replica" in said(copied(times=1.0)).sentence


@pytest.mark.parametrize(
    ("times", "sibling", "speaks"),
    [
        (0.0, {}, False),
        (0.4, {}, False),
        (1.0, {"uptime_in_seconds": 3_599}, False),
        (2.0, {"uptime_in_seconds": 3_599}, True),
        (1.0, {"uptime_in_seconds": 3_600}, True),
        (1.0, {}, True),
    ],
)
def test_it_leaves_out_the_first_copy_of_a_replica_that_restarted(
    times: float, sibling: dict[str, Any], speaks: bool
) -> None:
    assert bool(copied(member(1, role="replica", **sibling), times=times)) == speaks


def test_it_leaves_out_the_first_copy_of_a_replica_that_joined() -> None:
    replica = member(1, role="replica", uptime_in_seconds=90_000)
    replica.node.joined_at = NOW - timedelta(minutes=59)

    assert copied(replica, times=1.0) is None


def test_it_does_not_excuse_copies_by_replicas_of_other_shards() -> None:
    assert copied(member(2, role="replica", uptime_in_seconds=5), times=1.0)


@pytest.mark.parametrize(
    ("bytes_", "seconds", "link", "speaks"),
    [
        (30e6, 1.0, True, True),
        (29e6, 1.0, True, False),
        (90e6, None, True, True),
        (90e6, 60.0, True, False),
        (90e6, 1.0, False, False),
        (None, 1.0, True, False),
    ],
)
def test_it_says_what_a_failover_would_lose(
    bytes_: float | None, seconds: float | None, link: bool, speaks: bool
) -> None:
    replica = member(1, "replica", replication_lag_bytes=bytes_, replication_lag_seconds=seconds, master_link_up=link)

    found = growth.replica_bytes(watched(member(1), replica))

    assert (found.url if found else "") == ("/caches/game-cache/internals/#replication" if speaks else "")


def test_it_has_no_advice_about_hours_that_nobody_saw() -> None:
    assert [check.__name__ for check in growth.ADVICE if check(watched(member(uptime_in_seconds=5)))] == []
