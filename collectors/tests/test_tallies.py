"""Counts by name: writing them, reducing them, reading them."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from pytest_django import Settings

from collectors import tallies, tally_queries, tally_rollups, tally_series
from collectors.series import RangeError
from collectors.tallies import COMMAND, NAMES_A_NODE, OTHER, NodeTallies, Tally
from collectors.tally_queries import Scope, percentile_usec
from collectors.tests.cast import noon

pytestmark = pytest.mark.django_db
ONE, TWO = 1, 2


def minute(seconds: int, node_id: int = ONE, is_primary: bool = True, /, **by_name: Tally) -> NodeTallies:
    """Return what a node did in the minute that ended `seconds` after noon."""
    return NodeTallies(node_id, noon(seconds), 60, COMMAND, by_name, is_primary)


def scope(seconds: int = 3_600, nodes: tuple[int, ...] = (ONE, TWO), **given: Any) -> Scope:
    return Scope(nodes, COMMAND, noon(), noon(seconds), **given)


def read(seconds: int = 3_600, **given: Any) -> dict[str, tally_queries.Totals]:
    found = tally_queries.summary(scope(seconds, **given), noon(seconds))
    return {totals.name: totals for totals in found.totals}


def rows_of(table: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {table}")
        return int(cursor.fetchone()[0])


def many(count: int) -> dict[str, Tally]:
    return {f"c{n}": Tally(calls=1, usec=n) for n in range(count)}


def test_it_adds_up_nodes_and_minutes() -> None:
    tallies.write([minute(60, get=Tally(60, 600)), minute(60, TWO, get=Tally(120, 600)), minute(120, get=Tally(60, 0))])

    found = tally_queries.summary(scope(180), noon(180))

    assert (found.totals[0].name, found.totals[0].calls, found.totals[0].usec) == ("get", 240, 1200)
    assert (found.measured.seconds, found.measured.node_seconds, found.measured.node_ids) == (120, 180, {ONE, TWO})
    assert found.per_second(240) == 2
    assert found.time_share(1200) == pytest.approx(1200 / 1e6 / 180)


def test_it_keeps_what_a_node_did_as_a_primary_apart() -> None:
    tallies.write([minute(60, get=Tally(10)), minute(60, TWO, False, get=Tally(3))])

    assert read(roles=(True,))["get"].calls == 10
    assert read(roles=(False,))["get"].calls == 3
    assert read()["get"].calls == 13


def test_it_stores_an_interval_once() -> None:
    tallies.write([minute(60, get=Tally(10))])

    tallies.write([minute(60, get=Tally(99))])

    assert read()["get"].calls == 10


def test_it_leaves_out_what_is_dated_out_of_bounds() -> None:
    tallies.write([minute(-10 * 86_400, get=Tally(1)), minute(10 * 86_400, get=Tally(1))])

    assert rows_of("tally_1m") == 0


def test_it_remembers_that_nothing_happened() -> None:
    tallies.write([minute(60)])

    found = tally_queries.summary(scope(), noon(3_600))

    assert (found.totals, found.measured.seconds) == ([], 60)


def test_it_adds_up_what_is_light_as_other() -> None:
    tallies.write([minute(60, **many(500))])

    found = read()

    assert len(found) == NAMES_A_NODE
    assert sum(totals.calls for totals in found.values()) == 500
    assert found[OTHER].calls == 500 - NAMES_A_NODE + 1
    assert "c499" in found


def test_it_gives_names_beyond_the_limit_no_id(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tallies, "NAMES_A_KIND", 3)
    tallies.write([minute(60, a=Tally(1), b=Tally(1))])

    tallies.write([minute(120, c=Tally(5), d=Tally(6), a=Tally(1))])

    assert {name: totals.calls for name, totals in read().items()} == {"a": 2, "b": 1, OTHER: 11}


def test_it_rolls_up_by_adding() -> None:
    tallies.write([minute(s, get=Tally(10, 5, 1, 2, {3: 4}), set=Tally(1)) for s in range(60, 660, 60)] + [minute(660)])

    done = tally_rollups.roll_up_tallies(noon(1_400))

    # Ten minutes end at 12:10; the minute of 12:10 counts for the next.
    assert done == 2
    assert rows_of("tally_10m") == 2
    with connection.cursor() as cursor:
        cursor.execute("SELECT seconds, calls, usec, rejected, failed, hist_counts FROM tally_10m ORDER BY at LIMIT 1")
        assert sorted(map(str, cursor.fetchone())) == sorted(map(str, (540, [90, 9], [45, 0], [9, 0], [18, 0], [36])))


def test_it_reads_the_same_from_every_tier(monkeypatch: pytest.MonkeyPatch) -> None:
    tallies.write(
        [minute(s, node, get=Tally(10, 50, 0, 0, {2: 10})) for s in range(60, 6 * 3_600, 60) for node in (ONE, TWO)]
    )
    span = 6 * 3_600
    fine = read(span)["get"]
    tally_rollups.roll_up_tallies(noon(span))
    monkeypatch.setattr(tally_queries, "ROW_BUDGET", 10)

    coarse = tally_queries.summary(scope(span), noon(span))

    assert tally_queries.tier_for(noon(), noon(span), 2, noon(span)).table == "tally_2h"
    assert coarse.totals == [fine]
    assert coarse.measured.seconds == span - 60


def test_it_waits_for_the_finer_tier() -> None:
    tallies.write([minute(s, get=Tally(1)) for s in (60, 7_260)])
    tally_rollups.roll_up_tallies(noon(700))
    with connection.cursor() as cursor:
        # Somebody else is busy with ten minutes, and far behind.
        cursor.execute("UPDATE rollup_mark SET until = %s WHERE tier = 'tally_10m'", [noon(100 * 86_400)])
        cursor.execute("UPDATE rollup_mark SET until = %s WHERE tier = 'tally_2h'", [noon()])
        cursor.execute("UPDATE rollup_mark SET until = %s WHERE tier = 'tally_10m'", [noon(600)])

    end = tally_rollups._end_of(noon(), tallies.TIERS[1], tallies.TIERS[2], noon(8_000))

    assert end == noon()


def test_it_rolls_up_once() -> None:
    tallies.write([minute(s, get=Tally(1)) for s in range(60, 7_400, 60)])

    first = tally_rollups.roll_up_tallies(noon(7_500))
    again = tally_rollups.roll_up_tallies(noon(7_500))

    assert (first, again) == (12 + 1, 0)
    assert rows_of("tally_2h") == 1


def test_it_takes_up_after_a_long_outage(settings: Settings) -> None:
    tallies.write([minute(60, get=Tally(1))])
    tally_rollups.roll_up_tallies(noon(1_000))

    tally_rollups.roll_up_tallies(noon(60 * 86_400))

    assert tally_queries.summary(scope(), noon(60 * 86_400)).totals == []


def test_it_tells_nodes_apart() -> None:
    tallies.write([minute(60, get=Tally(60, 30, 0, 0, {1: 60})), minute(60, TWO, set=Tally(9))])

    found = tally_queries.by_node(scope(), "get", noon(3_600))

    assert {node_id: one.totals[0].calls for node_id, one in found.items()} == {ONE: 60, TWO: 0}
    assert found[ONE].per_second(60) == 1
    assert found[ONE].totals[0].buckets[1] == 60


def test_it_merges_buckets_and_never_averages_percentiles() -> None:
    # 99 quick calls on one node, 1 slow call on the other: the mean of both p99 would be half a slow call.
    tallies.write([minute(60, get=Tally(99, 0, 0, 0, {0: 99})), minute(60, TWO, get=Tally(1, 0, 0, 0, {20: 1}))])

    get = read()["get"]

    assert get.percentile_usec(0.5) == pytest.approx(0.52, abs=0.02)
    assert get.percentile_usec(0.98) == pytest.approx(1.02, abs=0.02)
    assert get.percentile_usec(0.999) == pytest.approx(1_030_000, abs=60_000)


@pytest.mark.parametrize(
    ("buckets", "share", "expected"), [([0, 0], 0.5, None), ([0, 0, 10], 0.5, 3.096), ([4, 0, 4], 1.0, 4.128)]
)
def test_a_percentile_lies_within_its_bucket(buckets: list[int], share: float, expected: float | None) -> None:
    assert percentile_usec(buckets, share) == (expected if expected is None else pytest.approx(expected))


def test_it_draws_the_heaviest_and_the_sum_of_the_others() -> None:
    tallies.write([minute(s, a=Tally(600, 6_000_000), b=Tally(60, 60), c=Tally(30, 30)) for s in (60, 120, 180)])

    calls = tally_series.read(scope(300), "calls", limit=1, now=noon(3_600))
    time = tally_series.read(scope(300), "time", limit=1, now=noon(3_600))

    assert (calls.start, calls.step, calls.count) == (int(noon().timestamp()), 60, 5)
    assert [(line.name, line.values) for line in calls.lines] == [
        ("a", [None, 10, 10, 10, None]),
        (OTHER, [None, 1.5, 1.5, 1.5, None]),
    ]
    assert time.lines[0].values[1] == pytest.approx(0.1)
    assert calls.nodes == [0, 1, 1, 1, 0]


def test_a_name_that_rested_is_zero_and_a_gap_is_none() -> None:
    tallies.write([minute(60, a=Tally(60, 1)), minute(120)])

    series = tally_series.read(scope(240), "calls", now=noon(3_600))

    assert series.lines[0].values == [None, 1, 0, None]


def test_it_draws_percentiles_of_each_interval() -> None:
    tallies.write([minute(60, a=Tally(10, 10, 0, 0, {3: 10})), minute(120, a=Tally(10, 10, 0, 0, {10: 10}))])

    series = tally_series.read(scope(180), "p99", now=noon(3_600))

    assert series.unit == "usec"
    assert series.lines[0].values == [None, pytest.approx(8.2, abs=0.1), pytest.approx(1_051, abs=10)]


def test_it_leaves_out_a_minute_that_nodes_may_still_report_for() -> None:
    tallies.write([minute(60, a=Tally(60)), minute(130, a=Tally(60)), minute(100, TWO, a=Tally(60))])

    series = tally_series.read(scope(150), "calls", now=noon(150))

    assert (series.count, series.nodes) == (2, [0, 2])


def test_it_draws_far_spans_in_about_the_same_number_of_points() -> None:
    day, quarter = (
        tally_series.read(Scope((ONE,), COMMAND, noon(-days * 86_400), noon()), "calls", now=noon()) for days in (1, 90)
    )

    assert (day.step, quarter.step, quarter.tier) == (600, 43_200, "2h")


@pytest.mark.parametrize(("seconds", "step"), [(0, None), (-60, None), (86_400, 1)])
def test_it_refuses_what_cannot_be_drawn(seconds: int, step: int | None) -> None:
    with pytest.raises(RangeError):
        tally_series.read(scope(seconds), "calls", step=step, now=noon() + timedelta(days=1))
