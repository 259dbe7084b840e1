"""Windows that come again every week, over all that clocks do."""

from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from alerts.recurrence import Weekly

BERLIN, NEW_YORK = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York")
EVERY_DAY = range(7)
SUNDAY, MONDAY = 6, 0
# In Berlin clocks skip 02:00 to 03:00 on the first, and show 02:00 to 03:00 twice on the second.
SPRING, AUTUMN = date(2026, 3, 29), date(2026, 10, 25)


def weekly(start: str, end: str, days: object = EVERY_DAY, zone: ZoneInfo = BERLIN) -> Weekly:
    return Weekly(days, time.fromisoformat(start), time.fromisoformat(end), zone)  # type: ignore[arg-type]


def utc(window: Weekly, day: date) -> tuple[str, str]:
    found = window.on(day)
    assert found
    return f"{found[0]:%d %H:%M}", f"{found[1]:%d %H:%M}"


@pytest.mark.parametrize(
    ("start", "end", "day", "expected"),
    [
        ("01:00", "04:00", date(2026, 1, 5), ("05 00:00", "05 03:00")),
        ("01:00", "04:00", date(2026, 7, 6), ("05 23:00", "06 02:00")),
        ("23:00", "02:00", date(2026, 1, 5), ("05 22:00", "06 01:00")),
        ("00:00", "00:00", date(2026, 1, 5), ("04 23:00", "05 23:00")),
        # Around the skipped hour: two hours of the clock on the wall are one.
        ("01:00", "04:00", SPRING, ("29 00:00", "29 02:00")),
        ("02:30", "04:00", SPRING, ("29 01:30", "29 03:00")),
        ("02:30", "03:30", SPRING, ("29 01:30", "29 02:30")),
        ("01:00", "02:30", SPRING, ("29 00:00", "29 01:30")),
        # Around the hour that comes twice: from the first to the second.
        ("01:00", "04:00", AUTUMN, ("24 23:00", "25 03:00")),
        ("02:15", "02:45", AUTUMN, ("25 00:15", "25 01:45")),
        ("23:00", "02:30", date(2026, 10, 24), ("24 21:00", "25 01:30")),
        ("23:30", "02:30", date(2026, 3, 28), ("28 22:30", "29 01:30")),
    ],
)
def test_it_follows_the_clock_on_the_wall(start: str, end: str, day: date, expected: tuple[str, str]) -> None:
    assert utc(weekly(start, end), day) == expected


def test_what_lies_within_the_skipped_hour_comes_as_long_after_midnight() -> None:
    assert utc(weekly("02:15", "02:45"), SPRING) == ("29 01:15", "29 01:45")


def test_leap_days_are_days() -> None:
    assert utc(weekly("01:00", "02:00", zone=ZoneInfo("UTC")), date(2028, 2, 29)) == ("29 01:00", "29 02:00")


def test_other_weekdays_have_none() -> None:
    assert weekly("01:00", "02:00", [SUNDAY]).on(date(2026, 1, 5)) is None


@pytest.mark.parametrize(
    ("at", "expected"),
    [("2026-01-05T21:59", False), ("2026-01-05T22:00", True), ("2026-01-06T00:59", True), ("2026-01-06T01:00", False)],
)
def test_it_covers_its_start_and_not_its_end(at: str, expected: bool) -> None:
    window = weekly("23:00", "02:00", [MONDAY])

    assert window.covers(datetime.fromisoformat(at).replace(tzinfo=UTC)) is expected


def test_the_day_is_that_of_its_zone() -> None:
    window = weekly("20:00", "21:00", [MONDAY], NEW_YORK)

    assert window.covers(datetime(2026, 1, 6, 1, 30, tzinfo=UTC))
    assert not window.covers(datetime(2026, 1, 5, 20, 30, tzinfo=UTC))


def test_it_names_the_next_times_in_order() -> None:
    window = weekly("01:00", "04:00", [SUNDAY])
    now = datetime(2026, 3, 22, 0, 30, tzinfo=UTC)

    found = list(window.following(now, now + timedelta(days=15)))

    assert [f"{begins:%m-%d %H:%M}" for begins, _ends in found] == ["03-22 00:00", "03-29 00:00", "04-04 23:00"]


def test_there_are_none_after_the_end() -> None:
    now = datetime(2026, 3, 22, 12, tzinfo=UTC)

    assert list(weekly("01:00", "04:00", [SUNDAY]).following(now, now + timedelta(days=2))) == []


@pytest.mark.parametrize(
    "zone", ["Europe/Berlin", "America/New_York", "Asia/Tokyo", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC"]
)
@pytest.mark.parametrize(
    ("start", "end"), [("01:30", "02:15"), ("02:30", "03:30"), ("23:45", "00:15"), ("00:00", "00:00")]
)
def test_a_whole_year_has_one_a_day_and_no_two_of_them_overlap(zone: str, start: str, end: str) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    window = weekly(start, end, zone=ZoneInfo(zone))

    found = list(window.following(now, now + timedelta(days=365)))

    assert len(found) in {365, 366}
    assert all(one[1] <= other[0] for one, other in pairwise(found))
    assert all(
        (window.covers(begins) and not window.covers(begins - timedelta(seconds=1))) or start == end
        for begins, _ in found
    )
