"""Tallies and percentiles as plain numbers: sums, bounds and shares."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.series import STEPS, RangeError
from collectors.sources.counters import Counters, increase, numbers
from collectors.tallies import BUCKETS, COUNT_LIMIT, NAMES_A_NODE, OTHER, TIERS, Tally, bounded
from collectors.tally_queries import (
    FIRST_BUCKET_USEC,
    ROW_BUDGET,
    Measured,
    Scope,
    Summary,
    Totals,
    percentile_usec,
    tier_for,
)
from collectors.tally_series import MEASURES, Point, step_of

NOW = datetime(2026, 10, 25, 1, 0, tzinfo=UTC)
HISTOGRAMS = st.lists(st.integers(0, COUNT_LIMIT), min_size=BUCKETS, max_size=BUCKETS)
COUNTS = st.integers(0, 10**6)
TALLIES = st.builds(Tally, COUNTS, COUNTS, COUNTS, COUNTS, st.dictionaries(st.integers(0, BUCKETS - 1), COUNTS))


@given(HISTOGRAMS, st.floats(0, 1))
@settings(max_examples=40, deadline=None)
def test_a_percentile_lies_between_the_first_and_the_last_bucket(buckets: list[int], share: float) -> None:
    found = percentile_usec(buckets, share)

    if not any(buckets):
        assert found is None
        return
    filled = [place for place, count in enumerate(buckets) if count]
    lowest = 2.0 ** (filled[0] - 1) if filled[0] else 0.0
    assert found is not None
    assert lowest <= found / FIRST_BUCKET_USEC * 1.000001
    assert found <= FIRST_BUCKET_USEC * 2.0 ** filled[-1] * 1.000001


@given(HISTOGRAMS.filter(any), st.lists(st.floats(0, 1), min_size=2, max_size=6))
@settings(max_examples=40, deadline=None)
def test_a_higher_percentile_is_never_lower(buckets: list[int], shares: list[float]) -> None:
    found = [percentile_usec(buckets, share) or 0 for share in sorted(shares)]

    assert all(low <= high * 1.000001 for low, high in pairwise(found))


@pytest.mark.parametrize(
    ("buckets", "share", "usec"),
    [
        ([], 0.5, None),
        ([0] * BUCKETS, 0.5, None),
        ([10], 1, 1),
        ([10], 0.5, 0.5),
        ([0, 10], 1, 2),
        ([0, 10], 0, 1),
        ([0, 0, 10], 0.5, 3),
        ([5, 0, 5], 0.5, 1),
        ([5, 0, 5], 0.500001, 2),
    ],
)
def test_a_percentile_is_interpolated_within_its_bucket(buckets: list[int], share: float, usec: float | None) -> None:
    found = percentile_usec(buckets, share)

    assert found == (None if usec is None else pytest.approx(usec * FIRST_BUCKET_USEC, rel=1e-4))


@given(st.lists(TALLIES, max_size=5), st.integers(0, 5))
@settings(max_examples=20, deadline=None)
def test_tallies_add_up_however_they_are_put_together(tallies: list[Tally], cut: int) -> None:
    at_once, first, rest = Tally(), Tally(), Tally()
    for place, tally in enumerate(tallies):
        at_once.add(tally)
        (first if place < cut else rest).add(tally)

    first.add(rest)

    assert first == at_once


@given(st.dictionaries(st.text(min_size=1, max_size=3), TALLIES, max_size=90))
@settings(max_examples=12, deadline=None)
def test_bounding_names_loses_no_call(by_name: dict[str, Tally]) -> None:
    found = bounded(by_name)

    assert len(found) <= NAMES_A_NODE
    assert sum(tally.calls for tally in found.values()) == sum(tally.calls for tally in by_name.values())
    assert sum(sum(tally.buckets.values()) for tally in found.values()) == sum(
        sum(tally.buckets.values()) for tally in by_name.values()
    )


def test_bounding_keeps_the_heaviest_by_time() -> None:
    found = bounded({f"c{number}": Tally(calls=1_000 - number, usec=number) for number in range(1, 101)})

    assert "c100" in found
    assert "c1" not in found
    assert found[OTHER].calls == sum(1_000 - number for number in range(1, 101 - NAMES_A_NODE + 1))


def test_what_did_nothing_takes_no_place() -> None:
    assert bounded({"idle": Tally(), "busy": Tally(calls=1)}) == {"busy": Tally(calls=1)}


def test_as_many_names_as_there_are_places_stay_apart() -> None:
    assert OTHER not in bounded({str(number): Tally(calls=1) for number in range(NAMES_A_NODE)})


@pytest.mark.parametrize(
    ("now", "before", "grown"),
    [
        ((5, 5), (), (5, 5)),
        ((5, 5), (5, 4), (0, 1)),
        ((COUNT_LIMIT,), (1,), (COUNT_LIMIT - 1,)),
        ((COUNT_LIMIT,), (0,), None),
        ((4,), (5,), None),
    ],
)
def test_growth_is_what_a_server_can_have_counted(
    now: tuple[int, ...], before: tuple[int, ...], grown: tuple[int, ...] | None
) -> None:
    assert increase(now, before) == grown


@given(st.lists(st.integers(0, 10**9), min_size=2, max_size=12))
@settings(max_examples=40, deadline=None)
def test_what_grew_adds_up_to_the_counter_whatever_the_resets(counts: list[int]) -> None:
    counters = Counters()

    grown = [counters.grown([b"c_get:n=%d" % count], b"c_", (b"n",)) for count in counts]

    expected = [new if new < old else new - old for old, new in pairwise(counts)]
    assert [(found or {}).get(b"get", (0,))[0] for found in grown[1:]] == expected


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"a=1,b=2", (1, 2)),
        (b"b=2", (0, 2)),
        (b"", (0, 0)),
        (b"a=-1,b=1.5", (0, 0)),
        (b"a=" + b"9" * 19 + b",b=" + b"9" * 20, (10**19 - 1, 0)),
        (b"a=1,a=2", (2, 0)),
        (b"a =1,b=\xb2", (0, 0)),
    ],
)
def test_it_reads_the_named_numbers(text: bytes, found: tuple[int, int]) -> None:
    assert numbers(text, (b"a", b"b")) == found


def test_nothing_has_no_mean_and_no_rate() -> None:
    assert (Totals("x").usec_per_call, Totals("x").percentile_usec(0.5), Totals("x").has_histogram) == (
        None,
        None,
        False,
    )
    assert (Summary([], Measured()).per_second(5), Summary([], Measured()).time_share(5)) == (None, None)


def test_shares_of_time_are_of_all_nodes_together() -> None:
    summary = Summary([], Measured(seconds=60, node_seconds=180))

    assert (summary.per_second(120), summary.time_share(90_000_000)) == (2, 0.5)


@pytest.mark.parametrize(
    ("measure", "point", "nodes", "value"),
    [
        ("calls", Point(calls_per_second=6), 3, 6),
        ("time", Point(usec_per_second=1.5e6), 3, 0.5),
        ("usec", Point(calls=4, usec=10), 1, 2.5),
        ("usec", Point(calls=0, usec=10), 1, None),
        ("p99", Point(), 1, None),
        ("rejected", Point(rejected_per_second=0.5), 1, 0.5),
    ],
)
def test_a_chart_shows_of_a_point(measure: str, point: Point, nodes: int, value: float | None) -> None:
    assert MEASURES[measure].value(point, nodes) == value


def scope(span: timedelta) -> Scope:
    return Scope([1], "command", NOW - span, NOW)


@given(st.integers(1, 500 * 86_400), st.sampled_from([None, 1, 60, 61, 3_600]))
@settings(max_examples=40, deadline=None)
def test_a_step_is_a_multiple_of_what_is_stored(span: int, step: int | None) -> None:
    if step and span / step > 2_000:
        with pytest.raises(RangeError, match=r"more than 2,000 points"):
            step_of(scope(timedelta(seconds=span)), TIERS[1].width, step)
        return

    found = step_of(scope(timedelta(seconds=span)), TIERS[1].width, step)

    assert found % 600 == 0
    assert found >= (step or 0)
    assert found in STEPS or found > STEPS[-1] or found % 600 == 0


@pytest.mark.parametrize("span", [timedelta(0), -timedelta(seconds=1)])
def test_an_empty_range_has_no_step(span: timedelta) -> None:
    with pytest.raises(RangeError, match="ends before it begins"):
        step_of(scope(span), TIERS[0].width, None)


@pytest.mark.parametrize("tier", range(len(TIERS) - 1))
def test_a_tier_is_read_up_to_its_budget_and_its_keeping(tier: int) -> None:
    width, keep = TIERS[tier].width, TIERS[tier].keep
    most = min(width * ROW_BUDGET, keep)

    assert tier_for(NOW - most, NOW, 1, NOW) in TIERS[: tier + 1]
    assert tier_for(NOW - keep - timedelta(seconds=1), NOW, 1, NOW) not in TIERS[: tier + 1]


def test_no_nodes_are_read_like_one() -> None:
    assert tier_for(NOW - timedelta(minutes=5), NOW, 0, NOW) == TIERS[0]


def test_more_nodes_than_any_budget_are_read_from_the_coarsest() -> None:
    assert tier_for(NOW - timedelta(days=300), NOW, 10**9, NOW) == TIERS[-1]
