"""What the samples around a failover tell, and what they cannot."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from collectors.series import Line, Series
from collectors.tests.cast import NOON, noon
from dashboard.failover_story import COMMANDS, ERRORS, Rates, line_of, mean, present_of, rates, unserved_seconds
from dashboard.tests.cast import NOW, failing, member

Values = Sequence[float | None]


def series(values: Values, label: str = "sum", step: int = 15) -> Series:
    return Series("x", "count", "raw", NOON, step, len(values), [Line(label, list(values))], [])


@pytest.mark.parametrize(
    ("state", "slots", "seconds"),
    [
        ([1, 1, 1], [16_384, 16_384, 16_384], 0),
        ([1, 0, 1], [16_384, 16_384, 16_384], 15),
        ([1, 1, 1], [16_384, 10_923, 10_923], 30),
        ([1, 0, 1], [16_384, 10_923, 16_384], 15),
        ([1, None, 1], [16_384, None, 16_384], 0),
        ([None, 0, None], [None, None, None], 15),
        ([None, None, None], [None, None, None], None),
        ([None, None], [16_384, 16_383], 15),
        ([], [], None),
    ],
)
def test_it_counts_the_time_in_which_slots_had_nobody(state: Values, slots: Values, seconds: float | None) -> None:
    assert unserved_seconds(series(state, "min"), series(slots, "min")) == seconds


def test_slots_that_never_were_there_are_not_missed() -> None:
    assert unserved_seconds(series([1, 1], "min"), series([100, 100], "min")) == 0


def test_a_longer_step_means_a_longer_time() -> None:
    assert unserved_seconds(series([0], "min", 300), series([None], "min", 300)) == 300


@pytest.mark.parametrize(
    ("values", "start", "end", "expected"),
    [
        ([10, 20, 30], 0, 45, 20),
        ([10, 20, 30], 0, 30, 15),
        ([10, 20, 30], 15, 16, 20),
        ([10, None, 30], 0, 45, 20),
        ([0, 0], 0, 30, 0),
        ([None, None], 0, 30, None),
        ([10, 20], 90, 120, None),
        ([], 0, 30, None),
    ],
)
def test_a_gap_counts_as_unknown_not_as_zero(values: Values, start: int, end: int, expected: float | None) -> None:
    assert mean(series(values), (noon(start), noon(end))) == expected


def test_rates_of_commands_and_errors_are_known_apart() -> None:
    found = {COMMANDS: series([100, 100]), ERRORS: series([None, None])}

    assert rates(found, (noon(), noon(30))) == Rates(100, None)


def test_a_line_that_is_not_there_is_empty() -> None:
    assert line_of(series([1, 2]), "max") == []
    assert line_of(series([1, 2]), "sum") == [1, 2]


@pytest.mark.parametrize(("link", "is_up"), [(None, None), (1, True), (0, False), (True, True), (False, False)])
def test_a_link_that_is_not_reported_is_not_broken(link: float | None, is_up: bool | None) -> None:
    assert present_of(member(1, "replica", master_link_up=link)).master_link_up is is_up


def test_a_node_that_does_not_answer_now_has_no_lag() -> None:
    node = member(1, "replica", replication_lag_seconds=2.0, master_link_up=True)

    seen, gone = present_of(node), present_of(failing(node, NOW - timedelta(minutes=1)))

    assert (seen.answers, seen.lag_seconds) == (True, 2.0)
    assert (gone.answers, gone.lag_seconds, gone.master_link_up) == (False, None, None)
