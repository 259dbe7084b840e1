"""Numbers with their units."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone, translation

from dashboard.templatetags import units

GIB = 2**30


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0\u00a0B"),
        (1023, "1023\u00a0B"),
        (1024, "1\u00a0KiB"),
        (5.43 * GIB, "5.43\u00a0GiB"),
        (54.3 * GIB, "54.3\u00a0GiB"),
        (8 * GIB, "8\u00a0GiB"),
        (2**20 - 1, "1.00\u00a0MiB"),
        (2**60, "1024\u00a0PiB"),
    ],
)
def test_it_writes_bytes_in_iec_units(value: float, text: str) -> None:
    assert units.bytes_size(value) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (0, "0%"),
        (0.0004, "<0.1%"),
        (0.042, "4.2%"),
        (0.64, "64%"),
        (0.9996, "99.9%"),
        (1, "100%"),
        (1.37, "137%"),
    ],
)
def test_it_never_rounds_to_none_or_all_what_is_neither(ratio: float, text: str) -> None:
    assert units.percent(ratio) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.254, "0.25"), (950, "950"), (9_999, "9\u202f999"), (12_345, "12.3k"), (4_560_000, "4.56M")],
)
def test_it_shortens_large_numbers(value: float, text: str) -> None:
    assert units.count(value) == text
    assert units.rate(value) == f"{text}/s"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0004, "0.40 ms"),
        (0.00004, "40 µs"),
        (0.0001, "0.10 ms"),
        (0, "0 ms"),
        (0.25, "250 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1 s"),
        (1.5, "1.5 s"),
        (2, "2 s"),
        (9.94, "9.9 s"),
        (9.96, "9 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (125, "2 min"),
        (3_599, "59 min"),
        (3_600, "1 h"),
        (7_500, "2 h 5 min"),
        (7_200, "2 h"),
        (86_399, "23 h 59 min"),
        (86_400, "1 d"),
        (90_000, "1 d 1 h"),
        (863_999, "9 d 23 h"),
        (864_000, "10 d"),
        (timedelta(seconds=5), "5 s"),
    ],
)
def test_it_writes_durations_in_their_largest_units(seconds: float | timedelta, text: str) -> None:
    assert units.duration(seconds) == text


@pytest.mark.parametrize(
    "write",
    [
        units.bytes_size,
        units.percent,
        units.fine_percent,
        units.rate,
        units.ratio,
        units.grouped,
        units.duration,
        units.microseconds,
    ],
)
@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), ""])
def test_it_says_not_reported_instead_of_zero(write: Callable[[object], str], value: object) -> None:
    assert "not reported" in write(value)


@pytest.mark.parametrize("write", [units.percent, units.rate])
def test_it_says_why_a_number_is_missing_where_that_is_known(write: Callable[[object, str], str]) -> None:
    assert "no &lt;lookups&gt;" in write(None, "no <lookups>")
    assert "lookups" not in write(0.5, "no <lookups>")


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(0, "0%"), (0.000001, "<0.001%"), (0.00042, "0.042%"), (0.0042, "0.42%"), (0.0999, "9.99%"), (0.64, "64%")],
)
def test_it_writes_small_shares_finely(ratio: float, text: str) -> None:
    assert units.fine_percent(ratio) == text


@pytest.mark.parametrize(
    ("usec", "text"),
    [
        (0.52, "0.52 µs"),
        (13, "13 µs"),
        (999.4, "999 µs"),
        (999.6, "1.00 ms"),
        (4_200, "4.20 ms"),
        (1_520_000, "1.52 s"),
    ],
)
def test_it_writes_latencies(usec: float, text: str) -> None:
    assert units.microseconds(usec) == text


def test_it_gives_ages_with_the_exact_time() -> None:
    moment = timezone.now() - timedelta(seconds=125)

    text = units.ago(moment)

    assert ">2 min ago</time>" in text
    assert f'datetime="{moment.isoformat(timespec="seconds")}"' in text
    assert f'title="{moment:%Y-%m-%d %H:%M:%S} UTC"' in text


def test_it_says_never_and_now() -> None:
    assert "never" in units.ago(None)
    assert ">now</time>" in units.ago(timezone.now() + timedelta(seconds=5))


def test_it_groups_thousands_with_thin_spaces() -> None:
    assert units.grouped(1_234_567) == "1\u202f234\u202f567"


@pytest.mark.parametrize(
    ("value", "text"), [(12, "+12"), (-3, "−3"), (0, "±0"), (12_345, "+12\u202f345"), (-1_000, "−1\u202f000")]
)
def test_a_change_carries_its_sign(value: int, text: str) -> None:
    assert units.signed(value) == text


@pytest.mark.parametrize(("value", "text"), [(0, "0 µs"), (0.5, "500 µs"), (45, "45 ms"), (9_000, "9 s")])
def test_milliseconds_are_written_like_other_latencies(value: float, text: str) -> None:
    assert units.milliseconds(value) == text


def test_an_unknown_change_is_not_zero() -> None:
    assert "not reported" in units.signed(None)
    assert "not reported" in units.milliseconds(None)


@pytest.mark.parametrize(
    ("names", "html"),
    [
        ([], ""),
        (["maxmemory"], "<code>maxmemory</code>"),
        (["keyspace_hits", "keyspace_misses"], "<code>keyspace_hits</code>, <code>keyspace_misses</code>"),
        (["<b>"], "<code>&lt;b&gt;</code>"),
    ],
)
def test_it_writes_names_of_fields_as_code(names: list[str], html: str) -> None:
    assert units.codes(names) == html


@pytest.mark.parametrize(
    ("value", "text"), [(0, "<1 s"), (0.0, "<1 s"), (1, "1 s"), (75, "1 min"), (7_500, "2 h 5 min")]
)
def test_zero_whole_seconds_are_less_than_one(value: float, text: str) -> None:
    assert units.whole_seconds(value) == text
    assert "not reported" in units.whole_seconds(None)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "0.50\u00a0B"),
        (10, "10\u00a0B"),
        (1023.4, "1023\u00a0B"),
        (1023.6, "1.00\u00a0KiB"),
        (-1536, "-1.50\u00a0KiB"),
        (9.999 * GIB, "10.0\u00a0GiB"),
        (99.99 * GIB, "100\u00a0GiB"),
    ],
)
def test_it_keeps_three_digits_of_a_size(value: float, text: str) -> None:
    assert units.bytes_size(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.004, "<0.01"),
        (0.005, "0.01"),
        (0.996, "1"),
        (999.4, "999"),
        (9_999.4, "9\u202f999"),
        (10_000, "10k"),
        (999_499, "999k"),
        (999_500, "1.00M"),
        (1e12, "1T"),
        (-5, "-5"),
        (-12_345, "-12.3k"),
    ],
)
def test_it_moves_to_the_next_unit_before_it_prints_a_thousand(value: float, text: str) -> None:
    assert units.count(value) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (0.00099, "<0.1%"),
        (0.001, "0.1%"),
        (0.0994, "9.9%"),
        (0.0996, "10%"),
        (0.985, "98%"),
        (0.99, "99.0%"),
        (0.99999, "99.9%"),
        (12.5, "1250%"),
    ],
)
def test_it_writes_shares_at_the_edges_of_their_precision(ratio: float, text: str) -> None:
    assert units.percent(ratio) == text


@pytest.mark.parametrize(("usec", "text"), [(0, "0 µs"), (9.99, "9.99 µs"), (999_499, "999 ms"), (999_500, "1.00 s")])
def test_it_changes_the_unit_of_latencies_where_they_round(usec: float, text: str) -> None:
    assert units.microseconds(usec) == text


@pytest.mark.parametrize(
    ("write", "value", "text"),
    [
        (units.duration, 1.5, "1.5秒"),
        (units.duration, 125, "2分"),
        (units.duration, 7_500, "2時間5分"),
        (units.duration, 90_000, "1日1時間"),
        (units.duration, 864_000, "10日"),
        (units.duration, 0.25, "250 ms"),
        (units.microseconds, 1_520_000, "1.52秒"),
        (units.whole_seconds, 0, "1秒未満"),
        (units.rate, 12_345, "12.3k/s"),
    ],
)
def test_it_writes_times_as_japanese_readers_do(write: Callable[[float], str], value: float, text: str) -> None:
    with translation.override("ja"):
        assert write(value) == text


@pytest.mark.parametrize(
    "write",
    [units.bytes_size, units.bytes_rate, units.percent, units.rate, units.ratio, units.duration, units.microseconds],
)
def test_it_says_not_reported_in_the_readers_language(write: Callable[[None], str]) -> None:
    with translation.override("ja"):
        assert "報告なし" in write(None)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "now"), (1, "1 s ago"), (59.9, "59 s ago"), (3_600, "1 h ago"), (-60, "now"), (90_000, "1 d 1 h ago")],
)
def test_an_age_never_lies_in_the_future(seconds: float, text: str) -> None:
    assert f">{text}</time>" in units.ago(timezone.now() - timedelta(seconds=seconds))


@pytest.mark.parametrize(("seconds", "text"), [(0, "1 s"), (-5, "1 s"), (90, "1 min"), (86_400, "1 d")])
def test_what_lasts_has_lasted_at_least_a_second(seconds: float, text: str) -> None:
    html = units.since(timezone.now() - timedelta(seconds=seconds + 0.01))

    assert f">{text}</time>" in html
    assert 'data-count="since"' in html


def test_an_unknown_start_is_not_now() -> None:
    assert "not reported" in units.since(None)
    assert units.exact_time(None) == ""


@pytest.mark.parametrize(
    ("zone", "text"),
    [
        ("UTC", "2026-03-29 01:30:05 UTC"),
        ("Asia/Tokyo", "2026-03-29 10:30:05 JST"),
        ("Europe/Berlin", "2026-03-29 03:30:05 CEST"),
        ("America/St_Johns", "2026-03-28 23:00:05 NDT"),
    ],
)
def test_it_writes_moments_in_the_viewers_zone(zone: str, text: str) -> None:
    with timezone.override(zone):
        assert units.exact_time(datetime(2026, 3, 29, 1, 30, 5, tzinfo=UTC)) == text


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_script_gets_every_word_with_its_places(language: str) -> None:
    with translation.override(language):
        words = units.unit_words()

    assert all("%s" in words[name] for name in ("per-second", "milliseconds", "seconds", "minutes", "days", "ago"))
    assert "%(hours)s" in words["hours-minutes"]
    assert "%(minutes)s" in words["hours-minutes"]
    assert ("%(days)s" in words["days-hours"], "%(hours)s" in words["days-hours"]) == (True, True)
