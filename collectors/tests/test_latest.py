"""Summaries of caches."""

import pytest

from collectors import latest, samples
from collectors.tests.cast import NOON, cache_with_nodes, reading
from fleet.models import Node

pytestmark = pytest.mark.django_db


def test_it_sums_primaries_and_takes_the_worst_of_all_nodes() -> None:
    cache = cache_with_nodes(shards=2, replicas=1)
    for index, node in enumerate(Node.objects.order_by("port")):
        samples.write([reading(node, 0, used_memory=100 * (index + 1), maxmemory=1_000, keys=index + 1)])

    summary = latest.caches()[cache.pk]

    assert (summary.used_memory, summary.memory_limit_bytes, summary.keys) == (400, 2_000, 4)
    assert summary.memory_used_ratio == pytest.approx(0.4)
    assert summary.fullest_memory_node_id == Node.objects.get(port=7021).pk


def test_it_names_no_limit_where_one_primary_has_none() -> None:
    cache = cache_with_nodes(shards=2)
    first, second = Node.objects.order_by("port")

    samples.write([reading(first, 0, used_memory=1, maxmemory=10), reading(second, 0, used_memory=1, maxmemory=0)])

    assert latest.caches()[cache.pk].memory_limit_bytes is None


def test_it_shows_connections_of_the_fullest_node() -> None:
    cache = cache_with_nodes(shards=2)
    first, second = Node.objects.order_by("port")

    samples.write(
        [
            reading(first, 0, connected_clients=90, maxclients=1_000),
            reading(second, 0, connected_clients=80, maxclients=100),
        ]
    )

    summary = latest.caches()[cache.pk]
    assert (summary.fullest_connected_clients, summary.fullest_maxclients) == (80, 100)
    assert summary.fullest_connections_node_id == second.pk


def test_it_counts_a_node_as_silent_after_two_missed_polls() -> None:
    cache = cache_with_nodes(shards=2)
    first, second = Node.objects.order_by("port")
    samples.write([reading(first, 0, keys=1), reading(second, 0, keys=1)])

    samples.write([reading(first, 45, keys=1)])

    summary = latest.caches()[cache.pk]
    assert (summary.nodes, summary.answering) == (2, 1)


def test_it_makes_a_summary_although_no_node_answers() -> None:
    cache = cache_with_nodes()
    samples.write([reading(Node.objects.get(), 0, used_memory=5)])

    samples.write([], [cache.pk], tick=NOON + 120)

    summary = latest.caches()[cache.pk]
    assert (summary.answering, summary.used_memory, summary.at is not None) == (0, None, True)


def test_it_leaves_gaps_in_sparklines_where_minutes_are_missing() -> None:
    cache = cache_with_nodes()
    node = Node.objects.get()
    for seconds in (0, 15, 180):
        samples.write([reading(node, seconds, used_memory=100 + seconds)])

    assert latest.caches()[cache.pk].spark_used_memory == [115, None, None, 280]


def test_it_keeps_sixty_points_of_a_sparkline() -> None:
    cache = cache_with_nodes()
    node = Node.objects.get()
    for minute in range(70):
        samples.write([reading(node, minute * 60, used_memory=minute)])

    spark = latest.caches()[cache.pk].spark_used_memory
    assert spark is not None
    assert (len(spark), spark[-1]) == (60, 69)


def test_it_forgets_nodes_that_left() -> None:
    cache = cache_with_nodes()
    samples.write([reading(Node.objects.get(), 0, keys=1)])
    Node.objects.update(left_at="2026-01-01T00:00:00Z")

    assert latest.nodes([cache.pk]) == {}


@pytest.mark.parametrize(
    ("seconds", "role_of_old", "keys"),
    [
        # The old primary answered last before the failover, and its last sample still counts as one of now.
        (15, True, 7),
        # It is back as a replica.
        (15, False, 7),
        # Two that call themselves primary at the same time are both counted: nobody knows better.
        (0, True, 12),
    ],
)
def test_a_dead_primary_counts_no_more_once_another_took_over(seconds: int, role_of_old: bool, keys: int) -> None:
    cache = cache_with_nodes(shards=2, replicas=1)
    old, new, other, _replica = Node.objects.order_by("port")
    samples.write([reading(node, 0, keys=5, is_primary=node != new) for node in (old, new)])

    again = [reading(new, seconds + 15, keys=5, is_primary=True), reading(other, seconds + 15, keys=2)]
    samples.write([reading(old, 15, keys=5, is_primary=role_of_old), *again])

    assert latest.caches()[cache.pk].keys == keys


def test_a_shard_that_missed_a_poll_is_not_taken_for_a_dead_one() -> None:
    cache = cache_with_nodes(shards=2)
    first, second = Node.objects.order_by("port")
    samples.write([reading(first, 0, keys=5), reading(second, 0, keys=2)])

    samples.write([reading(second, 15, keys=3)])

    assert latest.caches()[cache.pk].keys == 8
