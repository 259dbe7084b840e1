"""Amounts as people write them."""

import pytest

from alerts.amounts import amount_of
from alerts.spec_form import SpecError, read_spec
from alerts.spec_words import condition


@pytest.mark.parametrize(
    ("text", "unit", "number"),
    [
        ("0.3", "ratio", 0.3),
        ("30%", "ratio", 0.3),
        ("57 %", "ratio", 0.57),
        ("-5%", "ratio", -0.05),
        ("30%", "percent", 30),
        ("1500000", "bytes", 1_500_000),
        ("1.5 GB", "bytes", 1_500_000_000),
        ("1.5gib", "bytes", 1_610_612_736),
        ("2 MB/s", "bytes/s", 2_000_000),
        ("1 MiB", "kilobytes/s", 1_048.576),
        ("200 ms", "seconds", 0.2),
        ("200ms", "microseconds", 200_000),
        ("1.5 s", "milliseconds", 1_500),
        ("2 h", "seconds", 7_200),
        ("5m", "seconds", 300),
        ("5 min", "seconds", 300),
        ("+1e3", "keys", 1_000),
        (" .5 ", "", 0.5),
        ("30/s", "commands/s", 30),
    ],
)
def test_it_reads_an_amount_in_the_unit_of_its_metric(text: str, unit: str, number: float) -> None:
    assert amount_of(text, unit) == pytest.approx(number, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "unit", "words"),
    [
        ("much", "ratio", "such as 0.3 or 30%"),
        ("30%", "bytes", "such as 1.5 GiB"),
        ("5 m", "bytes", "such as 1.5 GiB"),
        ("1 GB", "seconds", "such as 200 ms"),
        ("5/s", "bytes", "such as 1.5 GiB"),
        ("30%", "keys", "must be a number."),
        ("1.2.3", "keys", "must be a number."),
        ("nan", "keys", "must be a number."),
        ("1e9999", "keys", "must be a number."),
        ("9" * 10_000, "keys", "must be a number."),
        (" " * 10_000, "keys", "must be a number."),
        ("", "keys", "must be a number."),
    ],
    ids=lambda value: value[:12] or "empty",
)
def test_what_is_no_amount_is_refused_with_an_example(text: str, unit: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        amount_of(text, unit)


@pytest.mark.parametrize(
    ("term", "sentence"),
    [
        ({"metric": "memory_used_ratio", "warning": "80%"}, "memory_used_ratio is above 80% (warning)"),
        ({"metric": "used_memory", "warning": "1.5 GiB"}, "used_memory is above 1.5 GiB (warning)"),
        ({"metric": "round_trip_seconds", "critical": "200 ms"}, "round_trip_seconds is above 200 ms (critical)"),
    ],
)
def test_a_rule_says_what_was_written(term: dict[str, str], sentence: str) -> None:
    assert condition(read_spec({"rule": "mine", "when": term})) == sentence


def test_a_level_is_in_the_unit_of_its_metric_and_the_bound_in_that_of_what_is_read() -> None:
    when = {"metric": "used_memory", "read": "forecast", "over": "1h", "level": "2 GiB", "is": "<", "warning": "4 h"}

    (term,) = read_spec({"rule": "mine", "when": when}).terms

    assert (term.reading.level, term.warning) == (2 * 2**30, 4 * 3_600)


def test_of_an_unknown_metric_only_its_name_is_wrong_where_numbers_are_plain() -> None:
    with pytest.raises(SpecError) as caught:
        read_spec({"rule": "mine", "when": {"metric": "no_such", "warning": "5"}})

    assert list(caught.value.errors) == ["when.1.metric"]
