"""Numbers in words."""

import math

import pytest
from django.utils import translation

from alerts.counted import NOUNS
from alerts.figures import figure, span
from alerts.measures import measure
from alerts.story import against
from collectors.metrics.lookup import NAMES


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
        (1, "replicas", "1 replica"),
        (0, "replicas", "0 replicas"),
        (1, "replies/s", "1 reply/s"),
        (1.5, "slots", "1.5 slots"),
        (250, "microseconds", "250 µs"),
        (2, "kilobytes/s", "2 kB/s"),
        (5, "furlongs", "5 furlongs"),
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
    ("seconds", "words"),
    [
        (0, "0 s"),
        (59, "59 s"),
        (60, "1 min"),
        (90, "1 min 30 s"),
        (3_661, "1 h 1 min"),
        (90_061, "1 d 1 h"),
        (172_800, "2 d"),
    ],
)
def test_a_time_has_its_two_largest_units(seconds: float, words: str) -> None:
    assert span(seconds) == words


def test_all_that_metrics_count_has_a_noun() -> None:
    units = {measure(name).unit.removesuffix("/s") for name in NAMES}

    assert units - set(NOUNS) - {"bytes", "ratio", "seconds", "claim"} <= {"percent", "rank"}


def test_times_are_in_the_language_of_the_reader() -> None:
    with translation.override("ja"):
        assert span(7_500) != "2 h 5 min"


def test_a_value_stands_alone_where_no_bound_is_passed() -> None:
    assert against(0.5, None, "ratio") == "50%"
    assert against(0.95, 0.9, "ratio") == "95% (bound 90%)"
