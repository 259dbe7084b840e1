"""Measuring in turns, and what figures come to."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.report import Row, figure, quartile_spread, table
from bench.timing import interleaved, percentile, turns


def noting(said: list[str], word: str) -> Callable[[], str]:
    def act() -> str:
        said.append(word)
        return word

    return act


def test_every_other_round_goes_backwards() -> None:
    said: list[str] = []

    found = turns({name: noting(said, name) for name in "abc"}, rounds=3)

    assert "".join(said) == "abccbaabc"
    assert found == {name: [name] * 3 for name in "abc"}


def test_warming_up_is_not_counted() -> None:
    said: list[str] = []

    found = interleaved({name: noting(said, name) for name in "ab"}, runs=2, warm_up=3)

    assert {name: len(times) for name, times in found.items()} == {"a": 2, "b": 2}
    assert len(said) == 10
    assert all(time >= 0 for times in found.values() for time in times)


def test_no_rounds_give_no_figures() -> None:
    assert turns({"a": lambda: 1}, 0) == {"a": []}
    assert interleaved({"a": lambda: 1}, 0, warm_up=0) == {"a": []}


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [([1], 0, 1), ([1], 1, 1), ([3, 1, 2], 0.5, 2), ([1, 2, 3, 4], 0.99, 4), ([1, 2, 3, 4], 1, 4), ([2, 1], 0, 1)],
)
def test_a_percentile_is_one_of_the_values(values: list[float], share: float, expected: float) -> None:
    assert percentile(values, share) == expected


def test_no_values_have_no_percentile() -> None:
    with pytest.raises(ValueError, match="no values"):
        percentile([], 0.5)


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=30), st.floats(0, 1))
@settings(max_examples=40, deadline=None)
def test_no_more_than_the_rest_exceeds_a_percentile(values: list[float], share: float) -> None:
    found = percentile(values, share)

    assert sum(value > found for value in values) <= len(values) * (1 - share) + 1e-9


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0, "0"),
        (0.00012345, "0.0001234"),
        (999.94, "999.9"),
        (1000, "1,000"),
        (-1234.5, "-1,234"),
        (1e12, "1,000,000,000,000"),
    ],
)
def test_a_figure_is_short_enough_to_read(value: float | None, text: str) -> None:
    assert figure(value) == text


@pytest.mark.parametrize(("values", "spread"), [([], None), ([5], None), ([0, 0], None), ([4, 4, 4], 0), ([1, 3], 0.5)])
def test_the_spread_of_runs(values: list[float], spread: float | None) -> None:
    assert quartile_spread(values) == spread


@pytest.mark.parametrize(
    ("row", "holds"),
    [
        (Row("m", "s", 1.0, 2.0, bar=0.5), True),
        (Row("m", "s", 0.0, 2.0, bar=0.5), True),
        (Row("m", "s", 1.0, 0.0, bar=0.5), None),
        (Row("m", "s", None, 2.0, bar=0.5), None),
        (Row("m", "s", 3.0, 2.0, bar=1.5, is_least=True), True),
        (Row("m", "s", 2.9, 2.0, bar=1.5, is_least=True), False),
        (Row("m", "s", 0.0, bar=0.0, bar_on="ours"), True),
    ],
)
def test_a_bar_holds_up_to_its_very_edge(row: Row, holds: bool | None) -> None:
    assert row.holds is holds
    assert row.as_json()["holds"] is holds


def test_a_missed_bar_stands_out_in_the_table() -> None:
    assert "MISSED, see note" in table([Row("cpu", "s", 9, 1, bar=2, note="see note")])[1]
