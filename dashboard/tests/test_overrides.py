"""Exceptions to rules, on the page of the rule."""

from typing import Any

import pytest

from accounts.models import AuditEntry, Role
from accounts.tests.cast import client_of
from alerts.alert import Alert
from alerts.rule import Override, Rule
from alerts.tests.judged import Fleet, fleet, rule, states
from dashboard.override_values import counting

pytestmark = pytest.mark.django_db


@pytest.fixture
def watched(db: None) -> Fleet:
    rule()
    return fleet()


def add(as_role: str = Role.OPERATOR, /, **given: str) -> tuple[int, str]:
    answer = client_of(as_role).post("/rules/memory/overrides/", given)
    return answer.status_code, answer.content.decode()


def page(role: str = Role.VIEWER) -> str:
    return client_of(role).get("/rules/memory/").content.decode()


def test_a_cache_has_bounds_of_its_own(watched: Fleet) -> None:
    assert add(cache="game", warning="0.5", critical="0.97", hold="1m", note="small")[0] == 302

    watched.poll(0.95)

    made = Override.objects.get()
    assert (made.bounds, made.hold, made.keep) == ({"0": {"warning": 0.5, "critical": 0.97}}, 60, None)
    assert states() == ["pending"]
    assert "Fires where, for 1 min, memory_used_ratio is above 50%" in page()
    assert AuditEntry.objects.get(action="override.add").target == "memory"


@pytest.mark.parametrize(
    ("place", "level"),
    [
        ({"cache": "game"}, "one cache"),
        ({"cache": "game", "node": "127.0.0.1:7010"}, "one node"),
        ({"labels": "env=prod"}, "caches with these labels"),
    ],
)
def test_it_says_how_far_each_reaches(watched: Fleet, place: dict[str, str], level: str) -> None:
    add(**place, warning="0.5")

    assert f">{level}<" in page()


def counts(override: Override) -> list[tuple[str, str, str]]:
    found = list(Override.objects.select_related("cache", "node__cache"))
    return [(one.label, one.value, one.source) for one in counting(override.rule.spec, override, found)]


def test_each_value_says_where_it_comes_from(watched: Fleet) -> None:
    watched.cache.labels = {"env": "prod"}
    watched.cache.save()
    made, node = Rule.objects.get(), watched.nodes[0]
    for other in ({"labels": {"env": "test"}}, {"labels": {"env": "prod"}}):
        Override.objects.create(rule=made, bounds={"0": {"warning": 0.6, "critical": 0.7}}, hold=300, **other)
    of_cache = Override.objects.create(rule=made, cache=watched.cache, bounds={"0": {"warning": 0.5}})
    of_node = Override.objects.create(rule=made, node=node, bounds={"0": {"critical": None}})

    assert counts(of_cache) == [
        ("warning bound", "50%", "from this exception"),
        ("critical bound", "70%", "from the exception for env=prod"),
        ("for", "5 min", "from the exception for env=prod"),
        ("keep firing", "none", "from the rule"),
    ]
    assert counts(of_node)[:2] == [
        ("warning bound", "50%", "from the exception for game"),
        ("critical bound", "none", "from this exception"),
    ]


def test_what_counts_is_what_is_judged(watched: Fleet) -> None:
    Override.objects.create(rule=Rule.objects.get(), cache=watched.cache, bounds={"0": {"warning": 0.5}})

    watched.poll(0.6)

    assert Alert.objects.get().bound == 0.5
    assert "warning bound: 50%, from this exception" in page()
    assert "critical bound: 90%, from the rule" in page()


def test_values_of_several_conditions_are_numbered(watched: Fleet) -> None:
    terms = [{"metric": "used_memory", "warning": 5}, {"metric": "hit_ratio", "value": 0.5}]
    made = rule("two", when={"all": terms})
    one = Override.objects.create(rule=made, cache=watched.cache, hold=60)

    assert [label for label, _value, _source in counts(one)[:2]] == [
        "warning bound of condition 1",
        "bound of condition 2",
    ]


def test_a_rule_is_off_for_a_cache(watched: Fleet) -> None:
    add(cache="game", switch="off")

    watched.poll(0.95)

    assert states() == []
    assert "The rule is off there." in page()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"warning": "0.5"}, "Say where"),
        ({"cache": "game"}, "what is different there"),
        ({"cache": "nothing", "warning": "0.5"}, "valid choice"),
        ({"cache": "game", "warning": "much"}, "such as 0.3 or 30%"),
        ({"cache": "game", "critical": "1 GiB"}, "such as 0.3 or 30%"),
        ({"cache": "game", "warning": "0.95"}, "further out"),
        ({"cache": "game", "hold": "soon"}, "such as 90s"),
        ({"cache": "game", "node": "10.9.9.9:1", "warning": "0.5"}, "address of a node that it has"),
        ({"node": "127.0.0.1:7010", "warning": "0.5"}, "Choose its cache"),
    ],
)
def test_it_refuses_what_makes_no_sense(watched: Fleet, given: dict[str, Any], words: str) -> None:
    status, seen = add(**given)

    assert status == 400
    assert words in seen
    assert not Override.objects.exists()


def test_it_is_removed(watched: Fleet) -> None:
    add(cache="game", switch="off")
    made = Override.objects.get()

    client_of(Role.OPERATOR).post(f"/rules/memory/overrides/{made.pk}/delete/")

    assert not Override.objects.exists()
    assert "counts everywhere" in page()


def test_viewers_only_look(watched: Fleet) -> None:
    assert add(Role.VIEWER, cache="game", switch="off")[0] == 403
    assert "Make an exception" not in page()
