"""Rates over two samples, computed by the database as everywhere."""

from typing import Any

import pytest

from collectors import latest, samples
from collectors.tests.cast import cache_with_nodes, reading
from fleet.models import Node

pytestmark = pytest.mark.django_db


def newest_after(first: dict[str, Any], second: dict[str, Any], apart: int = 15) -> latest.NodeLatest:
    cache_with_nodes()
    node = Node.objects.get()
    samples.write([reading(node, 0, **first)])
    samples.write([reading(node, apart, **second)])
    return latest.nodes()[node.pk]


def test_it_divides_the_increase_by_the_seconds_between_readings() -> None:
    newest = newest_after({"total_commands_processed": 100}, {"total_commands_processed": 400})

    assert newest.commands_per_second == pytest.approx(20)


def test_it_counts_the_delay_of_each_reading_into_the_time_between() -> None:
    newest = newest_after(
        {"total_commands_processed": 0, "read_after_ms": 0}, {"total_commands_processed": 300, "read_after_ms": 5_000}
    )

    assert newest.commands_per_second == pytest.approx(15)


def test_it_has_no_rate_before_a_second_sample() -> None:
    cache_with_nodes()
    node = Node.objects.get()

    samples.write([reading(node, 0, total_commands_processed=5)])

    assert latest.nodes()[node.pk].commands_per_second is None


def test_it_counts_from_zero_after_a_reset() -> None:
    newest = newest_after({"total_commands_processed": 9_000}, {"total_commands_processed": 30})

    assert newest.commands_per_second == pytest.approx(2)


def test_it_counts_from_zero_after_a_restart_that_overtook_the_old_value() -> None:
    newest = newest_after(
        {"total_commands_processed": 10, "uptime_in_seconds": 5},
        {"total_commands_processed": 120, "uptime_in_seconds": 50},
        apart=60,
    )

    assert newest.commands_per_second == pytest.approx(2)


def test_it_gives_no_rate_over_a_gap_of_more_than_five_minutes() -> None:
    newest = newest_after({"total_commands_processed": 0}, {"total_commands_processed": 900}, apart=315)

    assert newest.commands_per_second is None


def test_it_gives_the_mean_rate_over_a_missed_poll() -> None:
    newest = newest_after({"total_commands_processed": 0}, {"total_commands_processed": 900}, apart=30)

    assert newest.commands_per_second == pytest.approx(30)


def test_it_keeps_a_rate_unknown_where_the_counter_was_not_reported_before() -> None:
    newest = newest_after({}, {"total_error_replies": 40})

    assert newest.error_replies_per_second is None


def test_it_reads_cpu_microseconds_as_a_share_of_one_core() -> None:
    newest = newest_after(
        {"used_cpu_sys": 1_000_000, "used_cpu_user": 0}, {"used_cpu_sys": 2_500_000, "used_cpu_user": 6_000_000}
    )

    assert newest.cpu_ratio == pytest.approx(0.5)


def test_it_has_no_hit_ratio_without_lookups() -> None:
    newest = newest_after({"keyspace_hits": 7, "keyspace_misses": 7}, {"keyspace_hits": 7, "keyspace_misses": 7})

    assert newest.hit_ratio is None


def test_it_subtracts_replication_from_client_traffic() -> None:
    newest = newest_after(
        {"total_net_input_bytes": 0, "total_net_repl_input_bytes": 0},
        {"total_net_input_bytes": 1_500, "total_net_repl_input_bytes": 600},
    )

    assert newest.network_input_bytes_per_second == pytest.approx(60)


def test_it_uses_the_plan_where_maxmemory_is_zero() -> None:
    cache = cache_with_nodes()
    cache.plan_memory_bytes = 2_000
    cache.save()
    node = Node.objects.get()

    samples.write([reading(node, 0, used_memory=500, maxmemory=0)])

    assert latest.nodes()[node.pk].memory_used_ratio == pytest.approx(0.25)


def test_it_has_no_memory_ratio_without_any_limit() -> None:
    newest = newest_after({}, {"used_memory": 500, "maxmemory": 0})

    assert newest.memory_used_ratio is None


def test_it_counts_replicas_and_cluster_links_against_maxclients() -> None:
    newest = newest_after(
        {}, {"connected_clients": 60, "connected_slaves": 1, "cluster_connections": 9, "maxclients": 100}
    )

    assert newest.connections_used_ratio == pytest.approx(0.7)


def test_traffic_of_clients_is_unknown_before_the_second_sample() -> None:
    cache_with_nodes()
    node = Node.objects.get()

    samples.write([reading(node, 0, total_net_input_bytes=5_000, total_net_output_bytes=7_000)])

    newest = latest.nodes()[node.pk]
    assert (newest.network_input_bytes_per_second, newest.network_output_bytes_per_second) == (None, None)
