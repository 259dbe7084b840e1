"""Rules as people write them."""

from typing import Any

import pytest

from alerts.durations import in_words
from alerts.spec import Across, Join, NoData, Per, Spec, Term, Where
from alerts.spec_form import SpecError, read_spec, written
from collectors.windows import Read, Reading

MEMORY: dict[str, Any] = {"metric": "memory_used_ratio", "is": ">", "warning": 0.8, "critical": 0.9}
SMALL: dict[str, Any] = {"rule": "memory", "title": "Memory", "when": MEMORY}
FULL: dict[str, Any] = {
    "rule": "rejected",
    "title": "Connections are refused",
    "area": "connections",
    "when": {
        "any": [
            {
                "metric": "rejected_connections",
                "read": "increase",
                "over": "5m",
                "is": ">",
                "warning": 0,
                "critical": 10,
            },
            {"metric": "connections_used_ratio", "read": "share", "over": "1h", "level": 0.9, "is": ">=", "value": 0.5},
        ]
    },
    "judged": "cache",
    "where": {"labels": {"env": "prod"}, "cache": "game-*", "role": "primary"},
    "for": "2m",
    "keep_firing": "90s",
    "no_data": "alert",
    "labels": {"team": "games"},
    "gates": ["cluster"],
    "calm": {"restart": "5m"},
    "message": "{cache} refuses connections",
    "why": "Clients fail.",
    "check": "Look at maxclients.",
    "runbook": "https://example.com/runbook",
}


def errors_of(given: object) -> dict[str, str]:
    with pytest.raises(SpecError) as caught:
        read_spec(given)
    return caught.value.errors


def term(**changes: Any) -> dict[str, Any]:
    """Return the small rule with a changed condition; None takes a field out."""
    fields = {name: value for name, value in (MEMORY | changes).items() if value is not None}
    return SMALL | {"when": fields}


def test_it_reads_a_small_rule() -> None:
    spec = read_spec(SMALL)

    assert spec == Spec(
        "memory", "Memory", (Term(Reading("memory_used_ratio", Read.LAST, 60), warning=0.8, critical=0.9),)
    )


def test_it_reads_all_that_a_rule_may_say() -> None:
    spec = read_spec(FULL)

    assert (spec.join, spec.per, spec.hold, spec.keep, spec.no_data) == (Join.ANY, Per.CACHE, 120, 90, NoData.ALERT)
    assert spec.where == Where({"env": "prod"}, "game-*", None, "primary")
    assert spec.terms[0].reading == Reading("rejected_connections", Read.INCREASE, 300)
    assert (spec.terms[1].guard, spec.terms[1].is_closed, spec.terms[1].reading.level) == (0.5, True, 0.9)
    assert (spec.calm, spec.gates, spec.terms[0].across) == ({"restart": 300}, ("cluster",), Across.MAX)


@pytest.mark.parametrize("given", [SMALL, FULL, term(over="5m", read="avg"), term(across="sum", role="replica")])
def test_what_is_written_reads_the_same(given: dict[str, Any]) -> None:
    spec = read_spec(given)

    assert read_spec(written(spec)) == spec


def test_whole_numbers_are_written_without_decimals() -> None:
    when = written(read_spec(term(metric="used_memory", warning="1.5 GiB", critical="2 GiB")))["when"]["all"][0]

    assert (str(when["warning"]), str(when["critical"])) == ("1610612736", "2147483648")


def test_it_writes_a_full_rule_as_it_was() -> None:
    assert written(read_spec(FULL)) == FULL


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("5m", 300), ("1h", 3600), ("2d", 172_800), ("45", 45), (45, 45), ("", 0)]
)
def test_it_reads_times(text: object, seconds: int) -> None:
    assert read_spec(SMALL | {"for": text or None}).hold == seconds


@pytest.mark.parametrize(("seconds", "words"), [(0, ""), (90, "90s"), (300, "5m"), (7200, "2h"), (86_400, "1d")])
def test_it_writes_times(seconds: int, words: str) -> None:
    assert in_words(seconds) == words


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ("text", "rule"),
        (None, "rule"),
        ([], "rule"),
        (SMALL | {"rule": "Not A Key"}, "rule"),
        (SMALL | {"rule": "x" * 64}, "rule"),
        (SMALL | {"colour": "red"}, "colour"),
        (SMALL | {"for": "soon"}, "for"),
        (SMALL | {"for": "-5m"}, "for"),
        (SMALL | {"for": "31d"}, "for"),
        (SMALL | {"for": "9" * 400}, "for"),
        (SMALL | {"where": {"shard": 1e300}}, "where.shard"),
        (SMALL | {"where": {"shard": 1.5}}, "where.shard"),
        (SMALL | {"where": {"shard": -1}}, "where.shard"),
        (term(warning=1e20), "when.1.warning"),
        (term(warning=float("nan")), "when.1.warning"),
        (SMALL | {"judged": "planet"}, "judged"),
        (SMALL | {"no_data": "panic"}, "no_data"),
        (SMALL | {"gates": ["open"]}, "gates"),
        (SMALL | {"gates": "cluster"}, "gates"),
        (SMALL | {"calm": {"party": "5m"}}, "calm"),
        (SMALL | {"labels": ["a"]}, "labels"),
        (SMALL | {"labels": {"a": {}}}, "labels"),
        (SMALL | {"where": {"role": "boss"}}, "where.role"),
        (SMALL | {"where": {"planet": "x"}}, "where.planet"),
        (SMALL | {"where": "all"}, "where"),
        (SMALL | {"title": "x" * 10_001}, "title"),
        (SMALL | {"why": {"a": 1}}, "why"),
        (SMALL | {"when": {"all": []}}, "when"),
        (SMALL | {"when": {"any": "memory"}}, "when"),
        (SMALL | {"when": {"all": [MEMORY] * 11}}, "when"),
        (SMALL | {"when": None}, "when.1"),
        (term(metric="memori_used_ratio"), "when.1.metric"),
        (term(metric="errors."), "when.1.metric"),
        (term(read="guess"), "when.1.read"),
        (term(read="avg"), "when.1.over"),
        (term(read="forecast", over="1h"), "when.1.level"),
        (term(warning="much"), "when.1.warning"),
        (term(warning=True), "when.1.warning"),
        (term(warning="nan"), "when.1.warning"),
        (term(warning=1e999), "when.1.warning"),
        (term(warning=None, critical=None), "when.1"),
        (term(value=0.5), "when.1.value"),
        (term(critical=0.7), "when.1.critical"),
        (term(**{"is": "<"}), "when.1.critical"),
        (term(**{"is": "=="}), "when.1.is"),
        (term(across="median"), "when.1.across"),
        (term(warning=None, critical=None, value=1), "when"),
    ],
)
def test_it_names_the_place_of_what_is_wrong(given: object, place: str) -> None:
    assert place in errors_of(given)


def test_it_names_everything_that_is_wrong_at_once() -> None:
    assert set(errors_of(term(read="avg", metric="nothing") | {"for": "soon"})) == {
        "when.1.over",
        "when.1.metric",
        "for",
    }


def test_it_offers_metrics_that_look_alike() -> None:
    assert "memory_used_ratio" in errors_of(term(metric="memory_use_ratio"))["when.1.metric"]


@pytest.mark.parametrize("metric", ["down", "errors.OOM", "calls.keys", "p99_usec.get", "replication_lag_seconds"])
def test_it_knows_metrics_of_every_kind(metric: str) -> None:
    assert read_spec(term(metric=metric)).terms[0].reading.metric == metric
