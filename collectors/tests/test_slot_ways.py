"""Who owned which slot before and after, and how nodes of one event come together."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.event_detection import (
    CacheState,
    NodeState,
    SlotRanges,
    has_restarted,
    merged_nodes,
    owners,
    slots_moved,
    started_at,
    was_restarted,
)
from collectors.known_states import seconds, version_of
from collectors.layout import SLOT_COUNT

OWNERS = st.lists(st.integers(0, 4), min_size=1, max_size=12)


def ranges(shards: list[int]) -> dict[int, SlotRanges]:
    """Return equal stretches of all slots, one a shard in this order; 0 is nobody's."""
    size = SLOT_COUNT // len(shards)
    found: dict[int, SlotRanges] = {}
    for place, shard in enumerate(shards):
        if shard:
            found.setdefault(shard, []).append([place * size, (place + 1) * size - 1])
    return found


@given(OWNERS)
@settings(max_examples=12, deadline=None)
def test_every_slot_has_the_owner_that_says_so(shards: list[int]) -> None:
    size = SLOT_COUNT // len(shards)

    found = owners(ranges(shards))

    assert len(found) == SLOT_COUNT
    assert found[::size][: len(shards)] == shards


@given(OWNERS)
@settings(max_examples=12, deadline=None)
def test_what_moved_there_moves_back_again(shards: list[int]) -> None:
    later = shards[::-1]

    there, back = slots_moved(ranges(shards), ranges(later)), slots_moved(ranges(later), ranges(shards))

    assert there == {" ".join(way.split()[::-1]): count for way, count in back.items()}


def test_all_slots_may_move_at_once() -> None:
    assert slots_moved({1: [[0, 16_383]]}, {2: [[0, 16_383]]}) == {"1 2": 16_384}


@pytest.mark.parametrize("slots", [{}, {1: []}, {1: [[0, 5]], 2: [[6, 9]]}])
def test_nothing_moved_where_nothing_changed(slots: dict[int, SlotRanges]) -> None:
    assert not slots_moved(slots, slots)


def test_the_last_slot_counts() -> None:
    assert slots_moved({1: [[16_383, 16_383]]}, {2: [[16_383, 16_383]]}) == {"1 2": 1}


def state(**fields: object) -> NodeState:
    given = {"answered_at": 100.0, "uptime": 50.0, "run_id": ""} | fields
    return NodeState(1, "a:1", **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"run_id": "x"}, {"run_id": "y"}, True),
        ({"run_id": "x"}, {"run_id": "x", "uptime": 1.0}, False),
        ({"uptime": 50.0}, {"uptime": 49.0}, True),
        ({"uptime": 50.0}, {"uptime": 50.0}, False),
        ({"uptime": 50.0}, {"uptime": 0.0}, True),
        ({"uptime": 0.0}, {"uptime": 0.0}, False),
        ({"uptime": None}, {"uptime": 1.0}, False),
        ({"uptime": 50.0}, {"uptime": None}, False),
        ({"run_id": "x"}, {"run_id": "", "uptime": 5.0}, True),
        ({"run_id": "x"}, {"run_id": "y", "failing_since": 3.0}, False),
        ({"run_id": "x"}, {"run_id": "y", "answered_at": None}, False),
    ],
)
def test_it_knows_a_restart(old: dict[str, object], new: dict[str, object], expected: bool) -> None:
    assert has_restarted(state(**old), state(**new)) is expected


@pytest.mark.parametrize(("uptime", "expected"), [(None, None), (0.0, True), (10.0, True), (10.5, False), (1e9, False)])
def test_a_node_that_was_up_before_it_fell_silent_was_cut_off(uptime: float | None, expected: bool | None) -> None:
    assert was_restarted(state(failing_since=90.0), state(uptime=uptime), 100.0) is expected


def test_an_unknown_uptime_makes_now_the_start() -> None:
    assert (started_at(state(uptime=None), 100.0), started_at(state(uptime=0.0), 100.0)) == (100.0, 100.0)


def test_nodes_of_an_event_are_counted_and_brought_up_to_date() -> None:
    known = merged_nodes([], [{"id": 1, "role": "primary"}, {"id": 2}])

    found = merged_nodes(known, [{"id": 1, "role": "replica"}, {"id": 3}])

    assert found == [
        {"id": 1, "role": "replica", "times": 2},
        {"id": 2, "times": 1},
        {"id": 3, "times": 1},
    ]


def test_a_state_comes_back_from_json_with_its_numbers() -> None:
    before = CacheState(2**40 + 0.5, {1: state(config={"maxmemory": 2**63 - 1})}, {1: [[0, 5]]}, {1: 7})

    assert CacheState.of_json(before.to_json()) == before


@pytest.mark.parametrize(
    "stored",
    [
        {},
        {"at": 1, "nodes": [{}], "slots": [], "primaries": []},
        {"at": 1, "nodes": [{"id": 1, "address": "a", "colour": "red"}], "slots": [], "primaries": []},
        {"at": 1, "nodes": [], "slots": [[1]], "primaries": []},
        {"at": 1, "nodes": None, "slots": [], "primaries": []},
    ],
)
def test_a_state_of_another_shape_is_none(stored: dict[str, object]) -> None:
    assert CacheState.of_json(stored) is None


@pytest.mark.parametrize(
    ("facts", "version"),
    [
        ({}, ""),
        ({"redis_version": "7.2.4"}, "Redis 7.2.4"),
        ({"redis_version": "7.2.4", "valkey_version": "9.1.0"}, "Valkey 9.1.0"),
        ({"redis_version": "7.2.4", "valkey_version": ""}, "Redis 7.2.4"),
    ],
)
def test_a_version_names_the_engine(facts: dict[str, str], version: str) -> None:
    assert version_of(facts) == version


def test_a_moment_that_is_not_known_is_none() -> None:
    assert seconds(None) is None
