"""Rules that have leave to turn a switch off: when they do, that people hear of it, and that nothing turns it on."""

from datetime import timedelta

import pytest
from django.utils import timezone

from alerts.models import Channel, Delivery, Incident, Reason
from alerts.tests.guarded import guarded
from alerts.tests.guarded import pager as pager
from alerts.tests.guarded import watched as watched
from alerts.tests.judged import Fleet
from switches import allowing, changing
from switches.models import AutoOff, Switch
from switches.tests.cast import WHY, operator, switch

pytestmark = pytest.mark.django_db


def leave(watched: Fleet, *rules: str, **given: int) -> Switch:
    made = switch(cache_now=watched.cache)
    allowing.allow(made, operator(), rules or ("memory",), **{"cooldown_seconds": 3_600, "limit_per_day": 2} | given)
    Switch.objects.update(stepped_at=watched.at - timedelta(hours=1))
    return made


def test_a_critical_rule_turns_a_switch_off_and_pages(watched: Fleet, pager: Channel) -> None:
    leave(watched)
    watched.poll(0.95, 0.5)

    assert guarded() == 0

    last, page = Switch.objects.get().changes.first(), Incident.objects.get(reason=Reason.SWITCHED_OFF)
    assert last
    assert (last.by, "Memory" in last.reason) == ("auto-off", True)
    assert (page.severity, page.cache) == ("critical", watched.cache)
    assert Delivery.objects.filter(incident=page, channel=pager, kind="trigger").count() == 1


def test_the_page_is_worded_for_every_reader(watched: Fleet, pager: Channel) -> None:
    leave(watched)
    watched.poll(0.95, 0.5)
    guarded()

    page = Incident.objects.get(reason=Reason.SWITCHED_OFF)

    assert page.title.endswith("was turned off by a rule: “Memory” is critical")
    assert "ルールがオフにしました" in page.titles["ja"]
    assert "is critical" not in page.titles["ja"]


@pytest.mark.parametrize("memory", [0.5, 0.85])
def test_less_than_critical_does_not(watched: Fleet, memory: float) -> None:
    leave(watched)
    watched.poll(memory, 0.5)

    assert guarded() == 100


def test_another_rule_does_not(watched: Fleet) -> None:
    leave(watched, "other")
    watched.poll(0.95, 0.5)

    assert guarded() == 100


def test_without_leave_nothing_is_turned_off(watched: Fleet) -> None:
    switch(cache_now=watched.cache)
    watched.poll(0.95, 0.5)

    assert guarded() == 100
    assert not AutoOff.objects.exists()


def test_nothing_turns_it_on_again(watched: Fleet) -> None:
    leave(watched)
    watched.poll(0.95, 0.5)
    guarded()
    watched.poll(0.5, 0.5)

    assert [guarded(), guarded()] == [0, 0]


def test_what_fired_when_people_turned_it_on_does_not_turn_it_off(watched: Fleet) -> None:
    made = leave(watched)
    watched.poll(0.95, 0.5)
    Switch.objects.filter(pk=made.pk).update(stepped_at=timezone.now())

    assert guarded() == 100


def test_it_cools_down(watched: Fleet) -> None:
    made = leave(watched, cooldown_seconds=3_600)
    watched.poll(0.95, 0.5)
    guarded()
    changing.turn_on(made, operator(), WHY, None)
    Switch.objects.update(stepped_at=watched.at - timedelta(hours=1))

    assert guarded() == 100


def test_the_page_ends_when_people_turn_it_on(watched: Fleet) -> None:
    made = leave(watched)
    watched.poll(0.95, 0.5)
    guarded()

    changing.turn_on(made, operator(), WHY, None)
    Switch.objects.update(stepped_at=timezone.now() + timedelta(seconds=1))
    guarded()

    page = Incident.objects.get(reason=Reason.SWITCHED_OFF)
    assert (page.is_open, page.end_reason) == (False, Reason.RECOVERED)
