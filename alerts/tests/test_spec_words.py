"""What rules mean in a sentence."""

from typing import Any

import pytest
from django.utils import translation

from alerts import pack
from alerts.spec_form import read_spec
from alerts.spec_words import meaning

TERM = {"metric": "memory_used_ratio", "warning": 0.8, "critical": 0.9}


def words(*terms: dict[str, Any], **fields: Any) -> str:
    when = {fields.pop("join", "all"): [TERM | term for term in terms or ({},)]}
    return meaning(read_spec({"rule": "memory", "when": when} | fields))


def test_it_says_what_is_compared_with_which_bounds() -> None:
    assert words() == (
        "Fires as soon as memory_used_ratio is above 80% (warning) or above 90% (critical). Judged for each node."
    )


@pytest.mark.parametrize(
    ("term", "said"),
    [
        ({"read": "avg", "over": "5m"}, "the mean of memory_used_ratio over 5 min is above 80%"),
        ({"read": "min", "over": "5m"}, "the lowest memory_used_ratio of 5 min"),
        ({"read": "max", "over": "1h"}, "the highest memory_used_ratio of 1 h"),
        ({"read": "increase", "over": "1h"}, "the increase of memory_used_ratio within 1 h"),
        ({"read": "share", "over": "1h", "level": 0.5}, "the share of the last 1 h with memory_used_ratio above 50%"),
        ({"is": "<", "critical": None}, "is below 80% (warning)"),
        ({"is": ">=", "warning": None}, "is at least 90% (critical)"),
        ({"is": "<=", "critical": None}, "is at most 80% (warning)"),
        ({"role": "replica"}, "memory_used_ratio (replicas only)"),
        ({"metric": "used_memory", "warning": 2**30, "critical": 2**31}, "above 1 GiB (warning) or above 2 GiB"),
        ({"metric": "down", "warning": None, "critical": 0}, "as soon as it does not answer"),
    ],
)
def test_it_says_how_the_metric_is_read(term: dict[str, Any], said: str) -> None:
    given = {name: value for name, value in (TERM | term).items() if value is not None}
    spec = read_spec({"rule": "memory", "when": {"all": [given]}})

    assert said in meaning(spec)


def test_a_forecast_is_a_time() -> None:
    term = {"read": "forecast", "over": "1h", "level": 1, "is": "<", "warning": 28_800, "critical": 7_200}

    assert "the time until memory_used_ratio reaches 100%" in words(term)
    assert "is below 8 h (warning) or below 2 h (critical)" in words(term)


@pytest.mark.parametrize(
    ("read", "said"),
    [
        ("increase", "within 1 h is above 5 connections (warning)"),
        ("rate", "over 1 h is above 5 connections/s (warning)"),
    ],
)
def test_what_is_added_up_is_an_amount(read: str, said: str) -> None:
    term = {"metric": "rejected_connections", "read": read, "over": "1h", "warning": 5, "critical": 60}

    assert said in words(term)


@pytest.mark.parametrize(
    ("join", "said"), [("all", "as soon as all of this is true: memory"), ("any", "one of this is true: memory")]
)
def test_it_joins_conditions(join: str, said: str) -> None:
    assert said in words({}, {}, join=join)
    assert "(critical); memory_used_ratio is" in words({}, {}, join=join)


def test_a_condition_that_only_allows_has_one_bound() -> None:
    when = {"all": [TERM, {"metric": "used_memory", "value": 1024}]}

    assert "; used_memory is above 1 KiB." in meaning(read_spec({"rule": "memory", "when": when}))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"for": "5m"}, "Fires where, for 5 min, memory_used_ratio"),
        ({"keep_firing": "2m"}, "It is over once that was false for 2 min."),
        ({"no_data": "alert"}, "counts as bad"),
        ({"no_data": "ok"}, "counts as good"),
        ({"calm": {"restart": "5m"}}, "Nothing new begins after: restart (5 min)."),
        ({"judged": "cache"}, "memory_used_ratio (the highest node) is above"),
        ({"judged": "spread"}, "Judged for the spread between the nodes of a cache."),
        ({"hides": ["cache", "node"]}, "While it fires, other alerts of the same cache, node are not told."),
        ({"where": {"cache": "game-*"}}, "Judged for each node. Only caches named game-*."),
        ({"where": {"labels": {"env": "prod"}}}, "Only caches with env=prod."),
        ({"where": {"role": "replica"}}, "Only replicas."),
        (
            {"where": {"shard": 2, "role": "primary", "node": "10.*"}},
            "Only shard 2. Only primaries. Only nodes with the address 10.*.",
        ),
        ({"gates": ["keeps", "cluster"]}, "Only if a full cache may refuse writes. Only if the cache is a cluster."),
    ],
)
def test_it_says_where_and_how_long(fields: dict[str, Any], said: str) -> None:
    assert said in words(**fields)


@pytest.mark.parametrize("spec", pack.specs(), ids=lambda spec: spec.key)
@pytest.mark.parametrize("language", ["en", "ja"])
def test_every_rule_of_the_pack_has_a_meaning(spec: Any, language: str) -> None:
    with translation.override(language):
        said = meaning(spec)

    assert "%(" not in said
    assert len(said) > 20
