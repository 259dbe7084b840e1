"""Exceptions to rules, on the page of the rule."""

from typing import Any

import pytest

from accounts.models import AuditEntry, Role
from accounts.tests.cast import client_of
from alerts.rule import Override
from alerts.tests.judged import Fleet, fleet, rule, states

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
        ({"cache": "game", "warning": "much"}, "Enter a number"),
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
