"""When a scaling goes on, when it has ended, and whether connections are even after it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest_django.fixtures import Settings

from collectors import scaling
from collectors.event import Event, Kind
from collectors.event_detection import CacheState, Happening, NodeState
from fleet.models import Cache

NOW = datetime(2026, 3, 29, 1, 0, tzinfo=UTC)


def node(identity: int, shard: int | None = 1, connections: int | None = 100, **fields: Any) -> NodeState:
    given: dict[str, Any] = {"role": "primary", "answered_at": 1.0} | fields
    return NodeState(identity, f"10.0.0.{identity}:6379", shard, connections=connections, **given)


def state(*nodes: NodeState, slots: dict[int, list[list[int]]] | None = None) -> CacheState:
    return CacheState(NOW.timestamp(), {one.id: one for one in nodes}, slots or {})


@pytest.mark.parametrize(
    ("counts", "expected"),
    [([], None), ([5], None), ([0, 0], None), ([5, 5], 0), ([0, 10], 2), ([90, 110], 0.2), ([1, 2, 3], 1)],
)
def test_the_spread_is_the_distance_over_the_mean(counts: list[int], expected: float | None) -> None:
    assert scaling.spread(counts) == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([], True),
        ([1_000_000], True),
        ([0, 10], True),
        ([0, 11], False),
        ([0, 0, 0], True),
        ([7_000, 9_000], True),
        ([6_999, 9_001], False),
        ([1_000, 0, 1_000], False),
    ],
)
def test_a_handful_or_a_quarter_more_counts_as_even(counts: list[int], expected: bool) -> None:
    assert scaling.is_even(counts) is expected


@given(st.lists(st.integers(0, 10**6), min_size=2, max_size=30), st.integers(2, 50))
@settings(max_examples=60, deadline=None)
def test_the_spread_knows_no_order_and_no_size(counts: list[int], times: int) -> None:
    expected = scaling.spread(counts)

    assert scaling.spread(counts[::-1]) == expected
    assert scaling.spread([count * times for count in counts]) == (expected and pytest.approx(expected))


def test_only_primaries_that_answer_and_tell_are_counted() -> None:
    found = state(
        node(1, connections=7),
        node(2, connections=0),
        node(3, connections=None),
        node(4, role="replica"),
        node(5, failing_since=2.0),
        node(6, answered_at=None),
    )

    assert scaling.connections(found) == [7, 0]


@pytest.mark.parametrize(
    ("nodes", "slots", "expected"),
    [
        ([], {}, True),
        ([node(1)], {}, True),
        ([node(1)], {1: [[0, 16_383]]}, True),
        ([node(1), node(2, None)], {1: [[0, 16_383]]}, False),
        ([node(1), node(2, 2)], {1: [[0, 16_383]]}, False),
        ([node(1), node(2, 2)], {1: [[0, 16_383]], 2: []}, False),
        ([node(1), node(2, 2)], {1: [[0, 8_000]], 2: [[8_001, 16_383]]}, True),
    ],
)
def test_a_cluster_is_settled_once_every_shard_has_slots(
    nodes: list[NodeState], slots: dict[int, list[list[int]]], expected: bool
) -> None:
    assert scaling.is_settled(state(*nodes, slots=slots)) is expected


def test_ways_of_slots_add_up() -> None:
    known = scaling.with_slots({}, {"ways": {"1 2": 5}, "slots": 5})

    known = scaling.with_slots(known, {"ways": {"1 2": 1, "3 2": 4}, "slots": 5})

    assert known == {"ways": {"1 2": 6, "3 2": 4}, "slots": 10}


def test_a_step_without_slots_leaves_the_ways_alone() -> None:
    known = {"ways": {"1 2": 5}, "slots": 5}

    assert scaling.with_slots(known, {"nodes_before": 1}) is known


def test_steps_add_up_and_begin_the_waiting_anew() -> None:
    event = Event(kind=Kind.SCALING, until=NOW, data={"even_at": 1.0})
    step = Happening(Kind.JOINED, 1.0, ({"id": 1}, {"id": 2}), {"nodes_before": 4, "shards_before": 2})

    for _ in range(2):
        scaling.add_step(event, step, state(node(1), node(2, 2)))

    assert event.until is None
    assert event.data == {
        "nodes_before": 4,
        "shards_before": 2,
        "nodes_after": 2,
        "shards_after": 2,
        "joined": 4,
        "slots": 0,
        "changed_at": NOW.timestamp(),
    }


def test_the_sizes_before_are_those_of_the_first_step() -> None:
    event = Event(kind=Kind.SCALING, data={"nodes_before": 0})

    scaling.add_step(event, Happening(Kind.SLOTS, 1.0, data={"nodes_before": 9, "slots": 3}), state(node(1)))

    assert (event.data["nodes_before"], event.data["slots"]) == (0, 3)


@pytest.fixture
def followed(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> Any:
    """Follow a scaling whose last step was some seconds ago: `followed(100, state(...))`."""
    settings.TOPOLOGY_INTERVAL_SECONDS = 60
    monkeypatch.setattr(scaling, "counted", lambda *_: {})

    def follow(seconds: float, now: CacheState, **data: Any) -> Event:
        changed = NOW - timedelta(seconds=seconds)
        event = Event(kind=Kind.SCALING, at=changed, data={"changed_at": changed.timestamp(), **data})
        scaling.follow(event, Cache(), now, NOW)
        return event

    return follow


@pytest.mark.parametrize(("seconds", "has_ended"), [(0, False), (150, False), (151, True), (86_400, True)])
def test_it_ends_once_nothing_changed_for_two_looks(seconds: int, has_ended: bool, followed: Any) -> None:
    event = followed(seconds, state(node(1)))

    assert (event.until is not None) is has_ended
    assert event.until in {None, event.at}


@pytest.mark.parametrize(("seconds", "has_ended"), [(1_800, False), (1_801, True)])
def test_a_node_without_a_place_is_waited_for_until_it_is_a_spare(seconds: int, has_ended: bool, followed: Any) -> None:
    assert (followed(seconds, state(node(1), node(2, None))).until is not None) is has_ended


def test_a_clock_that_was_set_back_ends_nothing(followed: Any) -> None:
    assert followed(-3_600, state(node(1))).until is None


def test_it_notes_when_connections_became_even(followed: Any) -> None:
    event = followed(10, state(node(1, connections=100), node(2, 2, connections=101)))

    assert event.data["even_at"] == NOW.timestamp()
    assert event.data["spread"] == pytest.approx(2 / 201)


def test_the_first_moment_of_evenness_stays(followed: Any) -> None:
    assert followed(10, state(node(1)), even_at=5.0).data["even_at"] == 5.0


def test_connections_that_became_uneven_again_meanwhile_count_anew(followed: Any) -> None:
    event = followed(10, state(node(1, connections=0), node(2, 2, connections=500)), even_at=5.0)

    assert "even_at" not in event.data
    assert scaling.is_followed(event)


def test_after_its_end_uneven_connections_do_not_take_the_moment_back(followed: Any) -> None:
    event = followed(9_999, state(node(1, connections=0), node(2, 2, connections=500)), even_at=5.0)

    assert event.data["even_at"] == 5.0
    assert not scaling.is_followed(event)


def test_nothing_is_counted_in_no_time() -> None:
    assert scaling.counted(Cache(), NOW, NOW) == {}
    assert scaling.counted(Cache(), NOW, NOW - timedelta(days=1)) == {}
