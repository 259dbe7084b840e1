"""What two states of a cache differ in, without servers or tables."""

from dataclasses import replace
from typing import Any

import pytest

from collectors import event_detection
from collectors.event import Kind
from collectors.event_detection import (
    CacheState,
    Happening,
    NodeState,
    detect,
    has_restarted,
    slots_moved,
    with_primaries,
)

NOW = 1_000_000.0
BEFORE = NOW - 15


def node(number: int, **known: Any) -> NodeState:
    """Return a node of the shard that its tens name; a multiple of ten is the primary."""
    role = "replica" if number % 10 else "primary"
    given: dict[str, Any] = {
        "shard": number // 10,
        "role": role,
        "answered_at": NOW,
        "run_id": f"run-{number}",
        "uptime": 5_000,
    }
    given |= {"address": f"10.0.0.1:{7000 + number}", "version": "Valkey 9.0.0"}
    return NodeState(number, **{**given, **known})


FIRST = (node(10), node(11), node(20), node(21))
SLOTS = {1: [[0, 8191]], 2: [[8192, 16383]]}


def state(*nodes: NodeState, at: float = NOW, slots: dict[int, Any] | None = None) -> CacheState:
    return CacheState(at, {one.id: one for one in nodes}, SLOTS if slots is None else slots)


def changed(*nodes: NodeState, **known: Any) -> list[Happening]:
    """Return what happened from the four nodes as they were to those given in their place."""
    before = with_primaries(state(*FIRST, at=BEFORE), None)
    after = {one.id: one for one in (*FIRST, *nodes)}
    return detect(before, with_primaries(state(*after.values(), **known), before))


def kinds(happenings: list[Happening]) -> list[str]:
    return [str(happening.kind) for happening in happenings]


def silent(number: int, **known: Any) -> NodeState:
    return replace(node(number), failing_since=NOW - 1, failures=1, **known)


def test_it_finds_nothing_where_nothing_changed() -> None:
    assert changed() == []


def test_it_survives_being_stored() -> None:
    before = with_primaries(state(*FIRST), None)

    assert CacheState.of_json(before.to_json()) == before


@pytest.mark.parametrize("stored", [{}, {"at": 1, "nodes": [{"id": 1, "colour": "red"}]}, {"nodes": None}, []])
def test_it_begins_anew_where_a_stored_state_has_another_shape(stored: Any) -> None:
    assert CacheState.of_json(stored) is None


def test_it_tells_a_failover_once_its_shard_has_another_primary() -> None:
    (story,) = changed(replace(node(10), role="replica"), replace(node(11), role="primary"))

    assert story.kind == Kind.FAILOVER
    assert (story.data["from"]["id"], story.data["to"]["id"], story.data["is_forced"]) == (10, 11, False)
    assert [entry["id"] for entry in story.data["after"]] == [11, 10]


def test_it_waits_while_both_nodes_call_themselves_primary() -> None:
    assert changed(replace(node(11), role="primary")) == []


def test_it_waits_while_no_node_calls_itself_primary() -> None:
    before = with_primaries(state(*FIRST, at=BEFORE), None)
    between = with_primaries(state(replace(node(10), role="replica"), *FIRST[1:]), before)
    after = with_primaries(state(replace(node(10), role="replica"), replace(node(11), role="primary")), between)

    assert detect(before, between) == []
    assert kinds(detect(between, after))[0] == Kind.FAILOVER


def test_it_calls_a_failover_forced_where_the_old_primary_is_silent() -> None:
    happenings = changed(silent(10, role=""), replace(node(11), role="primary"))

    assert kinds(happenings) == [Kind.FAILOVER, Kind.UNREACHABLE]
    assert happenings[0].data["is_forced"]
    assert happenings[0].data["old_answered_at"] == NOW


def test_a_primary_that_comes_back_as_it_was_is_no_failover() -> None:
    before = with_primaries(state(silent(10), *FIRST[1:], at=BEFORE), None)

    assert kinds(detect(before, with_primaries(state(*FIRST), before))) == [Kind.UNREACHABLE]


@pytest.mark.parametrize(
    ("known", "kind"),
    [
        ({"run_id": "other", "uptime": 3}, Kind.RESTART),
        ({"run_id": "", "uptime": 3}, Kind.RESTART),
        ({"run_id": "other", "version": "Valkey 9.1.0"}, Kind.VERSION),
        ({"address": "10.0.0.1:9999"}, Kind.MOVED),
        ({"shard": 1, "role": "replica"}, Kind.ROLE),
    ],
)
def test_it_tells_what_happened_to_a_node(known: dict[str, Any], kind: Kind) -> None:
    assert kinds(changed(node(20, **known))) == [kind]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"process": "7"}, {"process": "8"}, True),
        ({"process": "1", "uptime": 900}, {"process": "1", "uptime": 5}, True),
        ({"process": "1", "uptime": 900}, {"process": "1", "uptime": 915}, False),
        ({"uptime": 5, "answered_at": NOW - 9_000}, {"uptime": 600}, True),
        ({"uptime": 5, "answered_at": NOW - 600}, {"uptime": 605}, False),
        ({"uptime": 5, "answered_at": NOW - 600}, {"uptime": 598}, False),
        ({"uptime": None}, {"uptime": 5}, False),
    ],
)
def test_a_server_without_a_run_id_is_known_by_its_age(
    old: dict[str, Any], new: dict[str, Any], expected: bool
) -> None:
    assert has_restarted(node(10, run_id="", **old), node(10, run_id="", **new)) is expected


def test_it_says_when_a_server_was_started() -> None:
    (restart,) = changed(node(10, run_id="other", uptime=4), node(11, run_id="another", uptime=7))

    assert restart.at == NOW - 7
    assert [entry["started_at"] for entry in restart.nodes] == [NOW - 4, NOW - 7]


def test_it_concludes_nothing_from_what_is_not_known() -> None:
    assert changed(node(10, run_id="", uptime=None, version="", config={"maxmemory": 5}), node(11, shard=None)) == []


def test_it_puts_nodes_together_that_changed_alike() -> None:
    before = state(*(replace(one, config={"maxmemory": 1}) for one in FIRST), at=BEFORE)
    after = state(*(replace(one, config={"maxmemory": 2 if one.id < 20 else 1}) for one in FIRST))

    (change,) = detect(before, after)

    assert change.data == {"changes": {"maxmemory": [1, 2]}}
    assert [entry["id"] for entry in change.nodes] == [10, 11]


def test_it_tells_when_nodes_fall_silent_and_answer_again() -> None:
    before = state(*FIRST[:3], silent(21), at=BEFORE)

    begun, ended = detect(before, state(silent(10), silent(11), *FIRST[2:]))

    assert (begun.step, [entry["id"] for entry in begun.nodes]) == ("begin", [10, 11])
    assert (ended.step, [(entry["id"], entry["is_restarted"]) for entry in ended.nodes]) == ("end", [(21, False)])


@pytest.mark.parametrize(
    ("known", "restarted"),
    [
        ({}, False),
        ({"run_id": "other"}, True),
        ({"run_id": "", "uptime": 3}, True),
        ({"run_id": "", "uptime": 900}, False),
        ({"run_id": "", "uptime": None}, None),
    ],
)
def test_it_knows_a_restart_from_a_cut(known: dict[str, Any], restarted: bool | None) -> None:
    silent_since = replace(node(10), failing_since=NOW - 60)

    assert event_detection.was_restarted(silent_since, node(10, **known), NOW) is restarted


def test_a_node_that_never_answered_does_not_fall_silent() -> None:
    assert changed(silent(10, answered_at=None)) == []


def test_a_node_that_left_is_waited_for_no_longer() -> None:
    before = state(silent(10), *FIRST[1:], at=BEFORE)

    happenings = detect(before, state(*FIRST[1:]))

    assert kinds(happenings) == [Kind.UNREACHABLE, Kind.LEFT]
    assert happenings[0].nodes[0]["has_left"]


def test_it_tells_evictions_of_a_cache_as_one() -> None:
    evicting = replace(node(10), is_evicting=True)
    other = replace(node(20), is_evicting=True)

    begun = detect(state(*FIRST), state(evicting, *FIRST[1:]))
    more = detect(state(evicting, *FIRST[1:]), state(evicting, FIRST[1], other, FIRST[3]))
    fewer = detect(state(evicting, FIRST[1], other, FIRST[3]), state(evicting, *FIRST[1:]))
    ended = detect(state(evicting, *FIRST[1:]), state(*FIRST))

    assert [happening.step for happening in (*begun, *more, *fewer, *ended)] == ["begin", "begin", "end"]


def test_it_tells_nodes_and_slots_that_came() -> None:
    slots = {1: [[0, 5000]], 2: [[8192, 16383]], 3: [[5001, 8191]]}

    joined, moved = changed(node(30), slots=slots)

    assert (joined.kind, joined.data["nodes_before"]) == (Kind.JOINED, 4)
    assert (moved.data["slots"], moved.data["ways"]) == (3191, {"1 3": 3191})


def test_slots_without_a_shard_have_not_moved() -> None:
    assert slots_moved({1: [[0, 10]]}, {1: [[0, 4]]}) == {}
    assert slots_moved({1: [[0, 10]], 2: [[20, 30]]}, {1: [[20, 30]], 2: [[0, 10]]}) == {"1 2": 11, "2 1": 11}
