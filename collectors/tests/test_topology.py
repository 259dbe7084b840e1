from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from collectors import topology
from collectors.layout import PRIMARY, REPLICA, Layout, SeenNode, SeenShard
from collectors.topology import KnownNode, Standalone
from fleet.models import Cache, Node, Topology

CacheAt = Callable[..., Cache]
NOW = datetime(2026, 1, 2, tzinfo=UTC)
LATER = datetime(2026, 1, 3, tzinfo=UTC)


def node(name: str, role: str = PRIMARY, port: int = 6379, host: str = "10.0.0.1") -> SeenNode:
    return SeenNode(name, host, port, role)


def cluster(*shards: SeenShard, complete: bool = True) -> Layout:
    return Layout(Topology.CLUSTER, shards, complete)


FIRST = SeenShard("a", (node("a", port=1), node("a2", REPLICA, 2)), ((0, 8191),))
SECOND = SeenShard("b", (node("b", port=3), node("b2", REPLICA, 4)), ((8192, 16383),))


@pytest.fixture
def cache(cache_at: CacheAt) -> Cache:
    """A cluster of two shards as it was first seen."""
    made = cache_at("redis://10.0.0.1:1")
    topology.sync(made.pk, cluster(FIRST, SECOND), NOW)
    made.refresh_from_db()
    return made


def present(cache: Cache) -> dict[str, tuple[int | None, str]]:
    """Return the shard's number and the role of each node that has not left, by identity."""
    rows = cache.nodes.present().values_list("identity", "shard__number", "role")
    return {identity: (number, role) for identity, number, role in rows}


def test_it_makes_shards_and_nodes_known(cache: Cache) -> None:
    assert present(cache) == {"a": (1, PRIMARY), "a2": (1, REPLICA), "b": (2, PRIMARY), "b2": (2, REPLICA)}
    assert [shard.slots for shard in cache.shards.all()] == [[[0, 8191]], [[8192, 16383]]]
    assert cache.topology == "cluster"


def test_it_changes_nothing_for_the_same_layout(cache: Cache) -> None:
    assert not topology.sync(cache.pk, cluster(FIRST, SECOND), LATER)


def test_it_follows_a_failover_within_a_shard(cache: Cache) -> None:
    swapped = SeenShard("a2", (node("a", REPLICA, 1), node("a2", PRIMARY, 2)), FIRST.slots)

    assert topology.sync(cache.pk, cluster(swapped, SECOND), LATER)

    assert present(cache)["a2"] == (1, PRIMARY)
    assert cache.shards.count() == 2


def test_it_follows_a_node_to_another_address(cache: Cache) -> None:
    moved = replace(FIRST, nodes=(node("a", port=99, host="10.0.0.9"), FIRST.nodes[1]))

    topology.sync(cache.pk, cluster(moved, SECOND), LATER)

    assert [(found.host, found.port) for found in cache.nodes.filter(identity="a")] == [("10.0.0.9", 99)]


def test_it_numbers_a_new_shard_after_the_others(cache: Cache) -> None:
    third = SeenShard("c", (node("c", port=5),), ((0, 99),))

    topology.sync(cache.pk, cluster(third, FIRST, SECOND), LATER)

    assert present(cache)["c"] == (3, PRIMARY)


def test_it_numbers_no_shard_without_slots(cache: Cache) -> None:
    topology.sync(cache.pk, cluster(FIRST, SECOND, SeenShard("c", (node("c", port=5),))), LATER)

    assert present(cache)["c"] == (None, PRIMARY)
    assert cache.shards.count() == 2


def test_it_marks_what_is_gone_and_takes_it_back(cache: Cache) -> None:
    topology.sync(cache.pk, cluster(FIRST), LATER)
    gone = set(present(cache))
    topology.sync(cache.pk, cluster(FIRST, SECOND), LATER)

    assert gone == {"a", "a2"}
    assert present(cache)["b"] == (2, PRIMARY)
    assert cache.nodes.count() == 4


def test_it_lets_nobody_leave_by_half_a_layout(cache: Cache) -> None:
    topology.sync(cache.pk, cluster(FIRST, complete=False), LATER)

    assert len(present(cache)) == 4


def test_it_lets_nobody_leave_by_an_empty_layout(cache: Cache) -> None:
    assert not topology.sync(cache.pk, cluster(), LATER)
    assert len(present(cache)) == 4


def test_it_gives_a_seed_its_node_id(cache_at: CacheAt) -> None:
    cache = cache_at("redis://10.0.0.1:1")
    topology.ensure_seeds(cache.pk, cache.seeds())
    seed = cache.nodes.get()

    topology.sync(cache.pk, cluster(FIRST, SECOND), NOW)

    seed.refresh_from_db()
    assert (seed.identity, seed.left_at) == ("a", None)


def test_it_lets_a_seed_leave_that_is_no_node(cache_at: CacheAt) -> None:
    cache = cache_at("redis://discovery.example:6379")
    topology.ensure_seeds(cache.pk, cache.seeds())

    topology.sync(cache.pk, cluster(FIRST, SECOND), NOW)

    assert set(present(cache)) == {"a", "a2", "b", "b2"}


def test_it_does_nothing_for_a_deleted_cache(cache: Cache) -> None:
    pk = cache.pk
    cache.delete()

    assert not topology.sync(pk, cluster(FIRST), NOW)


A, B, C = ("10.0.0.1", 6379), ("10.0.0.2", 6379), ("10.0.0.3", 6379)


def says(
    role: str,
    primary: tuple[str, int] | None = None,
    *replicas: tuple[str, int],
    run_id: str = "",
    peer: tuple[str, int] | None = None,
) -> Standalone:
    return Standalone(role, run_id, primary, replicas, peer)


def known(place: tuple[str, int], seen: Standalone | None, shard: int | None = None, **signs: bool) -> KnownNode:
    return KnownNode(place, seen.role if seen else "", shard, seen, **signs)


def shape(layout: Layout) -> list[dict[str, str]]:
    """Return, for each shard, the roles by host."""
    return [{found.host: found.role for found in shard.nodes} for shard in layout.shards]


def test_it_finds_the_replicas_of_a_standalone_server() -> None:
    layout = topology.standalone_layout([A], [known(A, says(PRIMARY, None, B, C))])

    assert shape(layout) == [{"10.0.0.1": PRIMARY, "10.0.0.2": REPLICA, "10.0.0.3": REPLICA}]
    assert layout.kind == Topology.STANDALONE


def test_it_finds_the_primary_of_a_replica() -> None:
    layout = topology.standalone_layout([B], [known(B, says(REPLICA, A))])

    assert shape(layout) == [{"10.0.0.2": REPLICA, "10.0.0.1": PRIMARY}]


def test_it_makes_each_listed_server_a_shard() -> None:
    layout = topology.standalone_layout([A, B], [known(A, says(PRIMARY)), known(B, says(PRIMARY, None, C))])

    assert shape(layout) == [{"10.0.0.1": PRIMARY}, {"10.0.0.2": PRIMARY, "10.0.0.3": REPLICA}]
    assert layout.kind == Topology.SHARDED


def test_it_makes_a_listed_replica_part_of_its_primarys_shard() -> None:
    layout = topology.standalone_layout([A, B], [known(A, says(PRIMARY, None, B)), known(B, says(REPLICA, A))])

    assert shape(layout) == [{"10.0.0.1": PRIMARY, "10.0.0.2": REPLICA}]


def test_it_keeps_a_silent_node_where_it_was() -> None:
    layout = topology.standalone_layout([A], [known(A, says(PRIMARY), shard=1), known(B, None, shard=1)])

    assert set(shape(layout)[0]) == {"10.0.0.1", "10.0.0.2"}


def test_it_lets_a_lost_node_go_that_nobody_names() -> None:
    layout = topology.standalone_layout([A], [known(A, says(PRIMARY), shard=1), known(B, None, shard=1, is_lost=True)])

    assert shape(layout) == [{"10.0.0.1": PRIMARY}]


def unmet(place: tuple[str, int], shard: int | None = 1) -> KnownNode:
    return known(place, None, shard, is_unmet=True)


def test_it_lets_a_node_go_at_once_that_was_never_met_and_is_named_no_more() -> None:
    layout = topology.standalone_layout([A], [known(A, says(PRIMARY, None, C), shard=1), unmet(B)])

    assert shape(layout) == [{"10.0.0.1": PRIMARY, "10.0.0.3": REPLICA}]


def test_it_lets_an_unmet_node_without_a_shard_go() -> None:
    layout = topology.standalone_layout([A], [known(A, says(PRIMARY), shard=1), unmet(B, shard=None)])

    assert shape(layout) == [{"10.0.0.1": PRIMARY}]


def test_it_keeps_an_unmet_node_that_is_named() -> None:
    layout = topology.standalone_layout([A], [known(A, says(PRIMARY, None, B), shard=1), unmet(B)])

    assert shape(layout) == [{"10.0.0.1": PRIMARY, "10.0.0.2": REPLICA}]


def test_it_keeps_an_unmet_node_while_nobody_of_its_shard_can_name_it() -> None:
    silent = known(B, None, shard=2)

    layout = topology.standalone_layout([A, B], [known(A, says(PRIMARY), shard=1), silent, unmet(C, shard=2)])

    assert [set(hosts) for hosts in shape(layout)] == [{"10.0.0.1"}, {"10.0.0.2", "10.0.0.3"}]


def test_it_keeps_a_listed_server_that_was_never_met() -> None:
    layout = topology.standalone_layout([A, B], [known(A, says(PRIMARY), shard=1), unmet(B, shard=2)])

    assert shape(layout) == [{"10.0.0.1": PRIMARY}, {"10.0.0.2": ""}]


def test_it_keeps_a_listed_server_however_long_it_is_silent() -> None:
    layout = topology.standalone_layout([A, B], [known(A, says(PRIMARY)), known(B, None, is_lost=True)])

    assert len(layout.shards) == 2


def test_it_counts_a_server_with_two_names_once() -> None:
    seed = ("cache.example", 6379)
    primary = known(seed, says(PRIMARY, None, B, run_id="r1", peer=A))

    layout = topology.standalone_layout(
        [seed], [primary, known(B, says(REPLICA, A, run_id="r2")), known(A, says(PRIMARY, run_id="r1"))]
    )

    assert shape(layout) == [{"cache.example": PRIMARY, "10.0.0.2": REPLICA}]


def failed(name: str, port: int) -> SeenNode:
    return SeenNode(name, "10.0.0.1", port, PRIMARY, is_failed=True)


def test_a_failed_primary_beside_the_one_that_took_over_is_none_any_more(cache: Cache) -> None:
    shard = SeenShard("a", (failed("a", 1), node("a2", PRIMARY, 2)), FIRST.slots)

    topology.sync(cache.pk, cluster(shard, SECOND), LATER)

    assert present(cache) == {"a": (1, ""), "a2": (1, PRIMARY), "b": (2, PRIMARY), "b2": (2, REPLICA)}


def test_a_failed_primary_that_is_listed_alone_keeps_its_shard(cache: Cache) -> None:
    alone, promoted = SeenShard("a", (failed("a", 1),)), SeenShard("a2", (node("a2", PRIMARY, 2),), FIRST.slots)
    layout = cluster(alone, promoted, SECOND)

    topology.sync(cache.pk, layout, LATER)

    assert present(cache) == {"a": (1, ""), "a2": (1, PRIMARY), "b": (2, PRIMARY), "b2": (2, REPLICA)}
    assert cache.shards.count() == 2
    assert not layout.is_forming


def test_a_failed_primary_that_nobody_replaced_stays_one(cache: Cache) -> None:
    shard = SeenShard("a", (failed("a", 1), node("a2", REPLICA, 2)), FIRST.slots)

    assert not topology.sync(cache.pk, cluster(shard, SECOND), LATER)


def test_it_makes_no_nodes_of_a_deleted_cache(cache: Cache) -> None:
    pk, seeds = cache.pk, cache.seeds()
    cache.delete()

    assert topology.ensure_seeds(pk, seeds) == 0

    assert not Node.objects.filter(cache_id=pk).exists()
