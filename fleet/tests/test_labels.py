import pytest
from django.core.exceptions import ValidationError
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet.labels import LABEL_LIMIT, label_lines, parse_labels


def test_it_reads_one_label_a_line() -> None:
    labels = parse_labels(["env=production", "", "  team = cache team "])

    assert labels == {"env": "production", "team": "cache team"}


def test_it_keeps_what_follows_the_first_equals_sign() -> None:
    assert parse_labels(["query=a=b"]) == {"query": "a=b"}


def test_it_writes_what_it_reads() -> None:
    labels = {"team": "game", "env": "staging, old"}

    assert parse_labels(label_lines(labels).splitlines()) == labels


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("production", "has no value"),
        ("Env=x", "small letters"),
        ("=x", "small letters"),
        (f"{'k' * 64}=x", "1 to 63"),
        ("env=", "1 to 200"),
        (f"env={'v' * 201}", "1 to 200"),
        ("env=a\x07b", "printable"),
    ],
)
def test_it_says_what_is_wrong_with_a_label(line: str, part: str) -> None:
    with pytest.raises(ValidationError, match=part):
        parse_labels([line])


def test_it_refuses_a_repeated_name() -> None:
    with pytest.raises(ValidationError, match="given twice"):
        parse_labels(["env=a", "env=b"])


def test_it_refuses_too_many_labels() -> None:
    with pytest.raises(ValidationError, match="at most"):
        parse_labels([f"k{number}=v" for number in range(LABEL_LIMIT + 1)])


@pytest.mark.parametrize(
    "line", ["k" * 63 + "=v", f"env={'v' * 200}", "a.b-c_9=x", "env=日本語 テスト", "env==", "env= a = b ", "0=0"]
)
def test_it_takes_labels_at_their_bounds(line: str) -> None:
    key, _, value = line.partition("=")

    assert parse_labels([line]) == {key: value.strip()}


@pytest.mark.parametrize(
    "line", ["env=a\u200bb", "env=a\u202eb", "env=a\tb", "env=\ufeff", "énv=x", "ｅnv=x", "e nv=x"]
)
def test_it_refuses_what_a_reader_cannot_see_or_type(line: str) -> None:
    with pytest.raises(ValidationError):
        parse_labels([line])


def test_it_takes_as_many_labels_as_it_says() -> None:
    assert len(parse_labels([f"k{number}=v" for number in range(LABEL_LIMIT)])) == LABEL_LIMIT


def test_it_repeats_no_more_than_the_beginning_of_a_bad_label() -> None:
    with pytest.raises(ValidationError) as caught:
        parse_labels(["X" * 10_000])

    assert len(caught.value.message) < 200


def test_it_takes_the_same_name_with_blanks_for_a_repeated_one() -> None:
    with pytest.raises(ValidationError, match="given twice"):
        parse_labels(["env=a", " env =b"])


KEYS = st.from_regex(r"[a-z0-9_.-]{1,63}", fullmatch=True)
VALUES = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=200)


@given(st.dictionaries(KEYS, VALUES.filter(str.isprintable), max_size=LABEL_LIMIT))
@settings(max_examples=60, deadline=None)
def test_it_reads_back_whatever_it_takes(labels: dict[str, str]) -> None:
    assert parse_labels(label_lines(labels).split("\n")) == labels
