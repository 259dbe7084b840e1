import pytest
from django.core.exceptions import ValidationError

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
