"""Run books and auto-off in the API: every step that the pages have."""

from typing import Any
from urllib.parse import urlencode

import pytest
from django.utils import timezone

from accounts.models import AuditEntry, Role
from alerts.tests.judged import rule
from dashboard.tests.api import call
from fleet.models import Cache
from switches import changing
from switches.models import AutoOff, RunBook, Switch
from switches.tests.cast import WHY, cache, operator, switch

pytestmark = pytest.mark.django_db
ONE = "/control/switches/user-cache"
BOOK = f"{ONE}/run-book"
GIVEN: dict[str, Any] = {"target": "new", "reason": "upgrade", "percents": [10, 100], "bake_seconds": 60}
LEAVE: dict[str, Any] = {"rules": ["node-down"], "cooldown_seconds": 600, "limit_per_day": 3}


@pytest.fixture(autouse=True)
def target(db: None) -> Cache:
    switch(cache_now=cache("old"))
    return cache("new", "redis://127.0.0.1:1")


def begin(role: str = Role.OPERATOR, **changes: Any) -> Any:
    return call(role, "post", BOOK, GIVEN | changes)


def go(act: str, **seen: Any) -> tuple[int, Any]:
    """Take a step; return the status, and the step that the run book is at then or why it was refused."""
    answer = call(Role.OPERATOR, "post", f"{BOOK}/{act}?{urlencode(seen)}")
    said = answer.json()
    return answer.status_code, said.get("step") or said["error"]


def looked() -> None:
    """Let the look at the target have found nothing: it was made, and nothing stops it."""
    RunBook.objects.update(findings=[], checked_at=timezone.now())


def test_it_begins_with_the_look_at_the_target() -> None:
    made = begin()

    assert made.status_code == 201
    assert (made.json()["step"], made.json()["target"], made.json()["percents"]) == ("check", "new", [10, 100])
    assert [entry["what"] for entry in made.json()["record"]] == ["begun"]


def test_it_leads_all_the_way_and_leaves_a_record() -> None:
    begin()
    looked()

    steps = [go(act) for act in ("off", "repoint", "confirm", "advance", "advance")]

    assert steps == [(200, step) for step in ("drain", "deploy", "canary", "canary", "done")]
    assert RunBook.objects.get().switch.cache_now == Cache.objects.get(name="new")
    assert call(Role.VIEWER, "get", BOOK).status_code == 404


def test_it_says_what_the_look_found() -> None:
    begin()

    assert go("check") == (200, "check")

    (reach, *_others) = call(Role.VIEWER, "get", BOOK).json()["findings"]
    assert (reach["check"], reach["verdict"]) == ("reach", "failed")
    assert reach["sentence"].endswith(".")
    assert go("off") == (400, "The target cannot be used as it is: see what failed, mend it, and look again.")


def test_each_step_can_be_taken_back() -> None:
    begin()
    looked()
    for act in ("off", "repoint"):
        go(act)

    assert [go("undo"), go("undo")] == [(200, "drain"), (200, "check")]
    assert go("undo")[0] == 400
    assert go("stop") == (200, "stopped")


def test_a_step_asked_for_elsewhere_does_nothing() -> None:
    seen = begin().json()["at"]
    looked()
    go("off", at=seen)

    status, words = go("off", at=seen)

    assert (status, words) == (409, "The run book is no longer at this step. Look at it again.")
    assert RunBook.objects.get().step == "drain"


def test_a_step_out_of_turn_is_a_conflict() -> None:
    begin()

    assert go("advance")[0] == 409


def test_there_is_one_at_a_time() -> None:
    begin()

    assert begin().status_code == 409


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"target": "none"}, "target"),
        ({"target": "old"}, "target"),
        ({"target": None}, "target"),
        ({"percents": []}, "percents"),
        ({"percents": [10]}, "percents"),
        ({"percents": [50, 10, 100]}, "percents"),
        ({"bake_seconds": 1}, "bake_seconds"),
        ({"reason": ""}, "reason"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_what_makes_no_sense_is_refused(changes: dict[str, Any], field: str) -> None:
    answer = begin(**changes)

    assert (answer.status_code, field in answer.json()["field"]) == (400, True)
    assert not RunBook.objects.exists()


def test_a_switch_that_is_off_may_be_led_back_into_use() -> None:
    changing.turn_off(Switch.objects.get(), operator(), WHY)

    assert begin(target=None).json()["step"] == "deploy"


@pytest.mark.parametrize("path", [BOOK, f"{BOOK}/off"])
def test_a_viewer_takes_no_step(path: str) -> None:
    assert call(Role.VIEWER, "post", path, {}).status_code == 403


def test_a_step_that_there_is_not() -> None:
    begin()

    assert call(Role.OPERATOR, "post", f"{BOOK}/explode").status_code == 400


def test_leave_is_given_to_rules_and_taken_away() -> None:
    rule("node-down")

    given = call(Role.OPERATOR, "put", f"{ONE}/auto-off", LEAVE).json()
    seen = call(Role.VIEWER, "get", f"{ONE}/auto-off").json()
    taken = call(Role.OPERATOR, "put", f"{ONE}/auto-off", {"rules": []}).json()

    assert given == seen == LEAVE | {"rests_until": None}
    assert (taken["rules"], AutoOff.objects.count()) == ([], 0)
    assert AuditEntry.objects.filter(action="switch.auto-off").count() == 2


def test_it_says_until_when_auto_off_rests() -> None:
    rule("node-down")
    call(Role.OPERATOR, "put", f"{ONE}/auto-off", LEAVE)
    changing.turn_off(AutoOff.objects.get().switch, "auto-off", WHY)

    assert call(Role.VIEWER, "get", f"{ONE}/auto-off").json()["rests_until"] > timezone.now().isoformat()


@pytest.mark.parametrize(
    "changes", [{"rules": ["nothing"]}, {"cooldown_seconds": 1}, {"limit_per_day": 0}, {"rules": "node-down"}]
)
def test_leave_that_makes_no_sense_is_refused(changes: dict[str, Any]) -> None:
    rule("node-down")

    assert call(Role.OPERATOR, "put", f"{ONE}/auto-off", LEAVE | changes).status_code == 400
    assert not AutoOff.objects.exists()


def test_a_viewer_gives_no_leave() -> None:
    assert call(Role.VIEWER, "put", f"{ONE}/auto-off", LEAVE).status_code == 403
