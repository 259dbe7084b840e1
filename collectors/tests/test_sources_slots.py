"""Loads of slots as servers tell them."""

from typing import Any

import pytest

from collectors.source import SlotLoad, Standing
from collectors.sources.slots import SLOTS_READ, SlotStats
from fleet.engines import Engine

FULL = [b"key-count", 3, b"cpu-usec", 70, b"network-bytes-in", 210, b"network-bytes-out", 900]


def parsed(*replies: Any) -> list[SlotLoad]:
    return list(SlotStats().parse([*replies, None][:2]).slots or ())


def test_a_slot_in_both_answers_counts_once() -> None:
    assert parsed([[12706, FULL], [5, FULL]], [[12706, FULL]]) == [
        SlotLoad(5, 3, 70, 210, 900),
        SlotLoad(12706, 3, 70, 210, 900),
    ]


def test_what_the_server_does_not_count_is_not_known() -> None:
    assert parsed([[325, [b"key-count", 9]]]) == [SlotLoad(325, 9, None, None, None)]


def test_empty_slots_are_left_out() -> None:
    assert parsed([[1, [b"key-count", 0, b"cpu-usec", 0]], [2, [b"key-count", 0, b"cpu-usec", 4]]]) == [
        SlotLoad(2, 0, 4)
    ]


@pytest.mark.parametrize(
    "reply",
    [
        None,
        7,
        [],
        [None],
        [[1]],
        [[1, b"x"]],
        [[-1, FULL]],
        [[16_384, FULL]],
        [[b"1", FULL]],
        [[1, [b"key-count", -1]]],
        [[1, [b"key-count", 2**70]]],
        [[1, [b"key-count", b"1"]]],
        [[1, [7, 7]]],
    ],
)
def test_it_leaves_out_what_cannot_be_read(reply: Any) -> None:
    assert parsed(reply) == []


def test_it_reads_no_more_than_it_asked_for() -> None:
    assert len(parsed([[number, FULL] for number in range(1_000)])) == SLOTS_READ


@pytest.mark.parametrize(
    ("standing", "is_wanted"),
    [
        (Standing(Engine.VALKEY, (7, 2, 4), (8, 0, 0), in_cluster=True), True),
        (Standing(Engine.VALKEY, (7, 2, 4), (9, 1), in_cluster=True, is_primary=True), True),
        (Standing(Engine.VALKEY, (7, 2, 4), (9, 1), in_cluster=True, is_primary=False), False),
        (Standing(Engine.VALKEY, (7, 2, 4), (9, 1), in_cluster=False), False),
        (Standing(Engine.VALKEY, (7, 2, 4), (7, 2, 4), in_cluster=True), False),
        (Standing(Engine.REDIS, (7, 0, 15), in_cluster=True), False),
        (Standing(Engine.REDIS, (8, 2), in_cluster=True), True),
        (Standing(in_cluster=True), False),
    ],
)
def test_it_asks_primaries_of_clusters_that_can_tell(standing: Standing, is_wanted: bool) -> None:
    assert SlotStats().wanted(standing) is is_wanted
