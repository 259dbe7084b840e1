"""Advice: when each speaks, what it says, and when it stays silent."""

from __future__ import annotations

from typing import Any

import pytest

from dashboard import findings
from dashboard.findings import State, advice
from dashboard.tests.cast import member, summary, watched
from dashboard.watched import Watched
from fleet.secrets import Secret

GIB, MIB = 2**30, 2**20
VOLATILE = {"maxmemory_policy": "volatile-lru"}
FRAGMENTED: dict[str, Any] = {"mem_fragmentation_ratio": 1.8, "used_memory_rss": 900 * MIB, "used_memory": 500 * MIB}


def sentence(check: Any, *nodes: Any, **cache: Any) -> str:
    found = check(watched(*nodes, **cache))
    assert found is None or found.state is State.NOTICE
    return found.sentence if found else ""


def test_it_names_the_shard_that_serves_most() -> None:
    nodes = [member(1, commands_per_second=400.0), member(2, commands_per_second=2_000.0)]

    assert sentence(advice.hot_shard, *nodes).startswith("game-cache shard 2 primary runs 2")


@pytest.mark.parametrize("rates", [(100.0, 400.0), (1_000.0, 1_900.0), (3_000.0,), (None, 4_000.0)])
def test_it_calls_no_shard_hot_without_siblings_or_traffic(rates: tuple[float | None, ...]) -> None:
    nodes = [member(number, commands_per_second=value) for number, value in enumerate(rates)]

    assert sentence(advice.hot_shard, *nodes) == ""


@pytest.mark.parametrize(
    ("hits", "misses", "speaks"), [(20.0, 180.0, True), (150.0, 50.0, False), (2.0, 18.0, False), (None, None, False)]
)
def test_it_speaks_of_a_low_hit_ratio_where_there_is_traffic(
    hits: float | None, misses: float | None, speaks: bool
) -> None:
    node = member(keyspace_hits_per_second=hits, keyspace_misses_per_second=misses)

    assert bool(sentence(advice.low_hit_ratio, node)) == speaks


@pytest.mark.parametrize(("new", "kept", "speaks"), [(50.0, 100, True), (50.0, 1_000, False), (5.0, 2, False)])
def test_it_tells_churn_from_a_few_new_connections(new: float, kept: int, speaks: bool) -> None:
    node = member(connections_received_per_second=new, connected_clients=kept)

    assert bool(sentence(advice.connection_churn, node)) == speaks


@pytest.mark.parametrize(("blocked", "clients", "speaks"), [(40, 100, True), (9, 10, False), (40, 1_000, False)])
def test_it_speaks_of_many_blocked_clients(blocked: int, clients: int, speaks: bool) -> None:
    node = member(blocked_clients=blocked, connected_clients=clients)

    assert bool(sentence(advice.blocked_clients, node)) == speaks


@pytest.mark.parametrize(
    ("facts", "keys", "lasting", "speaks"),
    [
        (VOLATILE, 50_000, 48_000, True),
        (VOLATILE, 50_000, 20_000, False),
        (VOLATILE, 500, 500, False),
        ({"maxmemory_policy": "allkeys-lru"}, 50_000, 50_000, False),
        ({}, 50_000, 50_000, False),
    ],
)
def test_it_warns_of_a_policy_that_finds_nothing_to_evict(
    facts: dict[str, str], keys: int, lasting: int, speaks: bool
) -> None:
    node = member(facts=facts, keys=keys, keys_without_ttl=float(lasting))

    assert bool(sentence(advice.nothing_to_evict, node)) == speaks


def test_it_says_how_much_memory_lies_idle() -> None:
    assert "1.80 times" in sentence(advice.fragmentation, member(**FRAGMENTED))
    assert sentence(advice.fragmentation, member(**(FRAGMENTED | {"used_memory_rss": 90 * MIB}))) == ""
    assert sentence(advice.fragmentation, member(**(FRAGMENTED | {"mem_fragmentation_ratio": None}))) == ""


@pytest.mark.parametrize(("used", "beside", "speaks"), [(GIB, 0.6, True), (GIB, 0.4, False), (MIB, 0.9, False)])
def test_it_speaks_of_overhead_on_servers_of_a_size(used: int, beside: float, speaks: bool) -> None:
    node = member(used_memory=used, used_memory_overhead=int(used * beside))

    assert bool(sentence(advice.overhead, node)) == speaks


def test_it_speaks_of_a_client_that_does_not_read() -> None:
    assert "100 MiB" in sentence(advice.output_buffers, member(client_recent_max_output_buffer=100 * MIB)).replace(
        "\u202f", " "
    ).replace("\u00a0", " ")
    assert sentence(advice.output_buffers, member(client_recent_max_output_buffer=MIB)) == ""


def test_it_speaks_of_a_fork_that_stopped_the_server() -> None:
    assert sentence(advice.slow_fork, member(latest_fork_usec=1_500_000))
    assert sentence(advice.slow_fork, member(latest_fork_usec=90_000)) == ""


def test_it_lists_mixed_versions() -> None:
    old, new = member(1, facts={"valkey_version": "8.1.0"}), member(2, facts={"valkey_version": "9.1.2"})

    assert "Valkey 8.1.0, Valkey 9.1.2" in sentence(advice.mixed_versions, old, new)
    assert sentence(advice.mixed_versions, new, new) == ""


def test_it_says_when_nodes_see_different_clusters() -> None:
    nodes = [member(1, cluster_known_nodes=6), member(2, cluster_known_nodes=5)]

    assert "on their number: some count 5, others 6" in sentence(advice.nodes_disagree, *nodes)
    assert sentence(advice.nodes_disagree, *nodes, topology="standalone") == ""


def test_it_says_when_nodes_do_not_know_the_same_slots() -> None:
    whole = member(1, cluster_known_nodes=6, cluster_slots_assigned=16_384)
    cut_off = member(2, cluster_known_nodes=6, cluster_slots_assigned=10_923)

    said = sentence(advice.nodes_disagree, whole, cut_off)

    assert said.endswith("on the slots that are assigned: some count 10\u202f923, others 16\u202f384")
    assert sentence(advice.nodes_disagree, whole, whole, member(3)) == ""


def test_it_asks_for_a_connection_limit_that_is_not_reported() -> None:
    assert sentence(advice.no_connection_limit, member(connected_clients=5))
    assert sentence(advice.no_connection_limit, member(connected_clients=5), plan_maxclients=100) == ""
    assert sentence(advice.no_connection_limit, member(maxclients=100)) == ""


@pytest.mark.parametrize(
    ("given", "speaks"),
    [
        ({"address": "redis://10.0.0.1:6379"}, True),
        ({"address": "redis://127.0.0.1:6379"}, False),
        ({"address": "redis://10.0.0.1:6379", "is_demo": True}, False),
        ({"address": "redis://10.0.0.1:6379", "password": Secret("stored")}, False),
    ],
)
def test_it_says_when_anybody_may_read(given: dict[str, Any], speaks: bool) -> None:
    assert bool(sentence(advice.open_to_all, member(used_memory=1), **given)) == speaks


def test_it_speaks_of_traffic_of_one_shard() -> None:
    nodes = [
        member(1, network_output_bytes_per_second=2.0 * MIB),
        member(2, network_output_bytes_per_second=90.0 * MIB),
    ]

    assert "shard 2" in sentence(advice.uneven_traffic, *nodes)


def test_it_has_no_advice_for_a_node_of_which_nothing_is_known() -> None:
    nothing: Watched = watched(member(), latest=summary(), address="redis://127.0.0.1", plan_maxclients=1)

    assert [check.__name__ for check in advice.ADVICE if check(nothing)] == []


def test_it_comes_after_what_is_wrong() -> None:
    node = member(memory_used_ratio=0.97, used_memory=GIB, maxclients=1, latest_fork_usec=2_000_000)

    found = findings.in_depth(watched(node, address="redis://127.0.0.1"))

    assert [one.state for one in found] == [State.CRITICAL, State.NOTICE, State.NOTICE]
