"""Labels as people write what they mean."""

import pytest

from alerts.matchers import Matcher, MatcherError, fit, parse, typed

LABELS = {"cache": "game-cache", "env": "prod", "node": "10.0.0.1:6379"}


@pytest.mark.parametrize(
    ("line", "fits"),
    [
        ("cache=game-cache", True),
        ("cache=game-*", True),
        ("cache=shop-*", False),
        ("cache!=shop", True),
        ("cache!=game-*", False),
        (r"node=~10\.0\..*", True),
        (r"node=~10\.0", False),
        (r"node!~10\.1.*", True),
        ("team=", True),
        ("team!=games", True),
        ("team=games", False),
        (" env = prod ", True),
    ],
)
def test_it_compares_one_label(line: str, fits: bool) -> None:
    assert fit(parse([line]), LABELS) is fits


def test_all_of_them_must_fit() -> None:
    assert fit(parse(["env=prod", "cache=game-*"]), LABELS)
    assert not fit(parse(["env=prod", "cache=shop"]), LABELS)


def test_blank_lines_mean_nothing() -> None:
    assert parse(["", "  ", "env=prod"]) == (Matcher("env", "=", "prod"),)


def test_it_is_written_as_it_was_read() -> None:
    assert [str(matcher) for matcher in parse(["env=prod", "a!~b|c"])] == ["env=prod", "a!~b|c"]


@pytest.mark.parametrize(
    "line",
    ["env", "=prod", "1env=prod", "node=~[", "x" * 301, "en v=prod"],
)
def test_it_refuses_what_it_cannot_read(line: str) -> None:
    with pytest.raises(MatcherError):
        parse([line])


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+",
        "(a|b*)*c",
        "((a*))*b",
        "(a|a)*b",
        "(.|.)+ x",
        "(?:a|aa){9}",
        ".*.*.*.*x",
        ".{0,60}" * 4,
        "a?" * 21,
        "((.{0,3}){4}){4}x",
        "(((a?){4}){4}){4}x",
        "(((a|a){4}){4}){4}x",
        "(a|a)" * 30,
        "((a?){2})" * 20,
    ],
)
def test_a_person_cannot_give_what_takes_for_ever(pattern: str) -> None:
    with pytest.raises(MatcherError, match="more simply"):
        typed([f"node=~{pattern}"])
    assert parse([f"node=~{pattern}"])


@pytest.mark.parametrize(
    "pattern",
    [
        r"10\.0\..*",
        r"10(\.\d{1,3}){3}",
        r"\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}:\d+",
        "(game|shop)-.*-(eu)?",
        "|".join(f"shop-{number}" for number in range(30)),
        r"((\d{3}){2}-(a|b)){2}",
        "(a(b{2}){3}){4}",
    ],
)
def test_a_person_may_give_what_is_compared_at_once(pattern: str) -> None:
    assert typed([f"node=~{pattern}"])


def test_it_refuses_too_many() -> None:
    with pytest.raises(MatcherError, match="20"):
        parse(["a=b"] * 21)
