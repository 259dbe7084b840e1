"""Numbers with their units."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

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
        (0.25, "250 ms"),
        (1.5, "1.5 s"),
        (2, "2 s"),
        (59.9, "59 s"),
        (125, "2 min"),
        (7_500, "2 h 5 min"),
        (7_200, "2 h"),
        (90_000, "1 d 1 h"),
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
