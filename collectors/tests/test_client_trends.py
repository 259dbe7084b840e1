"""Groups of connections over time."""

from datetime import UTC, datetime, timedelta

import pytest

from collectors import client_trends
from collectors.client_trends import POINTS, Trends
from collectors.models import ClientReading
from collectors.tests.cast import cache_with_nodes
from fleet.models import Node

pytestmark = pytest.mark.django_db
# Five minutes into a step of half an hour.
NOW = datetime(2026, 3, 1, 12, 35, tzinfo=UTC)


def have_read(node: Node, minutes_ago: float, failure: str = "", **connections: int) -> None:
    rows = [[None if name == "rest" else name, number, 0, 0, 0, 0] for name, number in connections.items()]
    groups = {"name": rows, "user": [["default", sum(connections.values()), 0, 0, 0, 0]]}
    read_at = NOW - timedelta(minutes=minutes_ago)
    ClientReading.objects.create(node=node, read_at=read_at, failed_cause=failure, groups=groups)


def read(*nodes: Node, by: str = "name") -> Trends:
    return client_trends.read([node.pk for node in nodes], by, NOW)


@pytest.fixture
def nodes() -> list[Node]:
    return list(cache_with_nodes(2).nodes.order_by("port"))


def test_a_leak_is_a_line_that_climbs(nodes: list[Node]) -> None:
    for step in range(6):
        have_read(nodes[0], 30 * step, shop=100 - 10 * step, mail=5)

    trends = read(nodes[0])

    assert trends.values["shop"][-6:] == [50, 60, 70, 80, 90, 100]
    assert trends.values["mail"][-6:] == [5] * 6
    assert (trends.change("shop"), trends.change("mail"), trends.change("nobody")) == (50, 0, None)


def test_nodes_add_up(nodes: list[Node]) -> None:
    have_read(nodes[0], 1, shop=10, rest=3)
    have_read(nodes[1], 2, shop=7, chat=1)

    values = read(*nodes).values

    assert {label: line[-1] for label, line in values.items()} == {"shop": 17, "chat": 1, None: 3}


def test_the_newest_reading_of_a_step_counts(nodes: list[Node]) -> None:
    have_read(nodes[0], 4, shop=10)
    have_read(nodes[0], 1, shop=12)

    assert read(nodes[0]).values["shop"][-1] == 12


def test_a_step_without_a_reading_is_not_zero(nodes: list[Node]) -> None:
    have_read(nodes[0], 150, shop=10)
    have_read(nodes[0], 1, shop=30)

    assert read(nodes[0]).values["shop"][-6:] == [10, 10, None, None, None, 30]


def test_a_node_that_missed_one_step_makes_no_dip(nodes: list[Node]) -> None:
    for step in range(3):
        have_read(nodes[0], 30 * step, shop=10)
        if step != 1:
            have_read(nodes[1], 30 * step, shop=5)

    assert read(*nodes).values["shop"][-3:] == [15, 15, 15]


def test_a_name_that_is_gone_is_zero(nodes: list[Node]) -> None:
    have_read(nodes[0], 30, shop=10)
    have_read(nodes[0], 1, mail=1)

    assert read(nodes[0]).values["shop"][-2:] == [10, 0]


@pytest.mark.parametrize("minutes_ago", [24 * 60 + 31, -31])
def test_other_times_do_not_count(nodes: list[Node], minutes_ago: float) -> None:
    have_read(nodes[0], minutes_ago, shop=10)

    assert read(nodes[0]).values == {}


def test_failed_readings_do_not_count(nodes: list[Node]) -> None:
    have_read(nodes[0], 1, failure="NOPERM", shop=10)

    assert read(nodes[0]).values == {}


def test_it_reads_the_grouping_asked_for(nodes: list[Node]) -> None:
    have_read(nodes[0], 1, shop=10, mail=2)

    trends = read(nodes[0], by="user")

    assert trends.values["default"][-1] == 12
    assert len(trends.values["default"]) == POINTS
    assert trends.start + POINTS * trends.step == datetime(2026, 3, 1, 13, tzinfo=UTC)
    assert read(nodes[0], by="network").values == {}
