import json
from typing import Any

import pytest
from django.test import Client

from accounts.models import AuditEntry, Role
from accounts.tests.cast import bearer_of
from alerts import sender
from alerts.models import Channel, Incident
from alerts.tests.cast import KEY, channel, opened
from alerts.tests.conftest import loopback, pagerduty, service  # noqa: F401
from alerts.tests.peers import Service

pytestmark = pytest.mark.django_db
NEW = {"name": "on-call", "kind": "pagerduty", "settings": {"routing_key": KEY}}


def call(method: str, path: str = "", body: object = None, role: Role = Role.ADMIN) -> tuple[int, Any]:
    data = {"data": json.dumps(body), "content_type": "application/json"} if body is not None else {}
    answer = Client().generic(method, f"/api/v1/channels{path}", headers=bearer_of(role), **data)  # type: ignore[arg-type]
    return answer.status_code, answer.json() if answer.content else None


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR])
def test_channels_are_for_administrators(role: Role) -> None:
    made = channel()

    calls = [("GET", ""), ("GET", f"/{made.pk}"), ("DELETE", f"/{made.pk}"), ("GET", f"/{made.pk}/attempts")]
    assert {call(method, path, role=role)[0] for method, path in calls} == {403}
    assert call("POST", "", NEW, role)[0] == 403
    assert call("POST", f"/{made.pk}/test", {}, role)[0] == 403


def test_it_adds_and_shows_a_channel_without_its_secret() -> None:
    status, made = call("POST", "", NEW)

    assert status == 201
    assert (made["name"], made["kind"]) == ("on-call", "pagerduty")
    assert made["settings"] == {"routing_key": "(set)", "webhook_secret": "", "changes": []}
    assert call("GET", f"/{made['id']}") == (200, made)
    assert call("GET")[1] == {"channels": [made]}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"kind": "pigeon"}, "kind"),
        ({"settings": {"routing_key": "short"}}, "routing_key"),
        ({"settings": {}}, "routing_key"),
        ({"settings": {"routing_key": KEY, "more": "x"}}, "more"),
        ({"name": ""}, "name"),
        ({"name": "taken"}, "name"),
        ({"name": "a\0b"}, None),
        ({"settings": {"routing_key": 5}}, None),
        ({"unknown": 1}, "unknown"),
    ],
)
def test_it_says_which_field_is_wrong(change: dict[str, Any], field: str | None) -> None:
    channel("taken")

    status, said = call("POST", "", {**NEW, **change})

    assert status == 400
    assert said["error"]
    assert field is None or said["field"].endswith(field)


def test_a_channel_has_a_language() -> None:
    _status, made = call("POST", "", {**NEW, "language": "ja"})

    assert made["language"] == "ja"
    assert call("PATCH", f"/{made['id']}", {"name": "renamed"})[1]["language"] == "ja"
    assert call("PATCH", f"/{made['id']}", {"language": "en"})[1]["language"] == "en"
    assert call("PATCH", f"/{made['id']}", {"language": "xx"})[0] == 400


@pytest.mark.parametrize("number", [0, -1, 999_999, 2**63])
def test_a_channel_that_is_not_there(number: int) -> None:
    assert call("GET", f"/{number}")[0] == 404
    assert call("POST", "", {**NEW, "fallback": 999_999})[0] == 404


def test_it_changes_what_is_given_and_keeps_the_rest() -> None:
    second = channel("second")
    made = channel("hook", "webhook", url="https://a.example.org", format="shardwatch", secret="s" * 20)

    status, changed = call(
        "PATCH", f"/{made.pk}", {"settings": {"url": "https://b.example.org"}, "fallback": second.pk}
    )

    assert status == 200
    assert changed["settings"]["url"] == "https://b.example.org"
    assert (changed["settings"]["secret"], changed["fallback"], changed["name"]) == ("(set)", second.pk, "hook")


def test_recipients_are_kept_through_a_change() -> None:
    _status, made = call("POST", "", {"name": "m", "kind": "email", "settings": {"to": "a@example.org, b@example.org"}})

    _status, changed = call("PATCH", f"/{made['id']}", {"name": "mail"})

    assert changed["settings"] == {"to": ["a@example.org", "b@example.org"]}


def test_null_takes_the_fall_back_away() -> None:
    made = channel("first", fallback=channel("second"))

    assert call("PATCH", f"/{made.pk}", {"fallback": None})[1]["fallback"] is None


def test_it_sends_a_test_and_lists_the_attempts(pagerduty: Service) -> None:  # noqa: F811
    made = channel()

    status, said = call("POST", f"/{made.pk}/test", {})
    sender.drain()

    assert status == 202
    assert Incident.objects.get(pk=said["incident"]).is_test
    attempts = call("GET", f"/{made.pk}/attempts")[1]["attempts"]
    assert [(attempt["kind"], attempt["result"]) for attempt in attempts] == [
        ("resolve", "accepted"),
        ("trigger", "accepted"),
    ]


def test_it_tells_what_waits() -> None:
    made = channel()
    opened(made)

    shown = call("GET", f"/{made.pk}")[1]

    assert shown["waiting"] == 1
    assert shown["oldest_waiting_at"]


def test_it_removes_a_channel() -> None:
    made = channel()

    assert call("DELETE", f"/{made.pk}") == (204, None)
    assert not Channel.objects.exists()
    assert AuditEntry.objects.filter(action="channel.delete").exists()


def test_attempts_are_limited() -> None:
    made = channel()

    assert call("GET", f"/{made.pk}/attempts?limit=0")[0] == 400
    assert call("GET", f"/{made.pk}/attempts?limit=1000") == (200, {"attempts": []})
