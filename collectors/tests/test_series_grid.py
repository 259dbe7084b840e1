"""The points of a chart: which tier, which step, and what stays a gap."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors import series
from collectors.series import MAX_POINTS, Line, RangeError, grid_of, tier_of

NOW = datetime.now(UTC).replace(microsecond=0)
SPANS = st.integers(1, 400 * 86_400)
INTERVALS = st.sampled_from([1, 5, 7, 15, 60, 120])


@given(SPANS, INTERVALS, st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_the_points_cover_the_range_and_no_more_than_a_step_beyond(span: int, interval: int, ago: int) -> None:
    end = NOW - timedelta(seconds=ago)
    start = end - timedelta(seconds=span)

    grid = grid_of(start, end, interval)

    assert grid.first <= start < grid.first + timedelta(seconds=grid.step)
    assert end <= grid.end < end + timedelta(seconds=grid.step)
    assert grid.start % grid.step == 0


@given(SPANS, INTERVALS, st.booleans())
@settings(max_examples=40, deadline=None)
def test_every_point_holds_the_same_number_of_samples(span: int, interval: int, is_detail: bool) -> None:
    grid = grid_of(NOW - timedelta(seconds=span), NOW, interval, detail=is_detail)

    spacing = interval if grid.tier == "raw" else series.TIER_SECONDS[grid.tier]
    assert grid.step % spacing == 0
    assert 1 <= grid.count <= 2 * series.DEFAULT_POINTS + 2


@given(SPANS, INTERVALS, st.integers(1, 172_800))
@settings(max_examples=40, deadline=None)
def test_a_step_that_is_asked_for_is_never_finer_and_never_too_much(span: int, interval: int, step: int) -> None:
    try:
        grid = grid_of(NOW - timedelta(seconds=span), NOW, interval, step=step)
    except RangeError:
        assert span / step > MAX_POINTS
    else:
        assert grid.step >= step
        assert grid.count <= MAX_POINTS + 2


@pytest.mark.parametrize(("step", "tier"), [(7_200, "1h"), (21_600, "1h"), (28_800, "8h")])
def test_hours_are_read_for_a_step_that_is_finer_than_the_coarsest_tier(step: int, tier: str) -> None:
    grid = grid_of(NOW - timedelta(days=90), NOW, 15, step=step)

    assert (grid.step, grid.tier) == (step, tier)


def test_90_days_have_no_more_points_than_a_day() -> None:
    day, quarter = (grid_of(NOW - timedelta(days=days), NOW, 15) for days in (1, 90))

    assert quarter.count <= day.count


@pytest.mark.parametrize("seconds", [0, -1, -86_400])
def test_a_range_that_is_empty_is_refused(seconds: int) -> None:
    with pytest.raises(RangeError, match="ends before it begins"):
        grid_of(NOW, NOW + timedelta(seconds=seconds), 15)


@pytest.mark.parametrize(
    ("span", "ago", "tier"),
    [
        (timedelta(hours=3), timedelta(0), "raw"),
        (timedelta(hours=3, seconds=1), timedelta(0), "5m"),
        (timedelta(days=10), timedelta(0), "5m"),
        (timedelta(days=10, seconds=1), timedelta(0), "1h"),
        (timedelta(days=60), timedelta(0), "1h"),
        (timedelta(days=60, seconds=1), timedelta(0), "8h"),
        (timedelta(hours=1), timedelta(days=2_000), "1h"),
        (timedelta(seconds=1), -timedelta(days=1), "raw"),
    ],
)
def test_a_tier_is_left_at_the_end_of_its_span(span: timedelta, ago: timedelta, tier: str) -> None:
    end = NOW - ago

    assert tier_of(end - span, end, NOW) == tier


def test_the_times_of_a_series_are_its_points() -> None:
    made = series.Series("x", "", "raw", 120, 60, 3, [])

    assert made.times == [120, 180, 240]


@pytest.mark.parametrize(
    ("counts", "totals"),
    [
        ([], []),
        ([3], [1.0]),
        ([3, 2, 3], [1.0, None, 1.0]),
        ([3, 2, 2, 3], [1.0, 1.0, 1.0, 1.0]),
        ([2, 3, 3], [None, 1.0, 1.0]),
        ([3, 3, 2], [1.0, 1.0, None]),
        ([3, None, 2, None, 3], [1.0, None, None, None, 1.0]),
        ([0, 3, 0], [1.0, 1.0, 1.0]),
        ([1, 2, 3], [None, 1.0, 1.0]),
    ],
)
def test_a_total_without_a_node_that_missed_one_poll_is_a_gap(
    counts: list[int | None], totals: list[float | None]
) -> None:
    found: list[float | None] = [None if count is None else 1.0 for count in counts]

    series._leave_out_partial(found, counts)

    assert found == totals


@pytest.mark.parametrize(
    ("values", "mean"), [([], None), ([None], None), ([0, None], 0), ([1, 3], 2), ([2**53, 2**53], 2**53)]
)
def test_the_mean_leaves_out_what_is_not_known(values: list[float | None], mean: float | None) -> None:
    assert series._mean(values) == mean


def test_values_are_put_in_their_places_and_strangers_left_out() -> None:
    placed = series._spread([-1, 0, 2, 3], [[9.0, 1.0, 0.0, 9.0], [9.0, None, 5.0, 9.0]], 3)

    assert placed == [[1.0, None, 0.0], [None, None, 5.0]]


def line(label: str, *values: float | None) -> Line:
    return Line(label, [*values], [*values], [*values])


def test_the_highest_lines_stay_in_their_order_and_the_rest_is_a_band() -> None:
    folded = series._fold([line("low", 1, 1), line("top", 9, 0), line("mid", 3, 5), line("gap", None, 2)], 2)

    assert [one.label for one in folded] == ["top", "mid", "others"]
    assert (folded[-1].minimum, folded[-1].maximum, folded[-1].mean) == ([1, 1], [1, 2], [1, 1.5])


def test_a_point_that_none_of_the_others_has_is_a_gap() -> None:
    folded = series._fold([line("top", 9), line("a", None), line("b", None)], 1)

    assert (folded[-1].minimum, folded[-1].maximum, folded[-1].mean) == ([None], [None], [None])
