"""What rules would have read long ago: the same as windows.py says, as far as rollups know."""

import math
from datetime import UTC, datetime, timedelta

import pytest

from collectors import past_windows, retention, samples, windows
from collectors.past_windows import Grid
from collectors.tests.cast import NOON, cache_with_nodes, noon, reading
from collectors.windows import Read, Reading
from fleet.models import Node

pytestmark = pytest.mark.django_db
BUCKET, EVERY = 300, 15
GRID = Grid(NOON, BUCKET, 6)


@pytest.fixture
def node(db: None) -> Node:
    """A node whose numbers change from sample to sample for half an hour, rolled up."""
    cache_with_nodes()
    made = Node.objects.get()
    for seconds in range(0, 6 * BUCKET, EVERY):
        wave = 50 + 30 * math.sin(seconds / 70) + seconds / 100
        samples.write([reading(made, seconds, connected_clients=round(wave), rejected_connections=seconds * 2)])
    retention.roll_up(noon(6 * BUCKET + 60))
    return made


def past(
    node: Node, how: Read, seconds: int = BUCKET, level: float = 0, metric: str = "connected_clients"
) -> list[float | None]:
    wanted = Reading(metric, how, seconds, level)
    return past_windows.read([node.pk], GRID, [wanted])[wanted][node.pk]


@pytest.mark.parametrize(
    ("how", "seconds"),
    [
        (Read.LAST, BUCKET),
        (Read.AVG, BUCKET),
        (Read.AVG, 3 * BUCKET),
        (Read.MIN, BUCKET),
        (Read.MIN, 3 * BUCKET),
        (Read.MAX, 3 * BUCKET),
        (Read.SUM, BUCKET),
        (Read.SUM, 3 * BUCKET),
    ],
)
def test_it_reads_what_rules_read_at_the_time(node: Node, how: Read, seconds: int) -> None:
    wanted = Reading("connected_clients", how, seconds)
    # The last sample of each point: its window holds exactly the samples of the points.
    ticks = [noon((point + 1) * BUCKET - EVERY) for point in range(2, 6)]

    at_the_time = [windows.read([node.pk], tick, [wanted])[wanted][node.pk] for tick in ticks]

    assert past(node, how, seconds)[2:] == pytest.approx(at_the_time, rel=1e-4)


@pytest.mark.parametrize(("how", "expected"), [(Read.RATE, 2), (Read.INCREASE, 2 * BUCKET)])
def test_counters_are_read_per_second(node: Node, how: Read, expected: float) -> None:
    assert past(node, how, metric="rejected_connections")[2:] == pytest.approx([expected] * 4, rel=0.01)


def test_a_window_shorter_than_a_point_is_that_point(node: Node) -> None:
    assert past(node, Read.AVG, 60) == past(node, Read.AVG, BUCKET)


@pytest.mark.parametrize(("level", "expected"), [(0, 1.0), (1_000, 0.0)])
def test_a_share_of_time_is_sure_at_the_ends(node: Node, level: float, expected: float) -> None:
    assert past(node, Read.SHARE, level=level) == [expected] * 6


def test_a_share_of_time_is_about_right_between(node: Node) -> None:
    wanted = Reading("connected_clients", Read.SHARE, 6 * BUCKET, 55)
    at_the_time = windows.read([node.pk], noon(6 * BUCKET - EVERY), [wanted])[wanted][node.pk]

    assert past(node, Read.SHARE, 6 * BUCKET, 55)[-1] == pytest.approx(at_the_time, abs=0.15)


def test_a_forecast_follows_the_line_of_its_points() -> None:
    cache_with_nodes()
    node = Node.objects.get()
    for seconds in range(0, 6 * BUCKET, EVERY):
        samples.write([reading(node, seconds, connected_clients=100 + seconds // EVERY)])
    retention.roll_up(noon(6 * BUCKET + 60))
    wanted = Reading("connected_clients", Read.FORECAST, 4 * BUCKET, 500)

    found = past_windows.read([node.pk], GRID, [wanted])[wanted][node.pk]

    assert found[:2] == [None, None]
    assert found[-1] == pytest.approx((500 - 219) * EVERY, rel=0.02)
    reached = Reading("connected_clients", Read.FORECAST, 4 * BUCKET, 50)
    assert past_windows.read([node.pk], GRID, [reached])[reached][node.pk][-1] == 0


def test_what_falls_is_never_reached(node: Node) -> None:
    wanted = Reading("uptime_in_seconds", Read.FORECAST, 3 * BUCKET, 10**9)
    assert past_windows.read([node.pk], GRID, [wanted])[wanted][node.pk][-1] == pytest.approx(10**9, rel=0.01)


def test_a_point_without_samples_is_unknown(node: Node) -> None:
    later = Grid(NOON + 4 * BUCKET, BUCKET, 4)
    wanted = Reading("connected_clients", Read.AVG, 2 * BUCKET)

    found = past_windows.read([node.pk], later, [wanted])[wanted][node.pk]

    assert [value is None for value in found] == [False, False, True, True]
    assert past_windows.known_nodes([node.pk], later) == {node.pk: [True, True, False, False]}


def test_details_are_not_known_of_the_past(node: Node) -> None:
    assert past_windows.read([node.pk], GRID, [Reading("mem_clients_slaves", Read.LAST, 600)]) == {}


def test_last_week_is_unknown_where_there_was_none(node: Node) -> None:
    assert set(past(node, Read.DEVIATION)) == {None}


def test_a_grid_lies_on_whole_steps() -> None:
    start = datetime(2026, 3, 1, 12, 2, tzinfo=UTC)

    grid = Grid.between(start, start + timedelta(hours=1), 300)

    assert (grid.start % 300, grid.count, grid.end <= (start + timedelta(hours=1)).timestamp()) == (0, 11, True)
