"""Caches where all is well are told from their numbers alone; that must say what the verdicts of their nodes would."""

import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from alerts.judging import Verdict, known_where_calm, of_cache
from alerts.scene import Watched, WatchedNode
from alerts.spec import Spec
from alerts.spec_form import read_spec

NODES = [WatchedNode(number, f"10.0.0.{number}:6379", "primary", 1, 1) for number in (1, 2)]
NOBODY, FIRST, BOTH = frozenset[int](), frozenset({1}), frozenset({1, 2})
HIGH = {"metric": "keys", "warning": 10, "critical": 20}
LOW = {"metric": "used_memory", "is": "<=", "critical": 5}
MANY = {"metric": "connected_clients", "value": 3}
VALUES = (None, 5.0, 15.0, 25.0)


def spec(*terms: dict[str, Any], join: str = "all", **more: Any) -> Spec:
    return read_spec({"rule": "tried", "when": terms[0] if len(terms) == 1 else {join: list(terms)}, **more})


Row = tuple[float | None, ...]


def seen(judged: Spec, rows: Sequence[Row], silent: frozenset[int]) -> tuple[int | None, list[Verdict]]:
    """Return what the numbers alone say, and the verdicts."""
    found = {
        term.reading: {
            node.id: value for node, row in zip(NODES, rows, strict=True) if (value := row[index]) is not None
        }
        for index, term in enumerate(judged.terms)
    }
    cache = Watched(1, "game-cache", {}, "cluster", 15, nodes=NODES)
    return known_where_calm(judged, NODES, found, silent), list(of_cache(judged, (), cache, NODES, found, silent))


@pytest.mark.parametrize("silent", [NOBODY, FIRST, BOTH], ids=["none", "one", "both"])
@pytest.mark.parametrize("no_data", ["keep", "ok", "alert"])
@pytest.mark.parametrize(
    "terms",
    [[HIGH], [LOW], [HIGH, LOW], [HIGH, MANY]],
    ids=["above", "at most", "both", "guarded"],
)
@pytest.mark.parametrize("join", ["all", "any"])
def test_it_says_what_verdicts_would(
    terms: list[dict[str, Any]], join: str, no_data: str, silent: frozenset[int]
) -> None:
    judged = spec(*terms, join=join, no_data=no_data)

    for rows in itertools.product(itertools.product(VALUES, repeat=len(terms)), repeat=2):
        known, verdicts = seen(judged, rows, silent)
        is_calm = not any(one.level or one.reason == "no_data" for one in verdicts)
        assert known == (sum(one.is_known for one in verdicts) if is_calm else None)


def test_a_calm_cache_tells_how_many_nodes_have_a_value() -> None:
    assert seen(spec(HIGH), [(5.0,), (None,)], NOBODY)[0] == 1


def test_a_bound_that_one_node_breaks_asks_for_verdicts() -> None:
    assert seen(spec(HIGH), [(5.0,), (15.0,)], NOBODY)[0] is None


def test_a_silent_node_asks_for_verdicts() -> None:
    assert seen(spec(HIGH), [(5.0,), (None,)], frozenset({2}))[0] is None


def test_a_silent_node_whose_last_value_is_known_does_not() -> None:
    assert seen(spec(HIGH), [(5.0,), (5.0,)], frozenset({2}))[0] == 2


@pytest.mark.parametrize("per", ["shard", "cache", "spread"])
def test_only_rules_on_nodes_are_told_so(per: str) -> None:
    assert seen(spec(HIGH, judged=per), [(5.0,), (5.0,)], NOBODY)[0] is None


def test_rules_about_one_role_are_not() -> None:
    assert seen(spec({**HIGH, "role": "replica"}), [(5.0,), (5.0,)], NOBODY)[0] is None
