"""Numbers in words."""

import math

import pytest

from alerts.figures import figure, span


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (0.954, "ratio", "95.4%"),
        (1.0, "ratio", "100%"),
        (0, "bytes", "0 B"),
        (1536, "bytes", "1.5 KiB"),
        (3 * 2**30, "bytes", "3 GiB"),
        (2**20, "bytes/s", "1 MiB/s"),
        (7_500, "seconds", "2 h 5 min"),
        (0.012, "seconds", "12 ms"),
        (1, "claim", "yes"),
        (0, "claim", "no"),
        (64_000, "connections", "64,000 connections"),
        (2.5, "replies/s", "2.5 replies/s"),
        (999.4, "replies/s", "999 replies/s"),
        (999.6, "replies/s", "1,000 replies/s"),
        (3, "×", "3 ×"),
        (None, "bytes", "not reported"),
        (math.inf, "seconds", "never"),
    ],
)
def test_a_number_carries_its_unit(value: float | None, unit: str, words: str) -> None:
    assert figure(value, unit) == words


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0 s"), (59, "59 s"), (60, "1 min"), (3_661, "1 h 1 min"), (90_061, "1 d 1 h")]
)
def test_a_time_has_its_two_largest_units(seconds: float, words: str) -> None:
    assert span(seconds) == words
