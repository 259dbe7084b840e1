"""What a rule says, judged on values."""

import math

import pytest

from alerts.spec import Join, Spec, Term, Where, joined
from collectors.windows import Reading

USED = Reading("memory_used_ratio")


@pytest.mark.parametrize(
    ("value", "level"), [(0.5, 0), (0.8, 0), (0.801, 1), (0.9, 1), (0.91, 2), (math.inf, 2), (None, None)]
)
def test_a_term_has_two_levels(value: float | None, level: int | None) -> None:
    assert Term(USED, warning=0.8, critical=0.9).judge(value) == level


@pytest.mark.parametrize(("value", "level"), [(0.9, 0), (0.8, 0), (0.79, 1), (0.5, 2)])
def test_a_term_may_look_down(value: float, level: int) -> None:
    assert Term(USED, is_above=False, warning=0.8, critical=0.6).judge(value) == level


def test_a_closed_bound_counts_itself() -> None:
    assert Term(USED, is_closed=True, warning=1.0).judge(1.0) == 1


def test_a_term_may_have_the_critical_level_only() -> None:
    assert [Term(USED, critical=0.9).judge(value) for value in (0.89, 0.95)] == [0, 2]


def test_a_guard_counts_for_every_level() -> None:
    assert [Term(USED, guard=0.5).judge(value) for value in (0.4, 0.6, None)] == [0, 2, None]


@pytest.mark.parametrize(
    ("levels", "every", "some"),
    [
        ((2, 1), 1, 2),
        ((2, 2), 2, 2),
        ((0, 2), 0, 2),
        ((0, 0), 0, 0),
        ((1, None), None, 1),
        ((2, None), None, 2),
        ((0, None), 0, None),
        ((None, None), None, None),
        ((2,), 2, 2),
        ((None,), None, None),
    ],
)
def test_terms_make_one_verdict(levels: tuple[int | None, ...], every: int | None, some: int | None) -> None:
    assert (joined(Join.ALL, levels), joined(Join.ANY, levels)) == (every, some)


def test_a_rule_judges_its_terms_together() -> None:
    spec = Spec("full", "Full", (Term(USED, warning=0.8, critical=0.9), Term(Reading("keys"), guard=100)))

    assert [spec.judge(values) for values in ((0.95, 200), (0.85, 200), (0.95, 50), (0.95, None))] == [2, 1, 0, None]


def test_the_first_term_with_levels_stands_for_the_rule() -> None:
    assert Spec("a", "A", (Term(USED, guard=0), Term(USED, warning=1))).leading() == 1


@pytest.mark.parametrize(
    ("where", "fits"),
    [
        (Where(), True),
        (Where(cache="game-*"), True),
        (Where(cache="shop-*"), False),
        (Where(labels={"env": "prod"}), True),
        (Where(labels={"env": "prod", "team": "x"}), False),
        (Where(labels={"env": "dev"}), False),
    ],
)
def test_a_rule_chooses_caches(where: Where, fits: bool) -> None:
    assert where.fits_cache("game-cache", {"env": "prod"}) is fits


@pytest.mark.parametrize(
    ("where", "fits"),
    [
        (Where(role="primary"), True),
        (Where(role="replica"), False),
        (Where(shard=2), True),
        (Where(shard=1), False),
        (Where(node="10.0.0.*"), True),
        (Where(node="10.1.*"), False),
    ],
)
def test_a_rule_chooses_nodes(where: Where, fits: bool) -> None:
    assert where.fits_node("10.0.0.1:6379", "primary", 2) is fits
