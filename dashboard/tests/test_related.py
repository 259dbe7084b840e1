"""What else is wrong where an incident is."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import Role
from accounts.tests.cast import client_of
from alerts.alert import Alert
from alerts.models import Incident, Reason
from alerts.tests.judged import Fleet, fleet, rule
from dashboard import related
from dashboard.related import Related
from fleet.models import Cache

pytestmark = pytest.mark.django_db
NONE = "No other incident of this cache is open"


@pytest.fixture
def watched() -> Fleet:
    """A fleet in which a rule on memory fires."""
    rule()
    made = fleet()
    made.poll(0.95)
    return made


def first() -> Incident:
    return Incident.objects.get(alerts__rule_key="memory")


def other(cache: Cache | None, minutes: float = 0, ended: bool = False, **fields: Any) -> Incident:
    """Open another incident so many minutes after the first one; one that ended did so a minute later."""
    at = first().opened_at + timedelta(minutes=minutes)
    usual: dict[str, Any] = {"subject": f"other {minutes} {ended}", "title": f"Other {minutes}", "severity": "warning"}
    usual |= {"reason": Reason.THRESHOLD, "opened_at": at, "cache": cache, "cache_name": cache.name if cache else ""}
    return Incident.objects.create(**usual | fields, closed_at=at + timedelta(minutes=1) if ended else None)


def found() -> Related:
    near = related.of(first(), list(first().alerts.all()))
    assert near
    return near


def page() -> str:
    return client_of(Role.VIEWER).get(first().get_absolute_url()).content.decode()


def test_it_shows_others_of_the_cache_with_link_state_and_level(watched: Fleet) -> None:
    made = other(watched.cache, title="Connections")

    seen = page()

    assert made.get_absolute_url() in seen
    assert "Connections" in seen
    assert "open · warning" in seen
    assert NONE not in seen


def test_where_there_is_none_it_says_so(watched: Fleet) -> None:
    assert NONE in page()


@pytest.mark.parametrize(
    ("minutes", "ended", "is_near"),
    [(-59, True, True), (59, True, True), (-61, True, False), (61, True, False), (-5000, False, True)],
)
def test_it_takes_what_is_open_and_what_began_within_an_hour(
    watched: Fleet, minutes: int, ended: bool, is_near: bool
) -> None:
    other(watched.cache, minutes, ended)

    assert bool(found().incidents) is is_near


def test_what_is_open_and_bad_comes_first(watched: Fleet) -> None:
    ended, is_open = other(watched.cache, 30, ended=True, severity="critical"), other(watched.cache, 10)
    worse = other(watched.cache, 5, severity="critical")

    assert found().incidents == [worse, is_open, ended]


def test_other_caches_and_tests_of_channels_are_left_out(watched: Fleet) -> None:
    other(fleet(name="shop").cache)
    other(watched.cache, 1, reason=Reason.TEST)
    other(None, 2)

    assert found().incidents == []


def test_one_of_several_caches_is_found_by_its_alerts(watched: Fleet) -> None:
    group = other(fleet(name="shop").cache)
    Alert.objects.create(
        rule_key="other",
        target="c1",
        cache=watched.cache,
        cache_name="game",
        incident=group,
        state=Alert.State.FIRING,
        began_at=watched.at,
        judged_at=watched.at,
    )

    assert found().incidents == [group]


def test_what_is_pending_may_come_next(watched: Fleet) -> None:
    rule("soon", warning=0.5, critical=None, **{"for": "10m"})
    watched.poll(0.95)

    assert [alert.rule_key for alert in found().pending] == ["soon"]
    assert "May come next" in page()


def test_an_incident_of_no_cache_has_none(watched: Fleet) -> None:
    assert related.of(other(None), []) is None


def test_a_great_many_are_cut_and_lead_to_the_history(watched: Fleet) -> None:
    for number in range(related.LIMIT + 1):
        other(watched.cache, number / 10)

    assert (len(found().incidents), found().has_more) == (related.LIMIT, True)
    assert "/alerts/history/?q=game" in page()


def test_it_asks_the_same_however_many_there_are(
    watched: Fleet, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    alerts = list(first().alerts.all())
    for count in (1, 5):
        for number in range(count):
            other(watched.cache, number + count * 10)
        incident = first()
        with django_assert_num_queries(2):
            near = related.of(incident, alerts)
        assert near
        assert len(near.incidents) >= count


def test_the_page_is_drawn_anew_when_another_begins(watched: Fleet) -> None:
    client, path = client_of(Role.VIEWER), first().get_absolute_url()
    version = client.get(path).context["version"]
    same = client.get(f"{path}?version={version}", headers={"HX-Request": "true"}).status_code
    other(watched.cache, opened_at=timezone.now())

    changed = client.get(f"{path}?version={version}", headers={"HX-Request": "true"}).status_code

    assert (same, changed) == (204, 200)
