"""A node that went down, as people see it: on the pages, in the story of its incident, by the API."""

import pytest

from accounts.models import Role
from accounts.tests.cast import client_of
from alerts.tests.test_unreachable import gone
from collectors.causes import Cause
from dashboard.tests.alert_cast import incident, told
from dashboard.tests.api import call

pytestmark = pytest.mark.django_db
REFUSED = "unreachable: connection refused"


def page(path: str) -> str:
    return client_of(Role.VIEWER).get(path).content.decode()


def test_its_incident_says_that_it_does_not_answer_and_why() -> None:
    told()
    gone(Cause.REFUSED)

    seen = page(incident().get_absolute_url())

    assert f">{REFUSED}</td>" in seen
    assert f'<span class="soft">{REFUSED}</span>' in seen
    assert "<dd>its condition came true</dd>" in seen
    assert ">threshold<" not in seen


def test_when_it_is_back_the_story_keeps_the_cause_and_tells_none_of_the_end() -> None:
    told()
    watched = gone(Cause.REFUSED)
    watched.poll(0.5)

    seen = page(incident().get_absolute_url())

    assert seen.count(f'<span class="soft">{REFUSED}</span>') == 1
    assert "127.0.0.1:7010: resolved" in seen


@pytest.mark.parametrize("path", ["/alerts/", "/alerts/?q=down"])
def test_the_list_of_alerts_says_it_too(path: str) -> None:
    gone(Cause.REFUSED)

    assert REFUSED in page(path)


def test_the_api_says_it_in_words() -> None:
    gone(Cause.REFUSED)

    (row,) = call(Role.VIEWER, "get", "/alerts").json()["alerts"]

    assert (row["in_words"], row["reason"]) == (REFUSED, "threshold")
