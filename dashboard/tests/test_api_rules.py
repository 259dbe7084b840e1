"""Rules, silences and routes by the API."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Role
from alerts import pack
from alerts.models import Route
from alerts.rule import Rule
from alerts.silence import Silence
from alerts.tests.cast import channel
from alerts.tests.judged import rule
from alerts.tests.test_trial import rolled
from collectors.event import Event, Kind
from dashboard.tests.alert_cast import firing
from dashboard.tests.api import call

pytestmark = pytest.mark.django_db
TEXT: dict[str, Any] = {"rule": "mine", "when": {"metric": "used_memory", "warning": 5}}


def later(hours: float = 1) -> str:
    return (timezone.now() + timedelta(hours=hours)).isoformat()


def silence(**changes: Any) -> Any:
    given = {"matchers": ["cache=game"], "comment": "x", "ends_at": later()} | changes
    return call(Role.OPERATOR, "post", "/silences", given)


def test_it_lists_rules_with_what_they_mean_and_judge() -> None:
    firing(0.1, 0.2, shards=2)
    Rule.objects.create(key="broken", text={"rule": "broken"})

    broken, row = call(Role.VIEWER, "get", "/rules").json()["rules"]

    assert (row["rule"], row["instances"], row["broken"]) == ("memory", 2, "")
    assert row["meaning"].startswith("Fires as soon as memory_used_ratio is above 80%")
    assert (broken["meaning"], broken["matched_at"]) == ("", None)
    assert "when" in broken["broken"]


def test_every_rule_of_the_pack_is_answered_as_documented() -> None:
    pack.install()

    assert len(call(Role.VIEWER, "get", "/rules").json()["rules"]) == Rule.objects.count()


def test_an_operator_adds_changes_and_deletes_a_rule() -> None:
    added = call(Role.OPERATOR, "post", "/rules", {"text": TEXT})
    changed = call(Role.OPERATOR, "patch", "/rules/mine", {"text": TEXT | {"for": "5m"}, "revision": 1})
    off = call(Role.OPERATOR, "patch", "/rules/mine", {"is_enabled": False})
    gone = call(Role.OPERATOR, "delete", "/rules/mine")

    assert (added.status_code, changed.status_code, off.status_code, gone.status_code) == (201, 200, 200, 204)
    assert (changed.json()["text"]["for"], changed.json()["revision"], off.json()["is_enabled"]) == ("5m", 2, False)
    assert call(Role.VIEWER, "get", "/rules/mine").status_code == 404


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ({"rule": "mine"}, "when.1"),
        ({**TEXT, "rule": "Not a key"}, "rule"),
        ({**TEXT, "for": "soon"}, "for"),
        ({**TEXT, "nonsense": 1}, "nonsense"),
        ({**TEXT, "when": {"metric": "none", "warning": 1}}, "when.1.metric"),
    ],
)
def test_a_rule_that_cannot_be_read_is_refused_with_its_place(text: dict[str, Any], field: str) -> None:
    answer = call(Role.OPERATOR, "post", "/rules", {"text": text})

    assert (answer.status_code, answer.json()["field"]) == (400, field)


def test_a_rule_that_somebody_changed_is_not_overwritten() -> None:
    rule("mine")

    answer = call(Role.OPERATOR, "patch", "/rules/mine", {"text": TEXT, "revision": 7})

    assert answer.status_code == 409
    assert Rule.objects.get().revision == 1


def test_names_are_taken_once_and_kept() -> None:
    rule("mine")

    assert call(Role.OPERATOR, "post", "/rules", {"text": TEXT}).status_code == 400
    assert call(Role.OPERATOR, "patch", "/rules/mine", {"text": TEXT | {"rule": "other"}}).status_code == 400


def test_rules_of_the_pack_are_not_deleted() -> None:
    pack.install()

    assert call(Role.OPERATOR, "delete", "/rules/node-down").status_code == 400


def test_a_silence_ends_with_an_event_of_the_api() -> None:
    given = {"kind": "load-test", "title": "load", "until": later(2)}
    event = call(Role.OPERATOR, "post", "/events", given).json()["id"]

    made = silence(event=event, ends_at=later(5))

    assert (made.status_code, made.json()["event_id"]) == (201, event)
    assert Silence.objects.get().event_id == event
    assert silence(event=event + 1).status_code == 404


def test_a_silence_cannot_end_with_what_is_over() -> None:
    event = Event.objects.create(kind=Kind.DEPLOY, until=timezone.now())

    answer = silence(event=event.pk)

    assert (answer.status_code, answer.json()["field"]) == (400, "event")


def test_an_operator_silences_and_ends_it() -> None:
    made = silence(matchers=[" cache=game "])
    number = made.json()["id"]

    assert (made.status_code, made.json()["matchers"], made.json()["author"]) == (201, ["cache=game"], "operator")
    assert call(Role.VIEWER, "get", "/silences?active=true").json()["count"] == 1
    assert call(Role.OPERATOR, "post", f"/silences/{number}/end").status_code == 200
    assert call(Role.OPERATOR, "post", f"/silences/{number}/end").status_code == 409
    assert call(Role.VIEWER, "get", "/silences?active=true").json()["count"] == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"matchers": []},
        {"matchers": ["cache"]},
        {"matchers": ["cache=~("]},
        {"comment": ""},
        {"comment": " "},
        {"ends_at": "soon"},
        {"ends_at": "2020-01-01T00:00:00Z"},
        {"ends_at": "2999-01-01T00:00:00Z"},
        {"starts_at": "2020-01-01T00:00:00Z"},
        {"more": 1},
    ],
)
def test_it_refuses_a_silence_that_cannot_be_kept(changes: dict[str, Any]) -> None:
    assert silence(**changes).status_code == 400
    assert not Silence.objects.exists()


def test_the_preview_shows_what_would_be_hidden() -> None:
    firing(0.95, 0.85, shards=2)

    answer = call(Role.VIEWER, "post", "/silences/preview", {"matchers": ["severity=critical"]}).json()

    assert (answer["count"], answer["alerts"][0]["severity"]) == (1, "critical")


def test_it_shows_the_routes_and_the_way_of_a_sample() -> None:
    root = Route.objects.create(name="root")
    Route.objects.create(name="game", parent=root, matchers=["cache=game-*"]).channels.add(channel())

    routes = call(Role.VIEWER, "get", "/routes").json()["routes"]
    way = call(Role.VIEWER, "post", "/routes/test", {"labels": {"cache": "game-1"}}).json()

    assert [(row["name"], row["parent"], row["channels"]) for row in routes] == [
        ("root", None, []),
        ("game", root.pk, ["pager"]),
    ]
    assert (way["path"], way["channels"]) == (["root", "game"], ["pager"])


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("post", "/rules", {"text": TEXT}),
        ("patch", "/rules/mine", {"is_enabled": False}),
        ("delete", "/rules/mine", None),
        ("post", "/silences", {"matchers": ["a=b"], "comment": "x", "ends_at": "2030-01-01"}),
        ("post", "/silences/1/end", None),
    ],
)
def test_viewers_only_look(method: str, path: str, body: Any) -> None:
    rule("mine")

    assert call(Role.VIEWER, method, path, body).status_code == 403


def test_a_rule_is_tried_without_being_kept() -> None:
    firing(0.5)
    given = {"text": TEXT, "days": 2}

    answer = call(Role.OPERATOR, "post", "/rules/try", given).json()

    assert (answer["before"], answer["after"]["nodes"], answer["after"]["step_seconds"]) == (None, 1, 300)
    assert not Rule.objects.filter(key="mine").exists()


def test_a_rule_that_is_kept_is_tried_as_it_was_and_as_it_would_be() -> None:
    watched = firing(0.5)
    rolled(watched.nodes[0], "1" + "9" * 6 + "11")
    text = Rule.objects.get().text | {"when": {"metric": "memory_used_ratio", "warning": 0.95}}

    answer = call(Role.OPERATOR, "post", "/rules/try", {"text": text}).json()

    assert (answer["before"]["pages"], answer["after"]["pages"]) == (1, 0)
    assert answer["before"]["episodes"][0]["place"] == "shard 1, 127.0.0.1:7010"


@pytest.mark.parametrize(
    ("given", "field"),
    [({"text": TEXT, "days": 31}, "days"), ({"text": {"rule": "x"}}, "when"), ({}, "text")],
)
def test_a_trial_that_cannot_be_made_is_refused(given: dict[str, Any], field: str) -> None:
    answer = call(Role.OPERATOR, "post", "/rules/try", given)

    assert answer.status_code == 400
    assert field in answer.json().get("field", "")


def test_viewers_try_no_rules() -> None:
    assert call(Role.VIEWER, "post", "/rules/try", {"text": TEXT}).status_code == 403
