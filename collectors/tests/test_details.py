"""The newest details of nodes, on real samples."""

from __future__ import annotations

import pytest
from pytest_django.fixtures import Settings

from collectors import details, samples
from collectors.tests.cast import NOON, cache_with_nodes, noon, reading
from fleet.models import Node

pytestmark = pytest.mark.django_db


@pytest.fixture
def node(db: None) -> Node:
    cache_with_nodes()
    return Node.objects.get()


def tell(
    node: Node, seconds: int = 0, read_after_ms: int | None = 0, round_trip: float | None = None, **detail: float
) -> None:
    row = reading(node, seconds, read_after_ms=read_after_ms, round_trip_seconds=round_trip)
    row.detail = detail
    samples.write([row])


def ahead(node: Node, at: int = 0) -> float | None:
    return details.newest([node.pk], noon(at))[node.pk].ahead


def clock(seconds: float) -> float:
    """Return what a server sends whose clock is so far from ours at noon."""
    return (NOON + seconds) * 1e6


@pytest.mark.parametrize("seconds", [0.0, 12.5, -90.0])
def test_it_compares_a_clock_with_ours(node: Node, seconds: float) -> None:
    tell(node, server_time_usec=clock(seconds))

    assert ahead(node) == pytest.approx(seconds, abs=0.001)


def test_it_knows_when_the_answer_was_written(node: Node) -> None:
    tell(node, read_after_ms=3_000, round_trip=1.0, server_time_usec=clock(2.5))

    assert ahead(node) == pytest.approx(0, abs=0.001)


def test_it_knows_no_clock_where_none_is_reported(node: Node) -> None:
    tell(node, databases=3)

    assert details.newest([node.pk], noon()) == {node.pk: details.Detail(3, None)}


@pytest.mark.parametrize(
    ("enabled", "status", "failed"), [(1, 0, True), (1, 1, False), (0, 0, False), (1, None, None), (None, 0, None)]
)
def test_it_knows_whether_an_append_only_file_fails(
    node: Node, enabled: float | None, status: float | None, failed: bool | None
) -> None:
    told = {"aof_enabled": enabled, "aof_last_write_status": status, "aof_last_bgrewrite_status": status}
    row = reading(node)
    row.detail = {name: number for name, number in told.items() if number is not None}
    samples.write([row])

    found = details.newest([node.pk], noon())[node.pk]

    assert (found.append_failed, found.rewrite_failed) == (failed, failed)


def test_it_knows_no_clock_where_the_time_of_reading_is_not_known(node: Node) -> None:
    tell(node, read_after_ms=None, server_time_usec=clock(50))

    assert ahead(node) is None


def test_it_takes_the_newest_that_is_not_of_the_future(node: Node) -> None:
    for seconds, databases in ((0, 1), (300, 2), (600, 3)):
        tell(node, seconds, databases=databases)

    assert details.newest([node.pk], noon(300))[node.pk].databases == 2


def test_it_forgets_nodes_that_say_nothing_any_more(node: Node, settings: Settings) -> None:
    settings.DETAIL_INTERVAL_SECONDS = 300
    tell(node, databases=1)

    assert node.pk in details.newest([node.pk], noon(899))
    assert details.newest([node.pk], noon(901)) == {}
