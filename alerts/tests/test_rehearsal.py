"""Rules on given series: the states are those of real polls, and differences are told in full."""

from collections.abc import Mapping
from typing import Any

import pytest

from alerts import rehearsal
from alerts.alert import Alert
from alerts.rehearsal import Stage
from alerts.rule_tests import RuleTest, read_tests
from alerts.spec import Spec
from alerts.spec_form import read_spec
from alerts.tests.judged import EVERY, fleet, rule

MEMORY = {"metric": "memory_used_ratio", "is": ">", "warning": 0.8, "critical": 0.9}


def spec(when: Any = MEMORY, **fields: Any) -> Spec:
    return read_spec({"rule": "memory", "when": when, **{name.rstrip("_"): value for name, value in fields.items()}})


def told(*nodes: Mapping[str, str], **fields: Any) -> RuleTest:
    """Return a test about nodes n1, n2 … each in a shard of its own, with these series."""
    made = [{"node": f"n{number}", "shard": number, "series": dict(series)} for number, series in enumerate(nodes, 1)]
    return read_tests({"tests": [{"name": "t", "nodes": made, **fields}]}).tests[0]


def states(test: RuleTest, *times: int, rules: tuple[Spec, ...] = ()) -> list[str]:
    """Return states and severities at these seconds, one text each."""
    stage = Stage(rules or (spec(),), test)
    return [" ".join(f"{one.state}/{one.severity}" for one in stage.alerts_at(at)) for at in times]


def test_an_alert_waits_fires_recovers_and_is_over() -> None:
    rules = (spec(for_="30s", keep_firing="30s"),)

    found = states(told({"memory_used_ratio": "0.5 0.95x3 0.5x5"}), 0, 15, 45, 75, 90, 105, rules=rules)

    assert found == ["", "pending/critical", "firing/critical", "recovering/critical", "recovering/critical", ""]


def test_values_decide_the_level() -> None:
    assert states(told({"memory_used_ratio": "0.85 0.95 0.85"}), 0, 15, 30) == [
        "firing/warning",
        "firing/critical",
        "firing/warning",
    ]


def test_each_node_is_judged_by_itself() -> None:
    stage = Stage([spec()], told({"memory_used_ratio": "0.95"}, {"memory_used_ratio": "0.5"}))

    assert [alert.node_address for alert in stage.alerts_at(0)] == ["n1"]


def test_a_spread_is_judged_over_the_nodes() -> None:
    rules = (spec({**MEMORY, "warning": 0.2, "critical": None}, judged="spread"),)
    test = told({"memory_used_ratio": "0.5 0.9"}, {"memory_used_ratio": "0.5x1"})

    assert states(test, 0, 15, rules=rules) == ["", "firing/warning"]


def test_gates_read_topology_and_policy() -> None:
    keeps, evicts = spec(gates=["keeps"]), spec(gates=["evicts"])
    full = {"memory_used_ratio": "0.95"}

    assert states(told(full, cache={"policy": "allkeys-lru"}), 0, rules=(keeps,)) == [""]
    assert states(told(full, cache={"policy": "allkeys-lru"}), 0, rules=(evicts,)) == ["firing/critical"]
    assert states(told(full, cache={"topology": "standalone"}), 0, rules=(spec(gates=["cluster"]),)) == [""]


def test_nothing_new_begins_after_an_event() -> None:
    test = told({"memory_used_ratio": "0.5 0.95x40"}, events=[{"kind": "restart", "at": "15s"}])

    assert states(test, 285, 315, 330, rules=(spec(calm={"restart": "5m"}),)) == ["", *["firing/critical"] * 2]


def test_an_event_counts_until_its_end() -> None:
    test = told({"memory_used_ratio": "0.95x40"}, events=[{"kind": "scaling", "at": "0s", "until": "60s"}])

    assert states(test, 75, 90, rules=(spec(calm={"scaling": "30s"}),)) == ["", "firing/critical"]


def test_a_refused_connection_is_evidence_at_once() -> None:
    down = spec({"metric": "down", "critical": 0})

    assert states(told({"used_memory": "1 _", "down": "0 1 0"}), 0, 15, 30, rules=(down,)) == [
        "",
        "firing/critical",
        "",
    ]


def test_silence_is_evidence_after_a_minute() -> None:
    down = spec({"metric": "down", "critical": 0})

    assert states(told({"used_memory": "1 _x9"}), 45, 60, rules=(down,)) == ["", "firing/critical"]


@pytest.mark.parametrize(
    ("no_data", "expected"), [("keep", "firing/critical"), ("ok", ""), ("alert", "firing/critical")]
)
def test_missing_data_means_what_the_rule_says(no_data: str, expected: str) -> None:
    rules = (spec(no_data=no_data),)

    assert states(told({"memory_used_ratio": "0.95 _x9"}), 150, rules=rules) == [expected]


def test_missing_data_never_ends_an_alert_before_it_is_evidence() -> None:
    assert states(told({"memory_used_ratio": "0.95 _x9"}), 45, rules=(spec(no_data="ok"),)) == ["firing/critical"]


def difference(*alerts: Mapping[str, Any], at: str = "0s", rule: str = "", value: str = "0.95x9") -> list[str]:
    expect = [{"at": at, "alerts": list(alerts), "rule": rule}]
    found = rehearsal.differences([spec()], told({"memory_used_ratio": value}, expect=expect))
    return [line for one in found for line in one.lines()]


def test_what_is_as_expected_says_nothing() -> None:
    assert difference({"rule": "memory", "node": "n1", "shard": 1, "severity": "critical", "value": 0.95}) == []
    assert difference(value="0.5") == []
    assert difference(rule="another") == []


def test_a_state_that_is_not_named_is_firing() -> None:
    assert difference({"state": "pending"})
    assert not difference({})


def test_a_difference_shows_both_sides() -> None:
    assert difference({"rule": "memory", "severity": "warning"}) == [
        "t, at 0 s:",
        "  - expected: rule memory, severity warning",
        "  + found:    rule memory, node n1, shard 1, state firing, severity critical, reason threshold, value 0.95",
    ]


def test_each_expected_alert_needs_one_of_its_own() -> None:
    assert difference({}, {}) == ["t, at 0 s:", "  - expected: "]


def test_expectations_may_stand_in_any_order() -> None:
    expect = [{"at": "30s", "alerts": [{}]}, {"at": "0s"}]

    assert not rehearsal.differences([spec()], told({"memory_used_ratio": "0.5 0.95x2"}, expect=expect))


SERIES = (0.5, 0.85, 0.95, 0.95, None, 0.85, 0.7, 0.95, 0.5, 0.5, None, None, None, None, None, None, 0.5, 0.9, 0.91)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "fields",
    [{}, {"for": "30s"}, {"for": "15s", "keep_firing": "30s"}, {"read": "avg", "over": "45s"}, {"no_data": "alert"}],
    ids=["plain", "for", "keep", "mean", "no-data"],
)
def test_it_finds_what_real_polls_find(fields: dict[str, str]) -> None:
    text = " ".join("_" if share is None else str(share) for share in SERIES)
    kept, real = rule(**fields), fleet()
    stage = Stage([kept.spec], told({"memory_used_ratio": text}))

    for index, share in enumerate(SERIES):
        real.poll(share)
        seen = [(one.state, one.severity) for one in Alert.objects.active()]
        assert seen == [(one.state, one.severity) for one in stage.alerts_at(index * EVERY)], index
