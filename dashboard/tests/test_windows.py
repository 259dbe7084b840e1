"""The page and the API of maintenance windows."""

from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Role
from accounts.tests.cast import client_of
from alerts import window_changes
from alerts.alert import Transition
from alerts.window import Window
from dashboard.tests.alert_cast import firing
from dashboard.tests.api import call

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert(1)</script>"


def last_day(days: int = 60) -> str:
    return f"{timezone.now() + timedelta(days=days):%Y-%m-%d}"


def form(**changes: Any) -> dict[str, Any]:
    usual = {"matchers": "cache=game-*", "comment": "backups", "weekdays": ["6"], "starts": "02:00", "ends": "04:00"}
    return {**usual, "zone": "Europe/Berlin", "until": last_day(), **changes}


def add(role: str = Role.OPERATOR, **changes: Any) -> tuple[int, str]:
    answer = client_of(role).post("/windows/add/", form(**changes))
    return answer.status_code, answer.content.decode()


def page(path: str = "/windows/", role: str = Role.VIEWER, **given: Any) -> str:
    answer = client_of(role).get(path, given)
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def test_without_one_it_says_how_to_make_one() -> None:
    assert "There is no window." in page()


def test_an_operator_adds_and_removes_one() -> None:
    assert add()[0] == 302
    made = Window.objects.get()
    seen = page()

    assert (made.weekdays, made.zone, made.author) == ([6], "Europe/Berlin", "operator")
    assert "Sunday 02:00–04:00 Europe/Berlin" in seen
    assert "to come" in seen or "in force" in seen

    assert client_of(Role.OPERATOR).post(f"/windows/{made.pk}/delete/").status_code == 302
    assert not Window.objects.exists()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"zone": HOSTILE}, "There is no such time zone"),
        ({"weekdays": []}, "This field is required"),
        ({"starts": "25:00"}, "Enter a valid time"),
        ({"until": "9999-12-31"}, "two years at most"),
        ({"matchers": "nonsense"}, "cannot be read"),
        ({"comment": ""}, "This field is required"),
    ],
)
def test_what_cannot_be_kept_is_said_at_the_form(changes: dict[str, Any], said: str) -> None:
    status, seen = add(**changes)

    assert (status, said in seen, HOSTILE in seen) == (400, True, False)
    assert not Window.objects.exists()


def test_it_shows_the_next_ten_times_while_one_types() -> None:
    given = {name: value for name, value in form(until=last_day(365)).items() if name != "comment"}

    seen = page("/windows/preview/", **given)

    assert seen.count("<li>") == 10


# A Sunday on which clocks in Berlin go forward at two, and the one before; in UTC.
@pytest.mark.parametrize(
    ("began", "is_counted"),
    [
        ((22, 0, 59), False),
        ((22, 1, 0), True),
        ((22, 2, 59), True),
        ((22, 3, 0), False),
        ((25, 1, 30), False),
        ((29, 0, 59), False),
        ((29, 1, 0), True),
        ((29, 2, 59), True),
        ((29, 3, 0), False),
    ],
    ids=str,
)
def test_it_counts_what_began_in_its_hours_of_the_last_week(began: tuple[int, int, int], is_counted: bool) -> None:
    now = datetime(2026, 3, 29, 12, 0, tzinfo=UTC)
    at = datetime(2026, 3, *began, tzinfo=UTC)
    firing()
    Transition.objects.update(at=at)
    hours = {"weekdays": [6], "starts": time(2), "ends": time(4), "zone": "Europe/Berlin"}
    made = Window(matchers=["cache=game"], until=now + timedelta(days=9), **hours)

    found = window_changes.would_hide(made, now if at.day > 22 else now - timedelta(days=7) + timedelta(hours=1))

    assert found == {"count": 1, "lately": int(is_counted)}


def test_the_preview_says_what_it_would_hide() -> None:
    firing()
    everyday = {"weekdays": [str(day) for day in range(7)], "starts": "00:00", "ends": "00:00"}

    seen = page("/windows/preview/", **form(matchers="cache=game", **everyday))

    assert "1 alert that is active now fits." in seen
    assert "1 alert that fits began to fire" in seen


@pytest.mark.parametrize(
    ("changes", "said"), [({"starts": ""}, "Fill in the form"), ({"zone": "Mars"}, "no such time zone")]
)
def test_the_preview_of_half_a_form_says_what_is_missing(changes: dict[str, Any], said: str) -> None:
    assert said in page("/windows/preview/", **form(**changes))


def test_viewers_see_windows_and_change_none() -> None:
    add()

    assert "New maintenance window" not in page()
    assert add(Role.VIEWER)[0] == 403


def body(**changes: Any) -> dict[str, Any]:
    usual = {"matchers": ["cache=game-*"], "weekdays": [6], "starts": "02:00", "ends": "04:00", "zone": "Europe/Berlin"}
    return {**usual, "until": last_day(), "comment": "backups", **changes}


def test_the_api_adds_lists_and_removes() -> None:
    made = call(Role.OPERATOR, "post", "/windows", body())
    assert (made.status_code, len(made.json()["coming"]) in {8, 9}) == (201, True)

    (row,) = call(Role.VIEWER, "get", "/windows").json()["windows"]
    assert (row["starts"], row["zone"], row["comment"]) == ("02:00", "Europe/Berlin", "backups")

    assert call(Role.OPERATOR, "delete", f"/windows/{row['id']}").status_code == 204
    assert call(Role.OPERATOR, "delete", f"/windows/{row['id']}").status_code == 404


def test_the_api_previews_without_keeping() -> None:
    given = {name: value for name, value in body().items() if name != "comment"}

    answer = call(Role.VIEWER, "post", "/windows/preview", given)

    assert (answer.status_code, len(answer.json()["coming"]) in {8, 9}, Window.objects.count()) == (200, True, 0)
    assert (answer.json()["count"], answer.json()["lately"]) == (0, 0)


@pytest.mark.parametrize(
    "changes", [{"starts": "24:00"}, {"weekdays": [7]}, {"zone": "Mars"}, {"until": "9999-12-31"}, {"matchers": []}]
)
def test_the_api_refuses_what_makes_no_sense(changes: dict[str, Any]) -> None:
    assert call(Role.OPERATOR, "post", "/windows", body(**changes)).status_code == 400
