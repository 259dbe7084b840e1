from typing import Any

import pytest

from accounts.models import Role
from alerts.tests.cast import states
from dashboard.tests.alert_cast import firing, incident, told
from dashboard.tests.api import call

pytestmark = pytest.mark.django_db


def alerts(query: str = "") -> list[dict[str, Any]]:
    answer = call(Role.VIEWER, "get", f"/alerts{query}")
    assert answer.status_code == 200, answer.content
    return list(answer.json()["alerts"])


def test_it_lists_alerts_with_value_bound_and_words() -> None:
    firing(0.95)

    (row,) = alerts()

    assert (row["rule"], row["state"], row["severity"], row["cache"]) == ("memory", "firing", "critical", "game")
    assert (row["value"], row["bound"], row["in_words"]) == (0.95, 0.9, "95% (bound 90%)")
    assert row["incident"] == incident().pk


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("", 1),
        ("?state=firing", 1),
        ("?state=resolved", 0),
        ("?severity=warning", 0),
        ("?q=game", 1),
        ("?label=cache=x", 0),
    ],
)
def test_it_lists_the_alerts_asked_for(query: str, count: int) -> None:
    firing(0.95)

    assert len(alerts(query)) == count


def test_it_gives_alerts_page_by_page() -> None:
    firing(0.95, 0.85, shards=2)

    answer = call(Role.VIEWER, "get", "/alerts?page=2&page_size=1").json()

    assert (answer["count"], [row["severity"] for row in answer["alerts"]]) == (2, ["warning"])


@pytest.mark.parametrize("query", ["?state=odd", "?severity=odd", "?page=0", "?page_size=501", "?page=x"])
@pytest.mark.parametrize("path", ["/alerts", "/incidents"])
def test_it_refuses_what_it_cannot_filter_by(path: str, query: str) -> None:
    assert call(Role.VIEWER, "get", path + query).status_code == 400


@pytest.mark.parametrize(("query", "count"), [("", 1), ("?state=open", 1), ("?state=closed", 0), ("?q=shop", 0)])
def test_it_lists_incidents(query: str, count: int) -> None:
    firing(0.95)

    answer = call(Role.VIEWER, "get", f"/incidents{query}")

    assert (answer.status_code, answer.json()["count"]) == (200, count)


def test_it_shows_an_incident_with_its_alerts_and_why_people_were_told() -> None:
    firing(0.95)

    answer = call(Role.VIEWER, "get", f"/incidents/{incident().pk}").json()

    assert [row["rule"] for row in answer["alerts"]] == ["memory"]
    assert [row["kind"] for row in answer["timeline"]] == ["alert", "decision"]
    assert answer["timeline"][1]["words"] == "Nobody was told: the route root has no channel."


def test_an_operator_acknowledges_once() -> None:
    told()
    firing(0.95)
    path = f"/incidents/{incident().pk}/acknowledge"

    first, again = call(Role.OPERATOR, "post", path), call(Role.ADMIN, "post", path)

    assert (first.status_code, again.status_code) == (200, 409)
    assert first.json()["acknowledged_by"] == "operator"
    assert [kind for kind, _state in states(incident())] == ["trigger", "acknowledge"]


def test_an_operator_closes_once() -> None:
    firing(0.95)
    path = f"/incidents/{incident().pk}/close"

    first, again = call(Role.OPERATOR, "post", path), call(Role.OPERATOR, "post", path)

    assert (first.status_code, again.status_code) == (200, 409)
    assert first.json()["end_reason"] == "by_person"


def test_it_keeps_notes() -> None:
    firing(0.95)
    path = f"/incidents/{incident().pk}/notes"

    answer = call(Role.OPERATOR, "post", path, {"text": "looked"})

    assert (answer.status_code, answer.json()["words"], answer.json()["author"]) == (201, "looked", "operator")
    assert call(Role.OPERATOR, "post", path, {"text": " "}).status_code == 400
    assert call(Role.OPERATOR, "post", path, {"text": "x", "by": "me"}).status_code == 400


@pytest.mark.parametrize("act", ["acknowledge", "close", "notes"])
def test_viewers_may_not(act: str) -> None:
    firing(0.95)

    answer = call(Role.VIEWER, "post", f"/incidents/{incident().pk}/{act}", {"text": "x"} if act == "notes" else None)

    assert answer.status_code == 403


@pytest.mark.parametrize("number", [0, 999_999, 2**70])
def test_what_is_not_there_is_not_found(number: int) -> None:
    assert call(Role.VIEWER, "get", f"/incidents/{number}").status_code == 404


@pytest.mark.parametrize("path", ["/alerts", "/incidents"])
def test_visitors_get_nothing(path: str) -> None:
    assert call("", "get", path).status_code == 401
