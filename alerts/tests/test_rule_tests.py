"""Test files of rules: what they may say, and that each mistake is named with its place."""

from typing import Any

import pytest

from alerts.rule_tests import read_tests
from alerts.spec_form import SpecError


def file(**test: Any) -> dict[str, Any]:
    node = {"node": "a", "series": {"used_memory": "1x3"}}
    return {"rules": "rules.yaml", "tests": [{"name": "one", "nodes": [node], "expect": [{"at": "1m"}]} | test]}


def errors(given: object) -> dict[str, str]:
    with pytest.raises(SpecError) as caught:
        read_tests(given)
    return caught.value.errors


def test_it_reads_a_whole_test() -> None:
    (test,) = read_tests(
        file(
            every="5s",
            cache={"name": "game", "topology": "standalone", "labels": {"env": "live"}, "policy": "allkeys-lru"},
            events=[{"kind": "restart", "at": "1m"}, {"kind": "scaling", "at": "1m", "until": "2m"}],
        )
    ).tests

    assert (test.every, test.cache, test.topology, test.policy) == (5, "game", "standalone", "allkeys-lru")
    assert dict(test.labels) == {"env": "live"}
    assert [(event.kind, event.at, event.until) for event in test.events] == [("restart", 60, 60), ("scaling", 60, 120)]


def test_most_of_it_may_be_left_out() -> None:
    (test,) = read_tests(file()).tests

    assert (test.every, test.cache, test.topology) == (15, "cache", "cluster")
    assert (test.nodes[0].role, test.nodes[0].shard) == ("primary", None)
    assert test.expected[0].alerts == []


@pytest.mark.parametrize(("rules", "expected"), [("a.yaml", ["a.yaml"]), (["a", "b"], ["a", "b"]), (None, [])])
def test_rules_are_in_one_file_or_in_several(rules: Any, expected: list[str]) -> None:
    given = {**file(), "rules": rules}
    if rules is None:
        del given["rules"]

    assert read_tests(given).rules == expected


@pytest.mark.parametrize(
    ("test", "place"),
    [
        ({"every": "soon"}, "tests.1.every"),
        ({"cache": {"topology": "ring"}}, "tests.1.cache.topology"),
        ({"cache": "game"}, "tests.1.cache"),
        ({"nodes": [{"series": {"no_such_metric": "1"}}]}, "tests.1.nodes.1.series.no_such_metric"),
        ({"nodes": [{"series": {"used_memory": "1y3"}}]}, "tests.1.nodes.1.series.used_memory"),
        ({"nodes": [{"role": "boss"}]}, "tests.1.nodes.1.role"),
        ({"nodes": [{"week_ago": {"hit_ratio": "x"}}]}, "tests.1.nodes.1.week_ago.hit_ratio"),
        ({"nodes": {"a": 1}}, "tests.1.nodes"),
        ({"events": [{"kind": "party"}]}, "tests.1.events.1.kind"),
        ({"expect": [{"when": 1}]}, "tests.1.expect.1.when"),
        ({"expect": [{"at": 60, "alerts": [{"state": "loud"}]}]}, "tests.1.expect.1.alerts.1.state"),
        ({"expect": [{"at": 60, "alerts": [{"value": "much"}]}]}, "tests.1.expect.1.alerts.1.value"),
    ],
)
def test_a_mistake_is_named_with_its_place(test: dict[str, Any], place: str) -> None:
    assert list(errors(file(**test))) == [place]


@pytest.mark.parametrize("given", [None, [], "tests", {"tests": []}, {"tests": {}}, {"rules": 5, "tests": []}])
def test_a_file_without_a_test_is_refused(given: object) -> None:
    assert errors(given)


def test_all_mistakes_are_named_at_once() -> None:
    assert len(errors(file(every="soon", nodes=[{"role": "boss"}], events=[{"kind": "party"}]))) == 3
