"""Self-tests: a page on the road of real ones, over when its service accepted it, and told as lost when it is not."""

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from accounts.models import AuditEntry, Role
from accounts.tests.cast import client_of
from alerts import self_tests, sender, tasks
from alerts.models import Channel, Incident, Reason
from alerts.self_tests import PATIENCE, State
from alerts.tests.cast import channel, later, opened, states
from alerts.tests.peers import Service, says
from config.celery import CHORES

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)


def begin(*channels: Channel) -> Incident:
    return self_tests.begin(channels, timezone.now())[-1]


def state(one: Channel, after: timedelta = timedelta()) -> State:
    (found,) = [result for result in self_tests.results(timezone.now() + after) if result.channel == one]
    return found.state


def test_a_self_test_goes_to_its_channel_alone(pagerduty: Service) -> None:
    pager = channel()
    channel("other")

    begin(pager)
    sender.drain()

    assert [event.json["payload"]["severity"] for event in pagerduty.seen] == ["info"]
    assert "Self-test of the channel pager" in pagerduty.seen[0].json["payload"]["summary"]


def test_it_is_over_when_the_service_has_accepted_it(pagerduty: Service) -> None:
    incident = begin(channel())
    sender.drain()

    self_tests.follow(timezone.now())
    sender.drain()

    incident.refresh_from_db()
    assert (incident.is_open, incident.end_reason) == (False, Reason.SYNTHETIC)
    assert [event.json["event_action"] for event in pagerduty.seen] == ["trigger", "resolve"]


def test_it_is_not_over_before_that() -> None:
    incident = begin(channel())

    self_tests.follow(timezone.now())

    incident.refresh_from_db()
    assert incident.is_open


def test_results_tell_how_it_went(pagerduty: Service) -> None:
    pager, other = channel(), channel("other")
    assert state(pager) == State.NEVER
    begin(pager)
    assert state(pager) == State.UNDER_WAY
    sender.drain()
    self_tests.follow(timezone.now())
    assert (state(pager), state(other)) == (State.PASSED, State.NEVER)


def test_one_that_does_not_get_through_in_time_is_lost() -> None:
    pager = channel()
    begin(pager)

    assert state(pager, PATIENCE - MINUTE) == State.UNDER_WAY
    assert state(pager, PATIENCE) == State.LOST
    assert not self_tests.check(timezone.now() + PATIENCE).ok
    assert "pager" in self_tests.check(timezone.now() + PATIENCE).sentence


def test_a_broken_channel_loses_it(pagerduty: Service) -> None:
    pagerduty.script = says(400, "invalid key")
    pager = channel()
    begin(pager)

    sender.drain()
    self_tests.follow(timezone.now())

    assert state(pager, PATIENCE) == State.LOST


def test_a_fallback_that_was_told_is_no_proof(pagerduty: Service) -> None:
    pagerduty.script = says(400, "invalid key")
    pager = channel(fallback=channel("second"))
    incident = begin(pager)
    sender.drain()
    pagerduty.script = says(202, {"status": "success"})
    sender.drain()

    self_tests.follow(timezone.now())

    assert {kind for kind, _state in states(incident)} == {"trigger"}
    assert state(pager, PATIENCE) == State.LOST


def test_one_that_is_on_its_way_is_not_begun_again() -> None:
    pager = channel()

    first, second = begin(pager), begin(pager)

    assert first == second


def test_a_lost_one_makes_room_for_the_next(pagerduty: Service) -> None:
    pagerduty.script = says(400, "invalid key")
    pager = channel()
    first = begin(pager)
    sender.drain()

    second = begin(pager)

    first.refresh_from_db()
    assert (first.is_open, second.is_open) == (False, True)


def test_without_a_schedule_nothing_begins_by_itself() -> None:
    channel()

    self_tests.run(timezone.now())

    assert not Incident.objects.exists()


def test_the_schedule_begins_what_is_due(settings: Settings) -> None:
    settings.SELF_TEST_HOURS = 24
    channel()
    now = timezone.now()

    for at in (now, now + timedelta(hours=23)):
        self_tests.run(at)
    assert Incident.objects.count() == 1

    Incident.objects.update(closed_at=now)
    self_tests.run(now + timedelta(hours=24))
    assert Incident.objects.count() == 2


def test_beat_looks_after_them(pagerduty: Service) -> None:
    incident = begin(channel())
    sender.drain()

    tasks.self_tests()

    incident.refresh_from_db()
    assert not incident.is_open
    assert tasks.self_tests.name in {task for task, _, _ in CHORES}


def test_it_counts_as_no_incident_of_a_cache() -> None:
    begin(channel())

    assert not Incident.objects.real().exists()


def test_real_incidents_are_left_alone(pagerduty: Service) -> None:
    incident = opened(channel())
    sender.drain()
    later(3_600)

    self_tests.follow(timezone.now())

    incident.refresh_from_db()
    assert incident.is_open


def test_an_administrator_begins_them_by_hand() -> None:
    channel()

    answer = client_of(Role.ADMIN).post("/channels/self-test/", follow=True)

    assert "1 self-test is on its way." in answer.content.decode()
    assert "under way" in answer.content.decode()
    assert AuditEntry.objects.get().action == "channel.self-test"
