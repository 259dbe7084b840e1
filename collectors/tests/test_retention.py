"""Rollups and partitions over time."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from pytest_django import Settings

from collectors import latest, partitions, retention, samples
from collectors.metrics.slots import ROLLED, SLOT
from collectors.tests.cast import NOON, cache_with_nodes, noon, reading
from fleet.models import Node

pytestmark = pytest.mark.django_db


Rollup = tuple[datetime, int, float | None, float | None, float | None, float | None]


def rollups(table: str, name: str) -> list[Rollup]:
    slot = SLOT[name]
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT at, samples, mean[{slot}], minimum[{slot}], maximum[{slot}], last[{slot}] FROM {table} ORDER BY at"
        )
        return list(cursor.fetchall())


def test_it_keeps_mean_min_max_last_and_count() -> None:
    cache_with_nodes()
    node = Node.objects.get()
    samples.write([reading(node, s, keys=k) for s, k in ((0, 10), (15, 40), (30, 10))])

    retention.roll_up(noon(400))

    assert rollups("rollup_5m", "keys") == [(noon(), 3, 20, 10, 40, 10)]


def test_it_rolls_the_rate_over_the_border_of_two_intervals() -> None:
    cache_with_nodes()
    node = Node.objects.get()
    samples.write([reading(node, s, total_commands_processed=s * 10) for s in (285, 300)])

    retention.roll_up(noon(700))

    assert [row[2] for row in rollups("rollup_5m", "commands_per_second")] == [None, pytest.approx(10)]


def test_it_waits_until_an_interval_is_over() -> None:
    cache_with_nodes()
    samples.write([reading(Node.objects.get(), 0, keys=1)])

    retention.roll_up(noon(301))

    assert rollups("rollup_5m", "keys") == []


def test_it_makes_an_interval_again_when_a_sample_comes_late() -> None:
    cache_with_nodes()
    node = Node.objects.get()
    samples.write([reading(node, 0, keys=10)])
    retention.roll_up(noon(4_000))

    samples.write([reading(node, 15, keys=30)])
    retention.roll_up(noon(4_100))

    assert rollups("rollup_5m", "keys") == [(noon(), 2, 20, 10, 30, 30)]
    assert rollups("rollup_1h", "keys") == [(noon(), 2, 20, 10, 30, 30)]


def test_it_catches_up_after_an_outage_and_is_idempotent() -> None:
    cache_with_nodes()
    node = Node.objects.get()
    samples.write([reading(node, s, keys=1) for s in range(0, 7_200, 300)])

    first = retention.roll_up(noon(7_300))
    again = retention.roll_up(noon(7_300))

    assert (first, again) == (24 + 2, 0)
    assert len(rollups("rollup_5m", "keys")) == 24


HOUR = 3_600


def test_it_adds_eight_hours_up_from_hours_by_their_samples() -> None:
    cache_with_nodes()
    node = Node.objects.get()
    samples.write([reading(node, s, keys=k) for s, k in ((0, 10), (15, 40), (30, 10), (HOUR, 100))])

    retention.roll_up(noon(4 * HOUR + 60))

    assert rollups("rollup_8h", "keys") == [(noon(-4 * HOUR), 4, 40, 10, 100, 100)]


def test_hours_that_do_not_know_a_number_have_no_weight_in_eight() -> None:
    cache_with_nodes()
    node = Node.objects.get()
    samples.write([reading(node, 0, keys=10), *(reading(node, HOUR + s) for s in (0, 15, 30))])

    retention.roll_up(noon(4 * HOUR + 60))

    assert rollups("rollup_8h", "keys") == [(noon(-4 * HOUR), 4, 10, 10, 10, None)]
    assert [row[1:] for row in rollups("rollup_8h", "expires")] == [(4, None, None, None, None)]


def test_eight_hours_wait_for_their_last_hour() -> None:
    cache_with_nodes()
    samples.write([reading(Node.objects.get(), 0, keys=1)])

    retention.roll_up(noon(4 * HOUR + 29))

    assert len(rollups("rollup_1h", "keys")) == 1
    assert rollups("rollup_8h", "keys") == []


def test_eight_hours_are_made_again_when_a_sample_comes_late() -> None:
    cache_with_nodes()
    node = Node.objects.get()
    samples.write([reading(node, 0, keys=10)])
    retention.roll_up(noon(4 * HOUR + 60))

    samples.write([reading(node, 15, keys=30)])
    retention.roll_up(noon(4 * HOUR + 120))

    assert rollups("rollup_8h", "keys") == [(noon(-4 * HOUR), 2, 20, 10, 30, 30)]


def hours_from_before(days: int) -> None:
    """Store an hour with keys, and the same hour some days ago, as if there had never been eight hours."""
    cache_with_nodes()
    samples.write([reading(Node.objects.get(), 0, keys=10)])
    retention.roll_up(noon(4 * HOUR + 60))
    partitions.ensure_partition("rollup_1h", noon() - timedelta(days=days))
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO rollup_1h (at, node_id, samples, mean, minimum, maximum, last)"
            " SELECT at - make_interval(days => %s), node_id, samples, mean, minimum, maximum, last FROM rollup_1h",
            [days],
        )
        cursor.execute("DELETE FROM rollup_8h")
        cursor.execute("DELETE FROM rollup_mark WHERE tier = '8h'")


def test_it_adds_up_the_hours_that_were_there_before() -> None:
    hours_from_before(days=20)

    retention.roll_up(noon(4 * HOUR + 120))

    first = noon(-4 * HOUR) - timedelta(days=20)
    assert [row[0] for row in rollups("rollup_8h", "keys")] == [first, noon(-4 * HOUR)]


def test_old_hours_are_added_up_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    hours_from_before(days=20)
    monkeypatch.setattr(retention, "CATCH_UP_SECONDS", 0)

    done = [retention.roll_up(noon(4 * HOUR + 120)) for _ in range(4)]

    assert done == [21, 21, 19, 0]
    assert len(rollups("rollup_8h", "keys")) == 2


def test_hours_that_will_soon_be_dropped_are_not_added_up(settings: Settings) -> None:
    hours_from_before(days=20)
    settings.RETENTION_RAW_DAYS = settings.RETENTION_5M_DAYS = settings.RETENTION_1H_DAYS = 10

    retention.roll_up(noon(4 * HOUR + 120))

    assert [row[0] for row in rollups("rollup_8h", "keys")] == [noon(-4 * HOUR)]


def test_it_gives_a_trend_after_ten_minutes() -> None:
    cache_with_nodes()
    node = Node.objects.get()
    samples.write([reading(node, s, used_memory=1_000 + 2 * s) for s in range(0, 901, 15)])

    retention.refresh_trends(noon(901))

    newest = latest.nodes()[node.pk]
    assert (newest.memory_growth_bytes_per_second, newest.memory_growth_fit) == pytest.approx((2, 1))


def trend_after(levels: Sequence[int]) -> tuple[float | None, float | None]:
    """Return growth per second and fit after samples of used_memory, one every 15 seconds."""
    cache_with_nodes()
    node = Node.objects.get()
    samples.write([reading(node, n * 15, used_memory=level) for n, level in enumerate(levels)])
    retention.refresh_trends(noon(len(levels) * 15))
    newest = latest.nodes()[node.pk]
    return newest.memory_growth_bytes_per_second, newest.memory_growth_fit


MILLION = 1_000_000
FLAT = [MILLION] * 60
SAW = [MILLION, 2 * MILLION] * 10


def climbing(step: int, points: int = 21) -> list[int]:
    return [MILLION + n * step for n in range(points)]


@pytest.mark.parametrize(
    ("levels", "growth"),
    [
        # A quiet hour, then a rush: the rush counts.
        (FLAT + climbing(15_000), 1_000),
        # Too little history, but the beginning of a rush.
        (climbing(15_000, points=7), 1_000),
        (climbing(15_000, points=6), None),
        # Slow growth, or none that is straight, needs ten minutes.
        (climbing(900), None),
        (SAW, None),
        (FLAT[:20], None),
    ],
)
def test_it_takes_a_rush_for_a_trend_at_once(levels: list[int], growth: float | None) -> None:
    found, fit = trend_after(levels)

    assert found == (None if growth is None else pytest.approx(growth, rel=0.01))
    assert fit is None or fit > retention.RUSH_FIT


def test_two_minutes_of_a_rush_are_enough() -> None:
    growth, fit = trend_after(FLAT + climbing(30_000, points=9))

    assert growth is not None
    assert growth > 1_000
    assert fit is not None
    assert fit > retention.RUSH_FIT


def test_a_rush_that_ended_leaves_the_trend_of_the_half_hour() -> None:
    growth, fit = trend_after(climbing(15_000) + [MILLION + 300_000] * 25)

    assert growth is not None
    assert growth < 1_000
    assert fit is not None
    assert fit < 0.9


def test_memory_that_was_freed_is_no_rush() -> None:
    growth, _fit = trend_after(FLAT + climbing(-15_000))

    assert growth is not None
    assert growth < 0


def test_it_drops_partitions_and_keeps_those_ahead(settings: Settings) -> None:
    settings.RETENTION_RAW_DAYS = 3
    now = datetime.fromtimestamp(NOON, UTC)
    partitions.ensure_partition("sample", now - timedelta(days=5))

    dropped = retention.keep_partitions(now)

    assert dropped == [f"sample_p{now - timedelta(days=5):%Y%m%d}"]
    assert [start for _, start in partitions.existing("sample")] == [
        noon(-43_200) + timedelta(days=days) for days in range(3)
    ]


def test_it_forgets_latest_values_of_deleted_caches() -> None:
    cache = cache_with_nodes()
    samples.write([reading(Node.objects.get(), 0, keys=1)])
    cache.delete()

    retention.keep_partitions()

    assert latest.caches() == {}


def test_it_never_moves_a_slot() -> None:
    beginning = ("used_memory", "used_memory_rss", "used_memory_peak", "used_memory_dataset")

    assert ROLLED[:4] == beginning
    assert len(set(ROLLED)) == len(ROLLED)
    assert SLOT["keys_without_ttl"] == ROLLED.index("keys_without_ttl") + 1
