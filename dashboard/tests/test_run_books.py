"""Pages and API of run books: led through, taken back, resumed, and written down."""

from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Role
from accounts.tests.cast import bearer_of, client_of
from alerts.tests.judged import rule
from dashboard.preflight_words import row
from dashboard.tests.alert_cast import firing
from dashboard.tests.api import ROOT
from dashboard.tests.test_switches import HOSTILE, off, page, post, stored
from fleet.models import Cache
from switches import run_book_steps
from switches.models import AutoOff, RunBook, Switch
from switches.preflight import Check
from switches.tests.cast import cache, switch

pytestmark = pytest.mark.django_db
Step = RunBook.Step
PATH = "/switches/user-cache/run-book/"
GIVEN: dict[str, Any] = {"target": "new", "reason": "upgrade", "percents": "10 100", "bake_seconds": "1m"}
REACHED = {"sentence": "The server answers.", "seconds": 0.2, "step": "layout"}
FOUND: dict[str, Any] = {"check": "reach", "verdict": "ok", "data": REACHED}
FIGURES: dict[str, dict[str, Any]] = {
    Check.REACH: REACHED,
    Check.POLLED: {"answering": 1, "nodes": 2},
    Check.ROLE: {"primaries": 1, "replicas": 2},
    Check.VERSION: {"version": "7.2", "now": "8.0"},
    Check.MEMORY: {"limit": 1024, "needed": 2048},
    Check.POLICY: {"policy": "noeviction", "now": "allkeys-lru"},
    Check.CONNECTIONS: {"limit": 100, "used": 10, "needed": 90},
    Check.LATENCY: {"seconds": 0.004, "now": 0.001},
    Check.WARMTH: {"keys": 5, "hit_ratio": 0.5},
}


@pytest.fixture(autouse=True)
def target(db: None) -> Cache:
    return cache("new", "redis://127.0.0.1:1")


def begun(**changes: str) -> RunBook:
    if not Switch.objects.exists():
        switch(cache_now=cache("old"))
    assert post("run-book/begin/", **GIVEN | changes).status_code == 302
    return book()


def book() -> RunBook:
    return RunBook.objects.select_related("switch", "target").latest("pk")


def looked(**found: Any) -> None:
    RunBook.objects.update(findings=[FOUND | found], checked_at=timezone.now())


def go(what: str, role: str = Role.OPERATOR, at: str = "") -> str:
    """Press a button of the page; return the step that the run book is at then."""
    now = book()
    seen = at or f"{now.step}-{now.position}-{now.revision}"
    assert post(f"run-book/{now.pk}/{what}/", role, at=seen).status_code == 302
    return book().step


def test_it_begins_with_a_look_at_the_target() -> None:
    made = begun()

    seen = page(PATH)
    assert (made.step, made.percents, made.bake_seconds) == (Step.CHECK, [10, 100], 60)
    assert "Look at the target" in seen
    assert "begun by operator" in seen
    assert "Turn the switch off" not in seen


@pytest.mark.parametrize("percents", ["10 100", "10, 100", "10,100", "10% 100%"])
def test_percentages_are_read_as_people_write_them(percents: str) -> None:
    assert begun(percents=percents).percents == [10, 100]


def test_a_rule_that_fires_for_several_nodes_is_named_once() -> None:
    firing(0.95, 0.95, shards=2, name="fires")
    switch(cache_now=cache("old"))

    assert post("run-book/begin/", **GIVEN | {"target": "fires"}).status_code == 302

    assert page("/switches/user-cache/run-book/").count("An alert of the target fires already: memory.") == 1


def test_a_target_that_is_out_of_reach_stops_it() -> None:
    begun()

    assert go("check") == Step.CHECK

    seen = page(PATH)
    assert "Nothing listens on this port" in seen
    assert "It has not been polled lately" in seen
    assert "Turn the switch off" not in seen
    assert go("off") == Step.CHECK
    assert stored().can_use


def test_it_is_led_through_to_the_canary() -> None:
    begun()
    looked()

    steps = [go(what) for what in ("off", "repoint", "confirm", "advance", "advance")]

    assert steps == [Step.DRAIN, Step.DEPLOY, Step.CANARY, Step.CANARY, Step.DONE]
    assert (stored().percent, stored().cache_now) == (100, Cache.objects.get(name="new"))


@pytest.mark.parametrize(
    ("acts", "words"),
    [
        ((), "It took 200 ms"),
        (("off",), "Re-point without the proof"),
        (("off", "repoint"), "Deploy the configuration"),
        (("off", "repoint", "confirm"), "It goes on to 100 %"),
        (("off", "repoint", "confirm", "advance"), "Everybody is let in"),
    ],
)
def test_each_step_says_what_to_do(acts: tuple[str, ...], words: str) -> None:
    begun()
    looked()
    for what in acts:
        go(what)

    seen = page(PATH)

    assert words in seen
    assert 'aria-current="step"' in seen
    assert "Leave this run book" in seen


def test_while_it_drains_it_says_what_is_waited_for() -> None:
    begun()
    looked()
    go("off")

    seen = page(PATH)

    assert "Commands of applications" in seen
    assert "up to 5/s at three polls in a row count as silence" in seen
    assert "Connections of applications" in seen


def test_each_step_is_taken_back() -> None:
    begun()
    looked()
    for what in ("off", "repoint", "confirm", "advance"):
        go(what)

    steps = [(go("undo"), stored().percent) for _time in range(4)]

    assert steps == [(Step.CANARY, 10), (Step.DEPLOY, 0), (Step.DRAIN, 0), (Step.CHECK, 100)]


def test_a_click_on_an_older_page_does_nothing() -> None:
    begun()
    looked()
    before = f"{Step.CHECK}-0-1"
    go("off")

    client = client_of(Role.OPERATOR)
    answer = client.post(f"{PATH}{book().pk}/undo/", {"at": before}, follow=True)

    assert book().step == Step.DRAIN
    assert "has moved on since you opened the page" in answer.content.decode()


def test_it_resumes_for_anybody_anywhere() -> None:
    begun()
    looked()
    go("off")

    assert "Re-point" in page(PATH, Role.ADMIN)
    assert go("repoint", Role.ADMIN) == Step.DEPLOY


def test_a_roll_back_says_why_and_can_be_tried_again() -> None:
    begun()
    looked()
    for what in ("off", "repoint", "confirm"):
        go(what)
    run_book_steps.roll_back(book(), "the alert “Node down” fires")

    seen = page(PATH)

    assert "rolled back by itself: the alert “Node down” fires" in seen
    assert go("confirm") == Step.CANARY


def test_it_leaves_a_record() -> None:
    begun()
    go("stop")

    seen = page(PATH, Role.VIEWER)
    past = page(f"{PATH}{book().pk}/", Role.VIEWER)

    assert "Earlier run books" in seen
    assert all(words in past for words in ("begun", "operator", "upgrade", "left"))


def test_what_was_let_in_stands_in_the_record() -> None:
    begun()
    looked()
    for what in ("off", "repoint", "confirm"):
        go(what)

    assert "10 % let in" in page(PATH)


def test_a_switch_that_is_off_is_led_back_into_use() -> None:
    off(cache_now=cache("old"))
    begun(target="")

    assert "Confirm that the applications may use the cache again" in page(PATH)
    assert go("confirm") == Step.CANARY


def test_two_people_are_needed_where_the_switch_asks_for_them() -> None:
    off(cache_now=cache("old"), needs_two_people=True)
    begun(target="")

    assert "somebody else than operator must confirm" in page(PATH)
    assert go("confirm") == Step.DEPLOY
    assert go("confirm", Role.ADMIN) == Step.CANARY


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"reason": ""}, "required"),
        ({"percents": "all"}, "with blanks between"),
        ({"percents": "10 50"}, "the last of them 100"),
        ({"percents": "0 100"}, "from 1 to 100"),
        ({"bake_seconds": "1s"}, "from 10 seconds to a day"),
        ({"bake_seconds": "soon"}, "such as 90s"),
        ({"target": "old"}, "already"),
        ({"target": "nothing"}, "valid choice"),
        ({"target": ""}, "name the cache"),
    ],
)
def test_the_form_says_what_is_wrong(changes: dict[str, str], words: str) -> None:
    switch(cache_now=cache("old"))

    answer = post("run-book/begin/", **GIVEN | changes)

    assert answer.status_code == 400
    assert words in answer.content.decode()
    assert not RunBook.objects.exists()


def test_the_living_part_comes_alone_and_ends_with_the_run_book() -> None:
    begun()
    client, headers = client_of(Role.OPERATOR), {"HX-Request": "true"}
    first = client.get(PATH, headers=headers)

    same = client.get(f"{PATH}?version={first.context['version']}", headers=headers)
    go("stop")
    ended = client.get(PATH, headers=headers)

    assert b"<html" not in first.content
    assert (same.status_code, ended["HX-Refresh"]) == (204, "true")


@pytest.mark.parametrize("what", ["begin", "1/off"])
def test_a_viewer_takes_no_step(what: str) -> None:
    switch()

    assert post(f"run-book/{what}/", Role.VIEWER).status_code == 403


def test_an_act_that_there_is_not() -> None:
    assert post(f"run-book/{begun().pk}/explode/", at="x").status_code == 404


def test_what_people_say_is_text() -> None:
    begun(reason=HOSTILE, ticket=HOSTILE)

    assert HOSTILE not in page(PATH)
    assert HOSTILE not in page(f"{PATH}{book().pk}/")


@pytest.mark.parametrize("verdict", ["ok", "warning", "failed", "unknown"])
@pytest.mark.parametrize("check", Check.values)
def test_every_finding_is_a_sentence(check: str, verdict: str) -> None:
    told = row({"check": check, "verdict": verdict, "data": FIGURES[check]})

    assert told.sentence.endswith(".")
    assert "%(" not in told.sentence


def test_a_pipeline_confirms_by_the_api() -> None:
    begun()
    looked()
    for what in ("off", "repoint"):
        go(what)
    path, client = f"{ROOT}/control/switches/user-cache/run-book", client_of(Role.VIEWER)

    seen = client.get(path).json()
    done = client.post(f"{path}/confirm", headers=bearer_of(Role.OPERATOR))
    again = client.post(f"{path}/confirm", headers=bearer_of(Role.OPERATOR))

    assert (seen["step"], seen["target"]) == ("deploy", "new")
    assert (done.status_code, done.json()["step"]) == (200, "canary")
    assert again.status_code == 409


def test_without_a_run_book_the_api_says_404() -> None:
    switch()

    assert client_of().get(f"{ROOT}/control/switches/user-cache/run-book").status_code == 404


def test_leave_is_given_to_rules_and_taken_away() -> None:
    switch(cache_now=cache("old"))
    rule("node-down")

    assert post("auto-off/", rules="node-down", cooldown_seconds="1h", limit_per_day="2").status_code == 302
    assert "1 rule" in page()
    assert AutoOff.objects.get().rules == ["node-down"]
    post("auto-off/", cooldown_seconds="1h", limit_per_day="2")
    assert not AutoOff.objects.exists()


@pytest.mark.parametrize(
    "changes", [{"rules": "nothing"}, {"cooldown_seconds": "1s"}, {"limit_per_day": "0"}, {"cooldown_seconds": "soon"}]
)
def test_leave_that_makes_no_sense_is_refused(changes: dict[str, str]) -> None:
    switch(cache_now=cache("old"))
    rule("node-down")
    given = {"rules": "node-down", "cooldown_seconds": "1h", "limit_per_day": "2"}

    assert post("auto-off/", **given | changes).status_code == 400
    assert not AutoOff.objects.exists()
