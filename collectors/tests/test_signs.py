"""Readiness from what the database knows: up to which moment everything counts as running."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from pytest_django.fixtures import Settings

from collectors.readiness import Signs, beat_check, clock, poll_check, poll_worker_check, worker_check

NOW = datetime(2026, 3, 29, 1, 0, tzinfo=UTC)
SIGNS = Signs(NOW, NOW, NOW, NOW, 1, NOW, 15, NOW)


@pytest.fixture(autouse=True)
def limits(settings: Settings) -> None:
    settings.READY_BEAT_SECONDS, settings.READY_POLL_SECONDS, settings.ROLLUP_INTERVAL_SECONDS = 30, 60, 60


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


@pytest.mark.parametrize(("seconds", "ok"), [(0, True), (30, True), (30.001, False), (-3_600, True)])
def test_beat_is_late_after_its_limit(seconds: float, ok: bool) -> None:
    assert beat_check(replace(SIGNS, beat_at=ago(seconds))).ok is ok


def test_beat_that_never_ran_is_told_so() -> None:
    check = beat_check(replace(SIGNS, beat_at=None))

    assert (check.ok, "has not run yet" in check.sentence) == (False, True)


@pytest.mark.parametrize(
    ("worker", "started", "ok"),
    [(210, 9_999, True), (210.001, 9_999, False), (None, 210, True), (None, 211, False), (None, None, True)],
)
def test_a_worker_has_three_turns_and_a_new_one_gets_its_time(
    worker: float | None, started: float | None, ok: bool
) -> None:
    signs = replace(
        SIGNS,
        worker_at=None if worker is None else ago(worker),
        started_at=None if started is None else ago(started),
    )

    assert worker_check(signs).ok is ok


@pytest.mark.parametrize(("count", "ok"), [(0, False), (1, True), (10_000, True)])
def test_one_poll_worker_is_enough(count: int, ok: bool) -> None:
    assert poll_worker_check(replace(SIGNS, poll_workers=count)).ok is ok


@pytest.mark.parametrize(
    ("polled", "first", "interval", "ok"),
    [
        (60, 9_999, 15, True),
        (61, 9_999, 15, False),
        (61, 10, 15, True),
        (None, 60, 15, True),
        (None, 61, 15, False),
        (240, 9_999, 120, True),
        (241, 9_999, 120, False),
    ],
)
def test_polls_stand_still_after_two_intervals(polled: float | None, first: float, interval: int, ok: bool) -> None:
    polled_at = None if polled is None else ago(polled)
    signs = replace(SIGNS, polled_at=polled_at, first_cache_at=ago(first), shortest_interval=interval)

    assert poll_check(signs).ok is ok


def test_without_caches_no_poll_is_missed() -> None:
    assert poll_check(replace(SIGNS, polled_at=None, shortest_interval=None, first_cache_at=None)).ok


@pytest.mark.parametrize(("polled", "words"), [(None, "No poll has finished yet."), (ago(900), "00:45:00 UTC")])
def test_it_says_since_when_polls_stand_still(polled: datetime | None, words: str) -> None:
    check = poll_check(replace(SIGNS, polled_at=polled, first_cache_at=ago(9_999)))

    assert words in check.sentence


def test_the_clock_is_utc_and_says_so() -> None:
    assert clock(NOW) == "2026-03-29 01:00:00 UTC"
