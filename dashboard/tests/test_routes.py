"""Pages of routes: the tree, its forms, and the test of a way."""

from datetime import date, time, timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import AuditEntry, Role
from accounts.tests.cast import client_of
from alerts.models import Channel, Route
from alerts.route import Tree
from alerts.tests.cast import channel
from dashboard.tests.api import call

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert(1)</script>"
GIVEN: dict[str, Any] = {
    "name": "game team",
    "matchers": "cache=game-*",
    "group_by": "cache, rule",
    "interval_seconds": "2m",
    "repeat_seconds": "1h",
    "position": "0",
}


@pytest.fixture
def root(db: None) -> Route:
    Tree.load()
    return Route.objects.get()


def add(parent: Route, role: str = Role.ADMIN, **changes: Any) -> int:
    return client_of(role).post(f"/routes/{parent.pk}/new/", GIVEN | changes).status_code


def page(path: str = "/routes/", role: str = Role.ADMIN) -> str:
    answer = client_of(role).get(path)
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def test_it_shows_the_first_route_from_the_beginning() -> None:
    seen = page()

    assert "root" in seen
    assert "everything" in seen
    assert "nobody is told" in seen


def test_an_administrator_adds_a_branch(root: Route) -> None:
    pager = channel()

    assert add(root, channels=[str(pager.pk)]) == 302

    made = Route.objects.get(parent=root)
    assert (made.name, made.matchers, made.group_by) == ("game team", ["cache=game-*"], ["cache", "rule"])
    assert (made.interval_seconds, made.repeat_seconds, list(made.channels.all())) == (120, 3600, [pager])
    assert AuditEntry.objects.get(action="route.add").target == "game team"


def test_an_administrator_changes_it(root: Route) -> None:
    add(root)
    made = Route.objects.get(parent=root)

    answer = client_of(Role.ADMIN).post(f"/routes/{made.pk}/edit/", GIVEN | {"name": "others", "goes_on": "on"})

    made.refresh_from_db()
    assert (answer.status_code, made.name, made.goes_on) == (302, "others", True)
    assert 'value="1h"' in page(f"/routes/{made.pk}/edit/")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": ""}, "required"),
        ({"matchers": ""}, "Give one matcher"),
        ({"matchers": "cache"}, "cannot be read"),
        ({"repeat_seconds": "soon"}, "such as 90s"),
        ({"repeat_seconds": "0"}, "between a minute"),
        ({"repeat_seconds": "31d"}, "at most 30 days"),
        ({"wait_seconds": "11m"}, "at most 10 minutes"),
        ({"position": "-1"}, "greater than or equal"),
        ({"channels": ["999"]}, "valid choice"),
        ({"group_by": ",".join("abcdefghijk")}, "at most 10"),
        ({"group_by": "x" * 64}, "at most 10"),
    ],
)
def test_it_refuses_what_cannot_be_kept(root: Route, changes: dict[str, Any], words: str) -> None:
    answer = client_of(Role.ADMIN).post(f"/routes/{root.pk}/new/", GIVEN | changes)

    assert answer.status_code == 400
    assert words in answer.content.decode()
    assert Route.objects.count() == 1


def test_the_first_route_takes_everything_and_stays(root: Route) -> None:
    client = client_of(Role.ADMIN)

    narrowed = client.post(f"/routes/{root.pk}/edit/", GIVEN)
    client.post(f"/routes/{root.pk}/delete/")

    assert narrowed.status_code == 400
    assert Route.objects.filter(parent=None).exists()


def test_the_first_route_is_asked_nothing_about_others_beside_it(root: Route) -> None:
    add(root)
    made = Route.objects.get(parent=root)
    among = {'name="position"', 'name="goes_on"'}

    assert not any(mark in page(f"/routes/{root.pk}/edit/") for mark in among)
    assert all(mark in page(f"/routes/{made.pk}/edit/") for mark in among)


def test_the_first_route_is_saved_by_what_its_form_asks(root: Route) -> None:
    asked = {name: GIVEN[name] for name in ("name", "group_by", "interval_seconds", "repeat_seconds")}

    answer = client_of(Role.ADMIN).post(f"/routes/{root.pk}/edit/", asked | {"name": "all"})

    root.refresh_from_db()
    assert (answer.status_code, root.name, root.position, root.goes_on) == (302, "all", 0, False)


def test_a_branch_goes_with_all_below_it(root: Route) -> None:
    add(root)
    middle = Route.objects.get(parent=root)
    add(middle, name="below")

    client_of(Role.ADMIN).post(f"/routes/{middle.pk}/delete/")

    assert list(Route.objects.all()) == [root]


def test_the_tree_does_not_grow_without_end(root: Route) -> None:
    parent = root
    for _level in range(7):
        assert add(parent) == 302
        parent = Route.objects.get(parent=parent)

    assert add(parent) == 400


@pytest.mark.parametrize(
    ("labels", "way", "told"),
    [
        ("cache=game-1", "root → game team", "pager"),
        ("cache=shop", "root", "none: nobody would be told"),
        ("", "root", "none: nobody would be told"),
    ],
)
def test_the_test_shows_the_way_of_a_sample(root: Route, labels: str, way: str, told: str) -> None:
    add(root, channels=[str(channel().pk)])

    seen = page(f"/routes/test/?labels={labels}", Role.VIEWER)

    assert f"<dd>{way}</dd>" in seen
    assert told in seen


def test_a_route_without_an_interval_tells_news_at_once(root: Route) -> None:
    assert "news once in 1 min, again after" in page()

    Route.objects.update(interval_seconds=0)

    assert "news at once, again after" in page()


def test_the_test_says_what_makes_one_incident(root: Route) -> None:
    seen = page("/routes/test/?labels=cache=game%0Arule=node-down")
    Route.objects.update(group_by=["team"])
    teamless = page("/routes/test/?labels=cache=game")

    assert "one for all alerts of this route with the same:" in seen
    assert '<span class="tag mono">rule=node-down</span> <span class="tag mono">cache=game</span>' in seen
    assert f"{root.pk}:rule=" not in seen
    assert '<span class="tag mono">team=none</span>' in teamless


@pytest.mark.parametrize("labels", ["nonsense", "=x", HOSTILE])
def test_the_test_says_what_cannot_be_read(labels: str) -> None:
    seen = page(f"/routes/test/?labels={labels}")

    assert HOSTILE not in seen
    assert "errorlist" in seen or "<dd>root</dd>" in seen


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR])
def test_only_administrators_change_routes(root: Route, role: str) -> None:
    assert add(root, role) == 403
    assert client_of(role).post(f"/routes/{root.pk}/delete/").status_code == 403
    assert "Add a branch" not in page(role=role)


def test_it_shows_hostile_names_as_text(root: Route) -> None:
    add(root, name=HOSTILE)

    assert HOSTILE not in page()


@pytest.mark.parametrize("count", [1, 12])
def test_it_asks_the_database_the_same_however_many_there_are(
    root: Route, count: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _number in range(count):
        add(root)
    assert Channel.objects.count() == 0
    client = client_of(Role.ADMIN)

    with django_assert_max_num_queries(8):
        client.get("/routes/")


def add_step(route: Route, role: str = Role.ADMIN, **given: Any) -> int:
    return client_of(role).post(f"/routes/{route.pk}/steps/add/", given).status_code


def test_an_administrator_adds_and_removes_a_step(root: Route) -> None:
    pager = channel("second pager")

    assert add_step(root, after_seconds="10m", step_channels=[pager.pk]) == 302
    step = root.steps.get()
    assert (step.after_seconds, list(step.channels.all())) == (600, [pager])

    assert client_of(Role.ADMIN).post(f"/routes/{root.pk}/steps/{step.pk}/delete/").status_code == 302
    assert not root.steps.exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"after_seconds": "10m"}, "This field is required"),
        ({"after_seconds": "5s", "step_channels": ["1"]}, "between a minute and 7 days"),
        ({"after_seconds": "soon", "step_channels": ["1"]}, "such as 90s, 5m or 1h"),
    ],
)
def test_a_step_that_cannot_be_kept_is_said_to_be_so(root: Route, given: dict[str, Any], said: str) -> None:
    pager = channel("second pager")
    given = given | ({"step_channels": [pager.pk]} if "step_channels" in given else {})

    answer = client_of(Role.ADMIN).post(f"/routes/{root.pk}/steps/add/", given)

    assert (answer.status_code, said in answer.content.decode()) == (400, True)
    assert not root.steps.exists()


def test_the_page_of_a_route_shows_its_steps(root: Route) -> None:
    assert "There is no step: nobody else is told" in page(f"/routes/{root.pk}/edit/")

    add_step(root, after_seconds="10m", step_channels=[channel("second pager").pk])

    seen = page(f"/routes/{root.pk}/edit/")
    assert "After 10 min:" in seen
    assert "unacknowledged after 10 min: second pager" in page()


def test_a_branch_shows_the_steps_that_it_takes_over(root: Route) -> None:
    add_step(root, after_seconds="10m", step_channels=[channel("second pager").pk])
    add(root)

    seen = page(f"/routes/{Route.objects.get(parent=root).pk}/edit/")

    assert "These steps are those of the route above." in seen
    assert "/steps/" not in seen.replace("/steps/add/", "")


def test_only_administrators_change_steps(root: Route) -> None:
    assert add_step(root, Role.OPERATOR, after_seconds="10m", step_channels=[channel().pk]) == 403


def test_the_api_shows_steps(root: Route) -> None:
    add_step(root, after_seconds="10m", step_channels=[channel("second pager").pk])

    (found,) = client_of().get("/api/v1/routes").json()["routes"]

    assert found["steps"] == [{"after_seconds": 600, "channels": ["second pager"]}]


OFFICE: dict[str, Any] = {"weekdays": ["0", "1"], "starts": "09:00", "ends": "18:00", "zone": "Europe/Berlin"}


def test_a_branch_may_have_hours(root: Route) -> None:
    assert add(root, **OFFICE) == 302

    made = Route.objects.get(parent=root)
    assert (made.weekdays, made.starts, made.zone) == ([0, 1], time(9), "Europe/Berlin")
    assert "only Monday, Tuesday 09:00–18:00 Europe/Berlin" in page()
    assert 'value="09:00"' in page(f"/routes/{made.pk}/edit/")


def test_its_hours_may_be_taken_away(root: Route) -> None:
    add(root, **OFFICE)
    made = Route.objects.get(parent=root)

    client_of(Role.ADMIN).post(f"/routes/{made.pk}/edit/", GIVEN | {"zone": "Europe/Berlin"})

    assert Route.objects.get(pk=made.pk).weekdays == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"starts": ""}, "Give the hours of these days"),
        ({"weekdays": []}, "Choose the days of these hours"),
        ({"weekdays": ["7"]}, "valid choice"),
        ({"starts": "25:00"}, "valid time"),
        ({"zone": "Mars/Base"}, "no such time zone"),
        ({"zone": ""}, "no such time zone"),
    ],
)
def test_hours_that_cannot_be_kept_are_said_at_the_form(root: Route, changes: dict[str, Any], words: str) -> None:
    answer = client_of(Role.ADMIN).post(f"/routes/{root.pk}/new/", GIVEN | OFFICE | changes)

    assert (answer.status_code, words in answer.content.decode()) == (400, True)


def test_the_first_route_has_no_hours(root: Route) -> None:
    answer = client_of(Role.ADMIN).post(f"/routes/{root.pk}/edit/", GIVEN | OFFICE | {"matchers": ""})

    assert answer.status_code == 400
    assert "Only on" not in page(f"/routes/{root.pk}/edit/")


def preview(path: str, **changes: Any) -> str:
    answer = client_of(Role.VIEWER).get(path, GIVEN | {"name": ""} | changes)
    assert answer.status_code == 200
    return answer.content.decode()


def test_a_route_may_wait_for_company(root: Route) -> None:
    assert add(root, wait_seconds="30s") == 302

    made = Route.objects.get(parent=root)
    assert made.wait_seconds == 30
    assert 'value="30s"' in page(f"/routes/{made.pk}/edit/")
    assert "waits 30 s for others" in page(
        f"/routes/{made.pk}/edit/preview/?matchers=a=b&repeat_seconds=1h&wait_seconds=30s"
    )


def test_it_says_what_a_route_does_while_one_types(root: Route) -> None:
    pager = channel()

    seen = preview(f"/routes/{root.pk}/new/preview/", channels=[pager.pk], goes_on="on", **OFFICE)

    assert "Takes alerts with cache=game-*, only Monday, Tuesday 09:00–18:00 Europe/Berlin." in seen
    assert "At other times the routes after it are looked at" in seen
    assert f"Tells {pager.name}." in seen
    assert seen.count("<li>") == 2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "at any time. Tells those of the route above."),
        ({"matchers": "cache"}, "cannot be read"),
        ({"zone": "Mars", "weekdays": ["1"], "starts": "01:00", "ends": "02:00"}, "no such time zone"),
        ({"repeat_seconds": "soon"}, "such as 90s"),
        ({"matchers": f"cache={HOSTILE}"}, "&lt;script&gt;"),
    ],
)
def test_it_says_what_is_wrong_while_one_types(root: Route, changes: dict[str, Any], words: str) -> None:
    seen = preview(f"/routes/{root.pk}/new/preview/", **changes)

    assert words in seen
    assert HOSTILE not in seen


def test_the_first_route_is_described_too(root: Route) -> None:
    seen = preview(f"/routes/{root.pk}/edit/preview/", matchers="")

    assert "Takes every alert. Tells nobody: choose channels." in seen


@pytest.mark.parametrize(("kinds", "is_warned"), [(["apprise"], True), (["apprise", "slack"], False)], ids=str)
def test_it_says_that_a_route_wakes_nobody(root: Route, kinds: list[str], is_warned: bool) -> None:
    chosen = [str(channel(kind, kind, url="x").pk) for kind in kinds]

    seen = preview(f"/routes/{root.pk}/edit/preview/", matchers="", channels=chosen)

    assert f"Tells {', '.join(kinds)}." in seen
    assert ("That wakes nobody" in seen) is is_warned


def a_monday() -> date:
    today = timezone.now().date()
    return today - timedelta(days=today.weekday())


def test_the_test_says_who_would_be_told_within_a_week(root: Route) -> None:
    root.channels.add(channel("night"))
    add(root, channels=[str(channel("desk").pk)], **OFFICE)

    seen = page(f"/routes/test/?labels=cache=game-1&at={a_monday()}T12:00")

    assert "<dd>desk</dd>" in seen
    assert seen.count("<li>") == 5


@pytest.mark.parametrize("at", ["soon", "9999-12-31T12:00", "0001-01-01T00:00"])
def test_a_time_that_makes_no_sense_is_said_to_be_so(root: Route, at: str) -> None:
    assert "errorlist" in page(f"/routes/test/?labels=cache=game-1&at={at}")


def test_the_api_shows_hours_and_who_would_be_told(root: Route) -> None:
    add(root, channels=[str(channel("desk").pk)], **OFFICE)

    rows = call(Role.VIEWER, "get", "/routes").json()["routes"]
    sample = {"labels": {"cache": "game-1"}, "at": f"{a_monday()}T12:00:00Z"}
    way = call(Role.VIEWER, "post", "/routes/test", sample).json()

    assert [row["hours"] for row in rows] == [
        None,
        {"weekdays": [0, 1], "starts": "09:00", "ends": "18:00", "zone": "Europe/Berlin"},
    ]
    assert (way["path"], way["channels"]) == (["root", "game team"], ["desk"])
    assert [spell["channels"] for spell in way["week"]] == [["desk"], [], ["desk"], [], ["desk"]]


@pytest.mark.parametrize("at", ["soon", "9999-12-31T00:00:00Z"])
def test_the_api_refuses_a_time_that_makes_no_sense(root: Route, at: str) -> None:
    assert call(Role.VIEWER, "post", "/routes/test", {"labels": {"cache": "game-1"}, "at": at}).status_code == 400
