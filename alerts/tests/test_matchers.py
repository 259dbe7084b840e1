"""Labels as people write what they mean."""

import pytest

from alerts.matchers import Matcher, MatcherError, fit, parse

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
    ["env", "=prod", "1env=prod", "node=~[", "node=~(a+)+", r"node=~(a|b*)*c", "x" * 301, "en v=prod"],
)
def test_it_refuses_what_it_cannot_read(line: str) -> None:
    with pytest.raises(MatcherError):
        parse([line])


def test_it_refuses_too_many() -> None:
    with pytest.raises(MatcherError, match="20"):
        parse(["a=b"] * 21)
