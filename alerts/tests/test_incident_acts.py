"""Handing incidents over, and letting them sleep."""

from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from accounts.models import AuditEntry, Role, User
from accounts.tests.cast import person
from alerts import incident_acts, telling
from alerts.decision import Decision
from alerts.models import Delivery, Incident
from alerts.remark import Remark
from alerts.route import Route, Step
from alerts.tests.cast import channel, opened
from alerts.tests.judged import Fleet, fleet, rule

pytestmark = pytest.mark.django_db
What = Decision.What
HOUR = timedelta(hours=1)


@pytest.fixture
def ann(db: None) -> User:
    return person(Role.OPERATOR, "ann")


@pytest.fixture
def told(db: None) -> Fleet:
    """An incident of a warning that was told."""
    Route.objects.create(name="root").channels.add(channel())
    rule()
    watched = fleet()
    watched.poll(0.85)
    return watched


def kinds() -> list[str]:
    rows = Delivery.objects.exclude(state=Delivery.State.SUPERSEDED).order_by("pk")
    return list(rows.values_list("kind", flat=True))


def incident() -> Incident:
    return Incident.objects.get()


def asleep(told: Fleet, by: User, length: timedelta = HOUR) -> None:
    assert incident_acts.snooze(by, incident(), told.at + length, told.at)


def test_whoever_is_given_it_stands_in_it_and_all_hear_of_it(told: Fleet, ann: User) -> None:
    person(Role.ADMIN, "bea")

    assert incident_acts.assign(ann, incident(), "bea", told.at)

    assert (incident().assigned_to, kinds()) == ("bea", ["trigger", "update"])
    assert "bea is to look after it." in Delivery.objects.latest("pk").payload["text"]
    assert (Remark.objects.get().text, AuditEntry.objects.get().action) == ("bea", "incident.assigned")


def test_to_assign_it_acknowledges_nothing(told: Fleet, ann: User) -> None:
    incident_acts.assign(ann, incident(), "ann", told.at)

    assert incident().acknowledged_at is None


def test_it_is_given_to_the_same_person_once(told: Fleet, ann: User) -> None:
    assert [incident_acts.assign(ann, incident(), "ann", told.at) for _ in range(2)] == [True, False]
    assert kinds() == ["trigger", "update"]


@pytest.mark.parametrize("name", ["", "nobody", "eve", "gone"])
def test_only_those_who_may_act_are_given_it(told: Fleet, ann: User, name: str) -> None:
    person(Role.VIEWER, "eve")
    person(Role.OPERATOR, "gone")
    User.objects.filter(username="gone").update(is_active=False)

    with pytest.raises(ValidationError, match="operator"):
        incident_acts.assign(ann, incident(), name, told.at)


def test_what_is_over_is_given_to_nobody(told: Fleet, ann: User) -> None:
    told.poll(0.5)

    assert not incident_acts.assign(ann, incident(), "ann", told.at)


def test_what_sleeps_counts_as_acknowledged(told: Fleet, ann: User) -> None:
    asleep(told, ann)

    assert (incident().acknowledged_by, incident().snoozed_until, kinds()) == (
        "ann",
        told.at + HOUR,
        ["trigger", "acknowledge"],
    )


def test_nothing_is_told_while_it_sleeps(told: Fleet, ann: User) -> None:
    asleep(told, ann, 6 * HOUR)

    for hours in (1, 2, 5):
        telling.sweep(told.at + hours * HOUR)

    assert kinds() == ["trigger", "acknowledge"]


def test_it_is_told_again_when_it_wakes(told: Fleet, ann: User) -> None:
    asleep(told, ann)

    telling.sweep(told.at + HOUR - timedelta(seconds=1))
    assert len(kinds()) == 2

    telling.sweep(told.at + HOUR)
    assert kinds() == ["trigger", "acknowledge", "trigger"]
    assert (incident().acknowledged_at, incident().acknowledged_by, incident().snoozed_until) == (None, "", None)
    assert Decision.objects.filter(what=What.WOKEN).count() == 1


def test_it_wakes_once(told: Fleet, ann: User) -> None:
    asleep(told, ann)

    for minutes in (60, 61, 90):
        telling.sweep(told.at + timedelta(minutes=minutes))

    assert kinds().count("trigger") == 2


def test_what_gets_worse_is_told_in_its_sleep(told: Fleet, ann: User) -> None:
    asleep(told, ann)

    told.poll(0.95)

    assert kinds() == ["trigger", "acknowledge", "update"]


def test_other_news_wait_until_it_wakes(told: Fleet, ann: User) -> None:
    asleep(told, ann, timedelta(minutes=5))
    rule("spare")
    telling.sweep(told.at + timedelta(minutes=2))
    Incident.objects.filter(pk=incident().pk).update(told_at=told.at - HOUR)
    Incident.objects.update(news_at=told.at)

    telling.sweep(told.at + timedelta(minutes=3))

    assert "update" not in kinds()


def test_its_end_is_told_in_its_sleep(told: Fleet, ann: User) -> None:
    asleep(told, ann)
    told.poll(0.5)

    telling.sweep(told.at + 2 * HOUR)

    assert kinds() == ["trigger", "acknowledge", "resolve"]


def test_steps_begin_anew_when_it_wakes(told: Fleet, ann: User) -> None:
    step = Step.objects.create(route=Route.objects.get(), after_seconds=600)
    step.channels.add(channel("second"))
    telling.sweep(told.at + timedelta(minutes=10))
    assert incident().steps_taken == 1
    asleep(told, ann)

    telling.sweep(told.at + HOUR)
    assert incident().steps_taken == 0

    telling.sweep(told.at + HOUR + timedelta(minutes=10))
    assert incident().steps_taken == 1


@pytest.mark.parametrize("length", [timedelta(minutes=4), timedelta(days=8), -HOUR])
def test_a_sleep_that_makes_no_sense_is_refused(told: Fleet, ann: User, length: timedelta) -> None:
    with pytest.raises(ValidationError, match="5 minutes to 7 days"):
        incident_acts.snooze(ann, incident(), told.at + length, told.at)


def test_what_stands_for_others_does_not_sleep(ann: User) -> None:
    at = timezone.now()

    with pytest.raises(ValidationError, match="alerts of rules"):
        incident_acts.snooze(ann, opened(channel()), at + HOUR, at)


def test_what_is_over_does_not_sleep(told: Fleet, ann: User) -> None:
    told.poll(0.5)

    assert not incident_acts.snooze(ann, incident(), told.at + HOUR, told.at)
