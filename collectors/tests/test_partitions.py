"""Spans of partitions, and when they may go."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest_django.fixtures import Settings

from collectors import partitions
from collectors.partitions import EPOCH, PARTITIONED, Partitioned

MOMENTS = st.datetimes(datetime(1960, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))
FAR = datetime(2120, 6, 15, tzinfo=UTC)


@given(MOMENTS, st.sampled_from([1, 7, 28, 91]))
@settings(max_examples=60, deadline=None)
def test_every_moment_lies_in_one_span(at: datetime, days: int) -> None:
    table = Partitioned("t", days, "")

    start = table.start_of(at)

    assert start <= at < start + timedelta(days=days)
    assert (start - EPOCH) % timedelta(days=days) == timedelta(0)
    assert table.start_of(start + timedelta(days=days)) == start + timedelta(days=days)


@pytest.mark.parametrize(
    ("at", "start"),
    [
        ("2026-03-29T00:00:00+00:00", "2026-03-29"),
        ("2026-03-29T23:59:59.999999+00:00", "2026-03-29"),
        ("2026-03-29T00:30:00+02:00", "2026-03-28"),
        ("2026-10-25T23:30:00-05:00", "2026-10-26"),
        ("2024-02-29T12:00:00+00:00", "2024-02-29"),
    ],
)
def test_a_day_is_a_day_of_utc(at: str, start: str) -> None:
    assert f"{PARTITIONED['sample'].start_of(datetime.fromisoformat(at)):%Y-%m-%d}" == start


@pytest.mark.parametrize("table", PARTITIONED)
def test_every_table_says_how_long_it_keeps(table: str) -> None:
    assert PARTITIONED[table].keep > timedelta(days=0)
    assert PARTITIONED[table].keep >= timedelta(days=PARTITIONED[table].span_days) or PARTITIONED[table].span_days > 1


@pytest.fixture
def far(db: None, settings: Settings) -> datetime:
    """A day in a far future, which no other test writes to; samples are kept for two days."""
    settings.RETENTION_RAW_DAYS = 2
    partitions.forget_created()
    partitions.ensure_partition("sample", FAR)
    return FAR


def far_ones(table: str = "sample") -> list[str]:
    return [name for name, start in partitions.existing(table) if start.year == FAR.year]


def test_a_partition_is_made_once(far: datetime) -> None:
    for _ in range(2):
        partitions.forget_created()
        partitions.ensure_partition("sample", far + timedelta(hours=23))

    assert far_ones() == ["sample_p21200615"]


@pytest.mark.parametrize(
    ("after", "is_kept"),
    [(timedelta(days=1), True), (timedelta(days=3), True), (timedelta(days=3, microseconds=1), False)],
)
def test_a_partition_goes_once_its_newest_row_is_past_its_keeping(
    after: timedelta, is_kept: bool, far: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitions, "PARTITIONED", {"sample": PARTITIONED["sample"]})

    dropped = partitions.drop_expired(far + after)

    assert ("sample_p21200615" not in dropped) is is_kept
    assert bool(far_ones()) is is_kept


def test_a_partition_that_was_dropped_is_made_again(far: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitions, "PARTITIONED", {"sample": PARTITIONED["sample"]})
    partitions.drop_expired(far + timedelta(days=30))

    partitions.ensure_partition("sample", far)

    assert far_ones() == ["sample_p21200615"]


def test_partitions_are_made_for_three_days(far: datetime) -> None:
    partitions.make_ahead(far)

    assert far_ones() == ["sample_p21200615", "sample_p21200616", "sample_p21200617"]
