"""Forgetting what is long over, and nothing else."""

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from alerts import retention, tasks
from alerts.alert import Alert, Transition
from alerts.decision import Decision
from alerts.models import Attempt, Channel, Delivery, Incident
from alerts.remark import Remark
from alerts.route import Route
from alerts.silence import Silence
from alerts.tests.cast import channel, closed, opened
from alerts.tests.judged import Fleet, fleet, rule

pytestmark = pytest.mark.django_db
NOW = timezone.now()


@pytest.fixture
def pager(db: None) -> Channel:
    made = channel()
    Route.objects.create(name="root").channels.add(made)
    return made


def over(days: float, pager: Channel, subject: str = "node-1 down") -> Incident:
    """Return an incident that was told, ended and settled so many days ago, with one of everything."""
    incident = closed(opened(pager, subject=subject))
    at = NOW - timedelta(days=days)
    Incident.objects.filter(pk=incident.pk).update(opened_at=at, closed_at=at)
    incident.deliveries.update(state=Delivery.State.ACCEPTED)
    for delivery in incident.deliveries.all():
        Attempt.objects.create(delivery=delivery, channel=pager, number=1, at=at, result="accepted")
    Decision.objects.create(incident=incident, at=at, what=Decision.What.TOLD)
    Remark.objects.create(incident=incident, at=at, author="ann", what=Remark.What.NOTE, text="x")
    return incident


def counts() -> dict[str, int]:
    return {model.__name__: model.objects.count() for model in (Incident, Delivery, Attempt, Decision, Remark)}


def test_what_is_long_over_goes_with_all_that_was_written_about_it(pager: Channel) -> None:
    over(731, pager)

    assert retention.forget_old(NOW) == 7
    assert set(counts().values()) == {0}


def test_messages_go_sooner_than_their_incident(pager: Channel) -> None:
    over(91, pager)

    retention.forget_old(NOW)

    assert counts() == {"Incident": 1, "Delivery": 0, "Attempt": 0, "Decision": 1, "Remark": 1}


def test_what_ended_lately_stays(pager: Channel) -> None:
    over(89, pager)

    assert retention.forget_old(NOW) == 0


def test_messages_do_not_outlive_their_incident(pager: Channel, settings: Settings) -> None:
    settings.RETENTION_MESSAGES_DAYS, settings.RETENTION_ALERTS_DAYS = 900, 100
    over(101, pager)

    retention.forget_old(NOW)

    assert set(counts().values()) == {0}


def test_what_is_open_stays_however_old(pager: Channel) -> None:
    incident = over(5_000, pager)
    Incident.objects.update(closed_at=None)
    before = counts()

    assert retention.forget_old(NOW) == 0
    assert (counts(), Incident.objects.get()) == (before, incident)


def test_what_is_still_on_its_way_stays(pager: Channel) -> None:
    incident = over(5_000, pager)
    incident.deliveries.filter(kind="resolve").update(state=Delivery.State.WAITING)

    retention.forget_old(NOW)

    assert [row.kind for row in Delivery.objects.all()] == ["resolve"]
    assert Incident.objects.exists()


def test_it_goes_on_where_it_stopped(pager: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "CHUNK", 2)
    monkeypatch.setattr(retention, "CHUNKS", 1)
    for number in range(3):
        over(731, pager, f"node-{number} down")

    left = [retention.forget_old(NOW) and Incident.objects.count() for _ in range(5)]

    assert (left[0], Incident.objects.count()) == (2, 0)


@pytest.fixture
def watched(pager: Channel) -> Fleet:
    rule()
    return fleet()


def test_alerts_that_are_over_go_with_their_transitions(watched: Fleet) -> None:
    watched.poll(0.95)
    watched.poll(0.5)
    Alert.objects.update(resolved_at=NOW - timedelta(days=731))
    Transition.objects.update(at=NOW - timedelta(days=731))

    retention.forget_old(NOW)

    assert (Alert.objects.count(), Transition.objects.count()) == (0, 0)


def test_an_alert_that_fires_keeps_its_whole_story(watched: Fleet) -> None:
    watched.poll(0.95)
    Alert.objects.update(began_at=NOW - timedelta(days=5_000))
    Transition.objects.update(at=NOW - timedelta(days=5_000))

    assert retention.forget_old(NOW) == 0


def test_an_alert_that_goes_leaves_its_incident_readable(watched: Fleet) -> None:
    watched.poll(0.95)
    watched.poll(0.5)
    Alert.objects.update(resolved_at=NOW - timedelta(days=731))

    retention.forget_old(NOW)

    assert Incident.objects.get().decisions.filter(alert=None).count() == Decision.objects.count()


@pytest.mark.parametrize(("days", "left"), [(731, 0), (10, 1), (-10, 1)])
def test_silences_go_long_after_their_end(days: int, left: int) -> None:
    ended = NOW - timedelta(days=days)
    Silence.objects.create(matchers=["cache=x"], author="ann", comment="x", starts_at=ended, ends_at=ended)

    retention.forget_old(NOW)

    assert Silence.objects.count() == left


def test_the_task_forgets(pager: Channel) -> None:
    over(731, pager)

    tasks.forget_old()

    assert not Incident.objects.exists()
