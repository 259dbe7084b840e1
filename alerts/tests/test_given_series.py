"""Series that a test of rules gives: their notation, and that they are read as samples in the database are."""

import random

import pytest

from alerts.given_series import LONGEST, NodeSeries, expanded
from collectors import samples, windows
from collectors.tests.cast import cache_with_nodes, noon, reading
from collectors.windows import Read, Reading
from fleet.models import Node

EVERY = 15
N = None
# Only what counts per second is added up over time.
RATES = {Read.RATE, Read.INCREASE}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 2.5 -3", [1, 2.5, -3]),
        ("0.5x2", [0.5, 0.5, 0.5]),
        ("0+10x3", [0, 10, 20, 30]),
        ("10-2.5x2", [10, 7.5, 5]),
        ("1e3x1 .5", [1000, 1000, 0.5]),
        ("1 _ _x2 2", [1, N, N, N, 2]),
        ("", []),
    ],
)
def test_it_reads_the_notation_of_promtool(text: str, expected: list[float | None]) -> None:
    assert expanded(text) == expected


@pytest.mark.parametrize("text", ["x3", "1x", "1+x3", "a", "1,2", "nan", f"1x{LONGEST}", "1x99999 " * 3, "1x9999999"])
def test_it_refuses_what_is_no_series(text: str) -> None:
    with pytest.raises(ValueError, match=r"x|a|,"):
        expanded(text)


def one(text: str, metric: str = "connected_clients") -> NodeSeries:
    return NodeSeries(EVERY, {metric: expanded(text)})


def test_a_node_without_any_value_did_not_answer() -> None:
    series = NodeSeries(EVERY, {"used_memory": expanded("1 _ _ 1"), "keys": expanded("1 1 _ _")})

    assert series.answers == [0, 15, 45]


def test_a_node_that_is_said_to_be_down_did_not_answer() -> None:
    assert NodeSeries(EVERY, {"used_memory": expanded("1x3"), "down": expanded("0 1 1 0")}).answers == [0, 45]


def test_deviation_is_held_against_the_week_before() -> None:
    series = NodeSeries(EVERY, {"hit_ratio": expanded("0.4x10")}, {"hit_ratio": 0.8})

    assert series.read(Reading("hit_ratio", Read.DEVIATION, 60), 90) == pytest.approx(0.5)


def test_there_is_no_deviation_from_what_was_not_there() -> None:
    assert one("5x10").read(Reading("connected_clients", Read.DEVIATION, 60), 90) is None


def test_counts_by_name_are_means_of_what_is_given() -> None:
    assert one("0x3 4x3", "errors.OOM").read(Reading("errors.OOM", Read.LAST, 60), 90) == 3


def test_details_are_read_over_what_their_interval_needs() -> None:
    series = one("7 _x60", "used_memory_lua")

    assert series.read(Reading("used_memory_lua", Read.LAST, 60), 300) == 7
    assert series.read(Reading("used_memory_lua", Read.LAST, 60), 900) is None


@pytest.fixture
def node(db: None) -> Node:
    cache_with_nodes()
    return Node.objects.get()


def seeded(ticks: int) -> dict[str, list[float | None]]:
    """Return a gauge and a counter with lost answers, lost values, a climb and a restart of the counter."""
    dice, count = random.Random(7), 0
    gauge: list[float | None] = []
    counter: list[float | None] = []
    for index in range(ticks):
        count = dice.randrange(5) if index == ticks // 2 else count + dice.randrange(40)
        is_lost = dice.random() < 0.15
        gauge.append(None if is_lost or dice.random() < 0.1 else 100 + index * 3 + dice.randrange(20))
        counter.append(None if is_lost else count)
    return {"connected_clients": gauge, "evicted_keys": counter}


def stored(node: Node, given: dict[str, list[float | None]]) -> None:
    for index, values in enumerate(zip(*given.values(), strict=True)):
        if any(value is not None for value in values):
            samples.write([reading(node, index * EVERY, **dict(zip(given, values, strict=True)))])


@pytest.mark.parametrize("metric", ["connected_clients", "evicted_keys"])
def test_it_reads_what_the_database_reads(node: Node, metric: str) -> None:
    given = seeded(60)
    stored(node, given)
    offline = NodeSeries(EVERY, given)
    hows = [how for how in Read if how is not Read.DEVIATION and (metric == "evicted_keys" or how not in RATES)]
    wanted = [Reading(metric, how, seconds, 180.0) for how in hows for seconds in (30, 60, 300, 900)]

    for tick in range(0, 60 * EVERY, 5 * EVERY):
        found = windows.read([node.pk], noon(tick), wanted)
        for one_reading in wanted:
            online, ours = found[one_reading].get(node.pk), offline.read(one_reading, tick)
            assert (online is None) == (ours is None), (one_reading, tick)
            if online is not None and ours is not None:
                assert ours == pytest.approx(online)
