"""What rules read over windows, on real samples."""

from datetime import timedelta

import pytest
from pytest_django.fixtures import Settings

from collectors import retention, samples, windows
from collectors.metrics.lookup import UnknownMetricError
from collectors.tests.cast import cache_with_nodes, noon, reading
from collectors.windows import Read, Reading
from fleet.models import Node

pytestmark = pytest.mark.django_db
MIB = 2**20


@pytest.fixture
def node(db: None) -> Node:
    cache_with_nodes()
    return Node.objects.get()


def write(node: Node, metric: str, points: dict[int, float | None], **others: float) -> None:
    for seconds, number in points.items():
        samples.write([reading(node, seconds, **({metric: number} | others))])


def value(node: Node, at: int, metric: str, how: Read, seconds: int = 60, level: float = 0) -> float | None:
    wanted = Reading(metric, how, seconds, level)
    return windows.read([node.pk], noon(at), [wanted])[wanted].get(node.pk)


@pytest.mark.parametrize(
    ("how", "expected"),
    [(Read.LAST, 40), (Read.AVG, 25), (Read.MIN, 10), (Read.MAX, 40), (Read.SUM, 100)],
)
def test_it_reads_a_window(node: Node, how: Read, expected: float) -> None:
    write(node, "connected_clients", {0: 10, 15: 20, 30: 30, 45: 40})

    assert value(node, 45, "connected_clients", how) == expected


def test_a_window_is_open_at_its_start_and_closed_at_its_end(node: Node) -> None:
    write(node, "connected_clients", {0: 100, 15: 1, 30: 2, 45: 100})

    assert value(node, 30, "connected_clients", Read.SUM, seconds=30) == 3


def test_it_sees_nothing_after_the_tick(node: Node) -> None:
    write(node, "connected_clients", {0: 10, 15: 99})

    assert value(node, 0, "connected_clients", Read.LAST) == 10


def test_what_was_not_reported_is_missing_and_not_zero(node: Node) -> None:
    write(node, "blocked_clients", {0: None, 15: None})

    assert value(node, 15, "blocked_clients", Read.AVG) is None


def test_an_old_sample_is_not_the_last(node: Node) -> None:
    write(node, "connected_clients", {0: 10})

    assert value(node, 120, "connected_clients", Read.LAST, seconds=60) is None


def test_a_counter_is_read_per_second(node: Node) -> None:
    write(node, "rejected_connections", {0: 0, 15: 30, 30: 30, 45: 90})

    assert value(node, 45, "rejected_connections", Read.MAX) == pytest.approx(4)
    assert value(node, 45, "rejected_connections", Read.RATE) == pytest.approx(2)
    assert value(node, 45, "rejected_connections", Read.INCREASE) == pytest.approx(90)


def test_an_increase_survives_a_restart(node: Node) -> None:
    write(node, "rejected_connections", {0: 100, 15: 130})
    samples.write([reading(node, 30, rejected_connections=7, uptime_in_seconds=5)])

    assert value(node, 30, "rejected_connections", Read.INCREASE) == pytest.approx(37)


@pytest.mark.parametrize(("level", "expected"), [(0, 1), (15, 0.75), (25, 0.5), (40, 0)])
def test_it_tells_the_share_of_time_above_a_level(node: Node, level: float, expected: float) -> None:
    write(node, "connected_clients", {0: 10, 15: 20, 30: 30, 45: 40})

    assert value(node, 45, "connected_clients", Read.SHARE, level=level) == pytest.approx(expected)


def test_it_forecasts_when_a_limit_is_reached(node: Node) -> None:
    growing: dict[int, float | None] = {seconds: 50 * MIB + seconds // 15 * MIB for seconds in range(0, 300, 15)}
    write(node, "used_memory", growing, maxmemory=100 * MIB)

    seconds = value(node, 285, "memory_used_ratio", Read.FORECAST, seconds=300, level=1.0)

    assert seconds == pytest.approx((100 - 69) * 15, rel=0.01)


@pytest.mark.parametrize(
    ("memory", "expected"),
    [([50, 50, 50, 50], float("inf")), ([60, 50, 40, 30], float("inf")), ([50, 90, 20, 70], float("inf"))],
)
def test_it_forecasts_no_end_where_nothing_grows_steadily(node: Node, memory: list[int], expected: float) -> None:
    write(node, "used_memory", {15 * i: m * MIB for i, m in enumerate(memory)}, maxmemory=100 * MIB)

    assert value(node, 45, "memory_used_ratio", Read.FORECAST, seconds=300, level=1.0) == expected


def test_a_limit_that_is_reached_is_due_now(node: Node) -> None:
    write(node, "used_memory", {0: 99 * MIB, 15: 100 * MIB, 30: 101 * MIB}, maxmemory=100 * MIB)

    assert value(node, 30, "memory_used_ratio", Read.FORECAST, seconds=300, level=1.0) == 0


def test_two_samples_make_no_forecast(node: Node) -> None:
    write(node, "used_memory", {0: 10 * MIB, 15: 20 * MIB}, maxmemory=100 * MIB)

    assert value(node, 15, "memory_used_ratio", Read.FORECAST, seconds=300, level=1.0) is None


def test_it_compares_with_the_same_hour_of_last_week(node: Node, settings: Settings) -> None:
    settings.RETENTION_RAW_DAYS = 30
    week = int(timedelta(days=7).total_seconds())
    write(node, "connected_clients", {second - week: 100 for second in (0, 1800, 3300)})
    retention.roll_up()
    write(node, "connected_clients", {1800: 250})

    assert value(node, 1800, "connected_clients", Read.DEVIATION) == pytest.approx(2.5)


def test_without_a_week_of_history_there_is_no_deviation(node: Node) -> None:
    write(node, "connected_clients", {0: 250})

    assert value(node, 0, "connected_clients", Read.DEVIATION) is None


def test_it_reads_numbers_that_are_kept_rarely(node: Node) -> None:
    made = reading(node, 0)
    made.detail = {"allocator_frag_ratio": 1.25}
    samples.write([made])

    assert value(node, 240, "allocator_frag_ratio", Read.LAST) == 1.25


def test_it_reads_many_metrics_of_many_nodes_at_once(db: None) -> None:
    cache_with_nodes(shards=3)
    nodes = list(Node.objects.all())
    samples.write([reading(node, 0, connected_clients=node.port, keys=5) for node in nodes])
    wanted = [Reading("connected_clients", Read.AVG, 60), Reading("keys", Read.LAST, 60)]

    found = windows.read([node.pk for node in nodes], noon(0), wanted)

    assert found[wanted[0]] == {node.pk: node.port for node in nodes}
    assert found[wanted[1]] == dict.fromkeys(found[wanted[0]], 5)


def test_it_names_a_metric_that_does_not_exist(node: Node) -> None:
    with pytest.raises(UnknownMetricError, match="used_memory"):
        value(node, 0, "used_memori", Read.LAST)
