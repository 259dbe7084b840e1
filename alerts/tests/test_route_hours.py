"""Who is told when the hours of routes begin and end while something fires."""

from datetime import timedelta

import pytest

from alerts import telling
from alerts.models import Channel, Delivery, Incident
from alerts.route import Route
from alerts.tests.cast import channel
from alerts.tests.judged import Fleet, fleet, rule

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)


@pytest.fixture
def watched(db: None) -> Fleet:
    rule()
    Route.objects.create(name="root")
    return fleet()


def staffed(watched: Fleet, begins: int, ends: int, to: Channel) -> Route:
    """Add a branch for every day, from and to so many minutes after the fleet's first poll."""
    first = watched.at + timedelta(seconds=watched.every)
    hours = {"starts": (first + begins * MINUTE).time(), "ends": (first + ends * MINUTE).time()}
    root = Route.objects.get(parent=None)
    made = Route.objects.create(parent=root, name="desk", matchers=["cache=*"], weekdays=list(range(7)), **hours)
    made.channels.add(to)
    return made


def told() -> list[tuple[str, str]]:
    return list(Delivery.objects.order_by("pk").values_list("channel__name", "kind"))


def test_what_nobody_was_there_for_is_told_when_the_hours_begin(watched: Fleet) -> None:
    staffed(watched, 10, 60, channel("desk"))
    watched.poll(0.95)

    telling.sweep(watched.at + 9 * MINUTE)
    assert told() == []

    telling.sweep(watched.at + 10 * MINUTE)
    telling.sweep(watched.at + 11 * MINUTE)
    assert told() == [("desk", "trigger")]


def test_what_others_were_told_waits_for_its_repetition(watched: Fleet) -> None:
    staffed(watched, 10, 60, channel("desk"))
    Route.objects.get(parent=None).channels.add(channel("night"))
    watched.poll(0.95)

    telling.sweep(watched.at + 10 * MINUTE)

    assert told() == [("night", "trigger")]


def test_the_end_goes_to_those_who_heard_of_it_at_any_hour(watched: Fleet) -> None:
    made = staffed(watched, -10, 1, channel("desk"))
    watched.poll(0.95)
    Route.objects.filter(pk=made.pk).update(ends=(watched.at - MINUTE).time())

    watched.poll(0.5)

    assert told() == [("desk", "trigger"), ("desk", "resolve")]


def test_what_ended_before_the_hours_began_is_told_to_nobody(watched: Fleet) -> None:
    staffed(watched, 10, 60, channel("desk"))
    watched.poll(0.95)
    watched.poll(0.5)

    telling.sweep(watched.at + 15 * MINUTE)

    assert (told(), Incident.objects.open().count()) == ([], 0)
