"""Series: tiers, gaps, sums and folds."""

from datetime import timedelta

import pytest
from django.db import connection

from collectors import retention, samples, series
from collectors.metrics.lookup import NAMES, UnknownMetricError, shown
from collectors.tests.cast import cache_with_nodes, noon, reading
from fleet.models import Cache, Node

pytestmark = pytest.mark.django_db


def fill(cache: Cache, count: int, skip: range = range(0)) -> None:
    nodes = list(Node.objects.filter(cache=cache).order_by("port"))
    for index in range(count):
        if index not in skip:
            samples.write(
                [
                    reading(n, index * 15, used_memory=1_000 * (at + 1) + index, total_commands_processed=index * 150)
                    for at, n in enumerate(nodes)
                ]
            )


def test_it_returns_each_sample_of_each_node() -> None:
    cache = cache_with_nodes(shards=2)
    fill(cache, 4)

    (found,) = series.read(cache, ["used_memory"], noon(), noon(60), by="node")

    assert (found.tier, found.step, found.unit) == ("raw", 15, "bytes")
    assert [line.mean for line in found.lines] == [[1000, 1001, 1002, 1003], [2000, 2001, 2002, 2003]]


def test_it_leaves_a_gap_where_nothing_was_measured() -> None:
    cache = cache_with_nodes()
    fill(cache, 5, skip=range(1, 3))

    (found,) = series.read(cache, ["used_memory"], noon(), noon(75), by="node")

    assert found.lines[0].mean == [1000, None, None, 1003, 1004]


def test_it_reads_a_counter_as_its_rate_from_the_first_point_on() -> None:
    cache = cache_with_nodes()
    fill(cache, 4)

    (found,) = series.read(cache, ["commands_per_second"], noon(15), noon(60), by="node")

    assert found.lines[0].mean == pytest.approx([10, 10, 10])


def test_it_gives_sum_max_min_and_mean_over_nodes() -> None:
    cache = cache_with_nodes(shards=2, replicas=1)
    fill(cache, 1)

    (found,) = series.read(cache, ["used_memory"], noon(), noon(15))

    lines = {line.label: line.mean[0] for line in found.lines}
    assert lines == {"sum": 1000 + 3000, "max": 4000, "min": 1000, "mean": 2500}
    assert found.nodes == [4]


def test_it_draws_no_fall_of_the_total_where_a_node_missed_one_poll() -> None:
    cache = cache_with_nodes(shards=2)
    first, second = Node.objects.order_by("port")
    for seconds in (0, 15, 30):
        samples.write([reading(first, seconds, used_memory=1_000)])
    for seconds in (0, 30):
        samples.write([reading(second, seconds, used_memory=2_000)])

    (found,) = series.read(cache, ["used_memory"], noon(), noon(45))

    assert (found.lines[0].mean, found.nodes) == ([3_000, None, 3_000], [2, 1, 2])


def test_it_goes_on_with_the_total_of_those_that_are_left() -> None:
    cache = cache_with_nodes(shards=2)
    first, second = Node.objects.order_by("port")
    for seconds in (0, 15, 30):
        samples.write([reading(first, seconds, used_memory=1_000)])
    samples.write([reading(second, 0, used_memory=2_000)])

    (found,) = series.read(cache, ["used_memory"], noon(), noon(45))

    assert found.lines[0].mean == [3_000, 1_000, 1_000]


def test_it_has_no_sum_of_ratios() -> None:
    cache = cache_with_nodes(shards=2)
    fill(cache, 2)

    (found,) = series.read(cache, ["cpu_ratio"], noon(), noon(30))

    assert [line.label for line in found.lines] == ["max", "min", "mean"]


def test_it_answers_many_metrics_in_the_order_asked() -> None:
    cache = cache_with_nodes()
    fill(cache, 2)

    found = series.read(cache, ["keys", "hz", "used_memory"], noon(), noon(30))

    assert [one.metric for one in found] == ["keys", "hz", "used_memory"]


@pytest.mark.parametrize("by", ["node", "cache"])
def test_it_gives_the_same_from_rollups_as_from_samples(by: str) -> None:
    cache = cache_with_nodes(shards=2)
    fill(cache, 41)
    names = ["used_memory", "commands_per_second"]
    before = series.read(cache, names, noon(), noon(4 * 3600), step=300, by=by)

    retention.roll_up(noon(660))
    after = series.read(cache, names, noon(), noon(4 * 3600), step=300, by=by)

    for old, new in zip(before, after, strict=True):
        assert new.tier == "5m"
        assert [line.mean for line in new.lines] == [pytest.approx(line.mean) for line in old.lines]
        assert [line.maximum for line in new.lines] == [pytest.approx(line.maximum) for line in old.lines]


@pytest.mark.parametrize("by", ["node", "cache"])
def test_it_gives_the_same_from_eight_hours_as_from_hours(by: str) -> None:
    cache = cache_with_nodes(shards=2)
    fill(cache, 5)
    names, start, end = ["used_memory", "commands_per_second"], noon() - timedelta(days=80), noon(12 * 3600)
    retention.roll_up(noon(3_700))
    before = series.read(cache, names, start, end, by=by)

    retention.roll_up(noon(5 * 3_600))
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM rollup_1h")
    after = series.read(cache, names, start, end, by=by)

    assert [(one.tier, one.step) for one in after] == [("8h", 28_800)] * 2
    assert after == before
    assert any(value is not None for value in after[0].lines[0].mean)


def test_it_counts_a_node_once_in_a_point_that_holds_more_of_its_samples() -> None:
    cache = cache_with_nodes()
    for seconds in (0, 5, 10):
        samples.write([reading(Node.objects.get(), seconds, used_memory=1_000)])

    (found,) = series.read(cache, ["used_memory"], noon(), noon(15))

    assert (found.lines[0].mean, found.nodes) == ([1_000], [1])


def test_it_adds_the_newest_end_that_is_not_rolled_up_yet() -> None:
    cache = cache_with_nodes()
    fill(cache, 30)
    retention.roll_up(noon(331))

    (found,) = series.read(cache, ["used_memory"], noon(), noon(4 * 3600), by="node")

    assert [value is not None for value in found.lines[0].mean[:3]] == [True, True, False]


@pytest.mark.parametrize("by", ["node", "cache"])
def test_it_makes_a_point_at_the_border_of_two_tiers_of_both(by: str) -> None:
    cache = cache_with_nodes()
    fill(cache, 40)
    retention.roll_up(noon(331))

    (found,) = series.read(cache, ["used_memory"], noon(), noon(4 * 3600), step=600, by=by)

    assert found.lines[-1].mean[0] == pytest.approx(1000 + 19.5)
    if by == "node":
        assert (found.lines[0].minimum[0], found.lines[0].maximum[0]) == (1000, 1039)


@pytest.mark.parametrize("by", ["node", "cache"])
@pytest.mark.parametrize("days", [1 / 288, 1, 20, 70])
def test_it_can_read_every_metric_of_the_catalogue_from_every_tier(days: float, by: str) -> None:
    cache = cache_with_nodes()
    fill(cache, 2)
    retention.roll_up(noon(600))

    for name in NAMES:
        (found,) = series.read(cache, [name], noon(), noon() + timedelta(days=days), by=by)
        assert (name, found.unit) == (name, shown(name).unit)


def test_it_folds_the_lesser_nodes_into_a_band() -> None:
    cache = cache_with_nodes(shards=5)
    fill(cache, 1)

    (found,) = series.read(cache, ["used_memory"], noon(), noon(15), by="node", limit=2)

    assert [line.label for line in found.lines] == ["127.0.0.1:7040", "127.0.0.1:7050", "others"]
    assert (found.lines[2].minimum, found.lines[2].maximum) == ([1000], [3000])


def test_it_names_metrics_that_look_alike() -> None:
    with pytest.raises(UnknownMetricError, match="used_memory"):
        shown("usedmemory")


def test_it_refuses_a_range_that_ends_before_it_begins() -> None:
    with pytest.raises(series.RangeError):
        series.grid_of(noon(60), noon(), 15)


def test_it_refuses_too_many_points() -> None:
    with pytest.raises(series.RangeError, match="step"):
        series.grid_of(noon(), noon(3 * 3600), 1, step=1)


@pytest.mark.parametrize(
    ("span", "interval", "tier", "step"),
    [
        (timedelta(minutes=15), 15, "raw", 15),
        (timedelta(hours=3), 15, "raw", 30),
        (timedelta(minutes=5), 7, "raw", 7),
        (timedelta(hours=24), 15, "5m", 300),
        (timedelta(days=7), 15, "5m", 1800),
        (timedelta(days=30), 15, "1h", 7200),
        (timedelta(days=90), 15, "8h", 28800),
    ],
)
def test_it_chooses_a_tier_and_step_by_the_range(span: timedelta, interval: int, tier: str, step: int) -> None:
    grid = series.grid_of(noon(), noon() + span, interval)

    assert (grid.tier, grid.step) == (tier, step)


@pytest.mark.parametrize(("days", "tier"), [(6, "raw"), (8, "5m"), (89, "5m"), (91, "1h")])
def test_it_draws_an_hour_of_long_ago_from_what_is_still_kept(days: int, tier: str) -> None:
    start = noon() - timedelta(days=days)

    assert series.tier_of(start, start + timedelta(hours=1), now=noon()) == tier
