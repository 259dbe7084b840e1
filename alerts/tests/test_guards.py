"""What is told, and what is not, of caches whose switch is off; and of switches that were forgotten."""

from datetime import timedelta

import pytest
from django.utils import timezone

from alerts import incident_acts, tasks, telling
from alerts.alert import Alert
from alerts.decision import Decision
from alerts.decision_words import sentence
from alerts.models import Delivery, Incident, Reason
from alerts.tests.guarded import canary, guarded
from alerts.tests.guarded import pager as pager
from alerts.tests.guarded import watched as watched
from alerts.tests.judged import Fleet
from switches import changing
from switches.models import Switch
from switches.tests.cast import WHY, operator, switch

pytestmark = pytest.mark.django_db


def test_alerts_of_a_cache_that_is_switched_off_are_written_down_and_told_to_nobody(watched: Fleet) -> None:
    changing.turn_off(switch(cache_now=watched.cache), operator(), WHY)

    watched.poll(0.95, 0.5)

    alert = Alert.objects.get()
    assert (alert.state, alert.reason, alert.told_at) == ("firing", Reason.SWITCHED_OFF, None)
    assert not Delivery.objects.exists()
    decision = Decision.objects.get()
    assert decision.what == Decision.What.SWITCHED_OFF
    assert "the switch user-cache keeps applications off" in sentence(decision)


def test_they_are_told_once_the_switch_is_on_again(watched: Fleet) -> None:
    made = changing.turn_off(switch(cache_now=watched.cache), operator(), WHY)
    watched.poll(0.95, 0.5)
    changing.turn_on(made, operator(), WHY, None)

    telling.sweep(timezone.now())

    assert Delivery.objects.filter(kind="trigger").count() == 1


def test_a_canary_is_in_service(watched: Fleet) -> None:
    canary(watched)

    watched.poll(0.95, 0.5)

    assert Alert.objects.get().reason == Reason.THRESHOLD
    assert Delivery.objects.filter(kind="trigger").count() == 1


def test_what_people_knew_before_is_still_told_to_be_over(watched: Fleet) -> None:
    watched.poll(0.95, 0.5)
    changing.turn_off(switch(cache_now=watched.cache), operator(), WHY)
    Alert.objects.update(critical_clock=[], warning_clock=[])
    watched.poll(0.5, 0.5)

    assert list(Delivery.objects.order_by("pk").values_list("kind", flat=True)) == ["trigger", "resolve"]


def test_a_switch_that_was_forgotten_is_told_of_once() -> None:
    changing.turn_off(switch(), operator(), WHY)
    Switch.objects.update(stepped_at=timezone.now() - timedelta(days=8))

    guarded()
    guarded()

    told = Incident.objects.get()
    assert "off for a week" in told.title
    incident_acts.close(operator("bob"), told, timezone.now())
    guarded()
    assert Incident.objects.count() == 1


def test_what_was_forgotten_is_over_once_people_turn_it_on() -> None:
    made = changing.turn_off(switch(), operator(), WHY)
    Switch.objects.update(stepped_at=timezone.now() - timedelta(days=8))
    guarded()

    changing.turn_on(made, operator(), WHY, None)
    guarded()
    assert not Incident.objects.open().exists()


def test_the_task_looks_at_everything(watched: Fleet) -> None:
    canary(watched, age=61)

    tasks.watch_switches()

    assert Switch.objects.get().percent == 50
