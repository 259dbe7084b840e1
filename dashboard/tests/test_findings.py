"""Findings: when each speaks, what it says, and when it stays silent."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from dashboard import findings
from dashboard.findings import Finding, State, load, memory, reach
from dashboard.tests.cast import LONG_AGO, NOW, failing, member, summary, watched
from dashboard.watched import Watched

GIB = 2**30
FULL: dict[str, Any] = {"memory_used_ratio": 0.84, "used_memory": 84 * GIB}
GROWING: dict[str, Any] = {"memory_growth_bytes_per_second": 16 * GIB / 9 / 3600, "memory_growth_fit": 0.95}
EVICTS = {"maxmemory_policy": "allkeys-lru"}


def said(finding: Finding | None) -> Finding:
    assert finding is not None
    return finding


def test_it_says_how_full_how_uneven_and_when_it_ends() -> None:
    nodes = [member(1, memory_used_ratio=0.73), member(2, **FULL, **GROWING), member(3, memory_used_ratio=0.73)]

    found = said(memory.memory_full(watched(*nodes)))

    assert found.sentence == (
        "game-cache shard 2 primary uses 84% of maxmemory, 11 points more than its siblings;"
        " at this rate it is full in 9 h"
    )
    assert (found.state, found.figure, found.chart) == (State.WARNING, "84%", "memory")


@pytest.mark.parametrize(
    ("values", "facts", "state"),
    [
        ({"memory_used_ratio": 0.79}, {}, None),
        ({"memory_used_ratio": 0.80}, {}, State.WARNING),
        ({"memory_used_ratio": 0.95}, {}, State.CRITICAL),
        ({"memory_used_ratio": 1.0}, EVICTS, None),
        ({"memory_used_ratio": None, "used_memory": 10 * GIB}, {}, None),
        ({"memory_used_ratio": 0.6, "used_memory": 6 * GIB} | GROWING, {}, State.WARNING),
        ({"memory_used_ratio": 0.4, "used_memory": 4 * GIB} | GROWING, {}, None),
        ({"memory_used_ratio": 0.6, "used_memory": 6 * GIB} | GROWING | {"memory_growth_fit": 0.5}, {}, None),
    ],
)
def test_it_speaks_of_full_memory_only_where_it_ends_badly(
    values: dict[str, Any], facts: dict[str, str], state: State | None
) -> None:
    found = memory.memory_full(watched(member(facts=facts, **values)))

    assert (found.state if found else None) == state


VOLATILE = {"maxmemory_policy": "volatile-lru"}


def test_a_full_node_that_may_not_fill_is_found_behind_a_fuller_one_that_may() -> None:
    nodes = [member(1, facts=EVICTS, memory_used_ratio=1.0), member(2, memory_used_ratio=0.9)]

    assert said(memory.memory_full(watched(*nodes))).sentence.startswith("game-cache shard 2 primary uses 90%")


def test_it_warns_of_a_volatile_policy_with_little_to_drop() -> None:
    full: dict[str, Any] = {"facts": VOLATILE, "memory_used_ratio": 0.96, "keys": 1_000, "evicted_keys_per_second": 5.0}

    assert said(memory.memory_full(watched(member(keys_without_ttl=900, **full)))).state == "critical"
    assert memory.memory_full(watched(member(keys_without_ttl=100, **full))) is None


def test_it_warns_before_a_volatile_policy_is_full() -> None:
    filling: dict[str, Any] = {"facts": VOLATILE, "keys": 1_000, "keys_without_ttl": 100} | FULL | GROWING

    assert said(memory.memory_full(watched(member(**filling)))).state == State.WARNING
    assert memory.will_evict(watched(member(**filling))) is None


def test_it_says_when_evictions_will_begin() -> None:
    soon = member(2, facts=EVICTS, memory_used_ratio=0.6, used_memory=6 * GIB, **GROWING)
    later = member(1, facts=EVICTS, memory_used_ratio=0.5, used_memory=5 * GIB, **GROWING)

    found = said(memory.will_evict(watched(later, soon)))

    assert found.sentence == (
        "game-cache shard 2 primary uses 60% of maxmemory; at this rate it begins to evict keys in 2 h 15 min"
    )
    assert (found.state, found.figure) == (State.NOTICE, "2 h 15 min")


@pytest.mark.parametrize(
    "values",
    [
        {"facts": {}},
        {"memory_growth_fit": 0.3},
        {"memory_growth_bytes_per_second": -5.0},
        {"memory_growth_bytes_per_second": None},
        {"memory_used_ratio": 0.4},
        {"memory_used_ratio": None},
        {"used_memory": None},
    ],
)
def test_it_foretells_no_evictions_without_a_clear_trend(values: dict[str, Any]) -> None:
    given: dict[str, Any] = {"facts": EVICTS, "memory_used_ratio": 0.6, "used_memory": 6 * GIB} | GROWING | values

    assert memory.will_evict(watched(member(**given))) is None


def test_it_foretells_no_evictions_once_there_are_some() -> None:
    soon = member(facts=EVICTS, memory_used_ratio=0.9, used_memory=9 * GIB, **GROWING)

    assert memory.will_evict(watched(soon, latest=summary(evicted_keys_per_second=3.0))) is None


def test_it_names_the_uneven_shard_once() -> None:
    nodes = [member(1, memory_used_ratio=0.3), member(2, memory_used_ratio=0.7)]

    assert said(memory.memory_uneven(watched(*nodes))).sentence.startswith("game-cache shard 2 primary uses 70%")
    assert memory.memory_uneven(watched(nodes[0], member(2, memory_used_ratio=0.85))) is None


@pytest.mark.parametrize("level", [0.2, 0.55])
def test_it_is_silent_on_shards_that_differ_little_or_at_a_low_level(level: float) -> None:
    nodes = [member(1, memory_used_ratio=level - 0.14), member(2, memory_used_ratio=level)]

    assert memory.memory_uneven(watched(*nodes)) is None


@pytest.mark.parametrize(("level", "state"), [(0.79, None), (0.85, State.WARNING), (0.97, State.CRITICAL)])
def test_it_judges_the_busiest_main_thread(level: float, state: State | None) -> None:
    found = load.cpu_busy(watched(member(1, main_thread_cpu_ratio=level, cpu_ratio=2.5), member(2, cpu_ratio=0.1)))

    assert (found.state if found else None) == state


def test_it_names_the_shard_that_works_harder_than_its_siblings() -> None:
    nodes = [member(1, cpu_ratio=0.1), member(2, cpu_ratio=0.7), member(3, cpu_ratio=0.1)]

    found = said(load.cpu_uneven(watched(*nodes)))

    assert found.sentence == "game-cache shard 2 primary uses 70% of a core, its siblings 10% on average"


def test_it_names_the_fullest_node_and_its_limit() -> None:
    node = member(2, connections_used_ratio=0.93, connected_clients=9_300, maxclients=10_000)

    found = said(load.connections_full(watched(member(1, connections_used_ratio=0.1), node)))

    assert found.sentence == ("game-cache shard 2 primary has 9\u202f300 connections, 93% of the 10\u202f000 it allows")


def test_it_counts_cluster_links_as_connections_as_the_server_does() -> None:
    node = member(1, connections_used_ratio=0.928, connected_clients=454, maxclients=500)

    found = said(load.connections_full(watched(node, member(2, connections_used_ratio=0.1))))

    assert found.sentence == "game-cache shard 1 primary has 464 connections, 93% of the 500 it allows"


def test_it_calls_uneven_connections_by_name() -> None:
    nodes = [member(1, connections_used_ratio=0.1), member(2, connections_used_ratio=0.5)]

    assert "its siblings 10% on average" in said(load.connections_uneven(watched(*nodes))).sentence


@pytest.mark.parametrize(("rejected", "speaks"), [(None, False), (0.0, False), (2.5, True)])
def test_it_reports_rejected_connections(rejected: float | None, speaks: bool) -> None:
    found = load.connections_rejected(watched(latest=summary(rejected_connections_per_second=rejected)))

    assert bool(found) == speaks


def test_it_says_why_and_since_when_a_cache_is_unreachable() -> None:
    node = failing(member(1), NOW - timedelta(minutes=3))

    found = said(reach.unreachable(watched(node)))

    assert found.state == State.UNREACHABLE
    assert found.sentence == "game-cache has not answered for 3 min: connect: connection refused"
    assert found.reason == "connect failed"


@pytest.mark.parametrize(("role", "state"), [("primary", State.CRITICAL), ("replica", State.WARNING)])
def test_it_weighs_a_silent_node_by_its_role(role: str, state: State) -> None:
    nodes = [member(1), failing(member(2, role=role), NOW - timedelta(minutes=3))]

    found = said(reach.unreachable(watched(*nodes)))

    assert (found.state, found.figure, found.reason) == (state, "1/2", "1 of 2 nodes is silent")


def test_it_leaves_paused_caches_alone() -> None:
    assert reach.unreachable(watched(failing(member(1), LONG_AGO), is_paused=True)) is None


@pytest.mark.parametrize(
    ("slots_ok", "state_ok", "figure"), [(16_384, True, None), (16_384, False, ""), (10_923, False, "5\u202f461")]
)
def test_it_counts_uncovered_slots(slots_ok: int, state_ok: bool, figure: str | None) -> None:
    found = reach.slots_uncovered(watched(latest=summary(slots_ok=slots_ok, cluster_state_ok=state_ok)))

    assert (found.figure if found else None) == figure


@pytest.mark.parametrize(
    ("slots_ok", "sentence", "reason"),
    [
        (16_383, "1 of 16\u202f384 slots has no working primary", "1 slot uncovered"),
        (16_382, "2 of 16\u202f384 slots have no working primary", "2 slots uncovered"),
    ],
)
def test_it_counts_one_slot_as_one(slots_ok: int, sentence: str, reason: str) -> None:
    found = said(reach.slots_uncovered(watched(latest=summary(slots_ok=slots_ok, cluster_state_ok=False))))

    assert found.sentence == f"game-cache: {sentence}"
    assert found.reason == reason


def test_it_asks_no_slots_of_a_standalone_server() -> None:
    seen = summary(slots_ok=0, cluster_state_ok=False)

    assert reach.slots_uncovered(watched(latest=seen, topology="standalone")) is None


def test_it_reports_replicas_without_their_primary() -> None:
    assert "2 replicas have lost" in said(reach.replica_link_down(watched(latest=summary(links_down=2)))).sentence
    assert reach.replica_link_down(watched()) is None


def test_it_reports_a_replica_far_behind() -> None:
    slow = member(1, role="replica", replication_lag_seconds=42.0)

    assert said(reach.replica_lag(watched(slow))).sentence.endswith("shard 1 replica is 42 s behind its primary")


def test_it_misses_a_replica_only_where_siblings_have_one() -> None:
    bare = [member(1), member(2)]

    assert reach.shard_without_replica(watched(*bare)) is None
    assert "shard 2 has no replica" in said(reach.shard_without_replica(watched(*bare, member(1, "replica")))).sentence


def test_it_reports_a_restart_that_we_witnessed() -> None:
    node = member(1, uptime_in_seconds=90)

    assert said(reach.restarted(watched(node))).sentence == "game-cache restarted 1 min ago"
    node.node.joined_at = NOW - timedelta(seconds=60)
    assert reach.restarted(watched(node)) is None


def test_it_reports_loading_and_failed_snapshots() -> None:
    assert said(reach.loading(watched(member(loading=True)))).state == State.CRITICAL
    assert said(reach.save_failed(watched(member(rdb_last_bgsave_ok=False)))).state == State.WARNING
    assert reach.save_failed(watched(member(rdb_last_bgsave_ok=None))) is None


def test_it_tells_old_figures_from_a_dead_node() -> None:
    old = summary(at=NOW - timedelta(minutes=5))

    assert said(reach.stale(watched(member(), latest=old))).figure == "5 min"
    assert reach.stale(watched(failing(member(), LONG_AGO), latest=old)) is None
    assert reach.stale(watched(member())) is None


def test_it_only_notes_evictions_and_missing_limits() -> None:
    unlimited = member(maxmemory=0, used_memory=5 * GIB)

    assert said(memory.evictions(watched(latest=summary(evicted_keys_per_second=12.0)))).state == State.NOTICE
    assert said(memory.no_limit(watched(unlimited))).state == State.NOTICE
    assert memory.no_limit(watched(unlimited, plan_memory_bytes=GIB)) is None


@pytest.mark.parametrize(("used", "figure"), [(5 * GIB, "5\u00a0GiB"), (0, "0\u00a0B"), (None, "")])
def test_it_names_no_amount_that_is_not_known(used: int | None, figure: str) -> None:
    assert said(memory.no_limit(watched(member(maxmemory=0, used_memory=used)))).figure == figure


@pytest.mark.parametrize("check", findings.FINDINGS)
def test_it_says_nothing_of_what_is_not_reported(check: Any) -> None:
    silent = Watched(watched().cache, NOW, None, [])
    blank = watched(member(1), member(2))

    assert check(silent) is None
    assert check(blank) is None


def test_it_lists_the_worst_first() -> None:
    seen = summary(links_down=1, rejected_connections_per_second=3.0)

    states = [finding.state for finding in findings.of(watched(failing(member(1), LONG_AGO), latest=seen))]

    assert states == [State.UNREACHABLE, State.CRITICAL, State.WARNING]


@pytest.mark.parametrize(
    "hint",
    [
        {"answering": 1},
        {"cluster_state_ok": False},
        {"slots_ok": 16_000},
        {"links_down": 1},
        {"primaries": 3, "replicas": 2, "nodes": 2},
        {"memory_used_ratio": 0.8},
        {"memory_used_ratio": 0.7, "used_memory": 50, "memory_limit_bytes": 100},
        {"cpu_ratio": 0.3},
        {"connections_used_ratio": 0.3},
    ],
)
def test_it_looks_into_a_cache_whose_summary_hints_at_trouble(hint: dict[str, Any]) -> None:
    assert findings.deserves_a_look(summary(**hint))
    assert not findings.deserves_a_look(summary(memory_used_ratio=0.7, used_memory=65, memory_limit_bytes=100))


def test_it_is_less_alarmed_once_a_replica_took_over() -> None:
    old = failing(member(2), NOW - timedelta(minutes=3))

    assert said(reach.unreachable(watched(member(1), old))).state == State.CRITICAL
    assert said(reach.unreachable(watched(member(1), old, member(2)))).state == State.WARNING
