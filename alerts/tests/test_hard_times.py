"""Hard times for alerting: nobody polled for long, and very much at once. Nothing is lost, and nobody is flooded."""

import orjson
import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from alerts import outbox, telling
from alerts.alert import Alert
from alerts.channels import pagerduty as pagerduty_channel
from alerts.models import Channel, Delivery, Incident
from alerts.route import Route
from alerts.tests.cast import channel
from alerts.tests.judged import Fleet, fleet, rule

pytestmark = pytest.mark.django_db
TEN_MINUTES, HOUR, MANY = 600, 3_600, 300


@pytest.fixture
def pager() -> Channel:
    made = channel()
    Route.objects.create(name="root").channels.add(made)
    return made


def pause(watched: Fleet, seconds: int) -> None:
    """Let time pass in which beat stands still and nobody polls."""
    watched.tick += seconds


def early() -> Fleet:
    """Return a fleet whose polls begin early enough for a pause to end before now."""
    watched = fleet()
    watched.tick -= TEN_MINUTES // 2
    return watched


def kinds() -> list[str]:
    return list(Delivery.objects.order_by("sequence").values_list("kind", flat=True))


def test_what_fired_before_a_pause_goes_on_without_a_second_page(pager: Channel, settings: Settings) -> None:
    settings.ALERT_SKEW_SECONDS = 3_600
    rule()
    watched = early()
    watched.poll(0.95)

    pause(watched, TEN_MINUTES // 2)
    watched.poll(0.95)

    assert kinds() == ["trigger"]
    assert Incident.objects.open().count() == 1


def test_what_ended_in_a_pause_is_told_at_its_first_poll(pager: Channel, settings: Settings) -> None:
    settings.ALERT_SKEW_SECONDS = 3_600
    rule()
    watched = early()
    watched.poll(0.95)

    pause(watched, TEN_MINUTES // 2)
    watched.poll(0.5)

    assert kinds() == ["trigger", "resolve"]


def test_what_waits_does_not_fire_by_the_length_of_a_pause(pager: Channel, settings: Settings) -> None:
    settings.ALERT_SKEW_SECONDS = 3_600
    rule("down", metric="down", warning=None, critical=0)
    watched = early()
    watched.poll(0.5)

    pause(watched, TEN_MINUTES // 2)
    watched.judge()

    assert not Alert.objects.exists()


@pytest.mark.parametrize("hours", [1, -1], ids=["forward", "back"])
def test_a_clock_that_is_off_by_an_hour_pages_of_nothing_and_ends_nothing(pager: Channel, hours: int) -> None:
    rule()
    watched = fleet(shards=2)
    watched.poll(0.95, 0.5)

    watched.tick += hours * HOUR
    for _poll in range(3):
        watched.poll(0.5, 0.95)
        telling.sweep(timezone.now())
    assert kinds() == ["trigger"]

    watched.tick -= hours * HOUR
    watched.poll(0.95, 0.5)
    assert kinds() == ["trigger"]

    watched.poll(0.5, 0.5)
    assert kinds() == ["trigger", "resolve"]


def test_three_hundred_alerts_of_one_group_are_one_message_within_the_limits(pager: Channel) -> None:
    rule()
    watched = fleet(shards=MANY)

    watched.poll(*[0.95] * MANY)

    assert Alert.objects.firing().count() == MANY
    (message,) = Delivery.objects.all()
    assert f"({MANY} alerts)" in message.payload["title"]
    assert len(message.payload["facts"]) < 30
    (claim,) = outbox.claim()
    body = pagerduty_channel.event("x" * 32, claim.sending())
    assert len(body["payload"]["summary"]) <= 1_024
    assert len(orjson.dumps(body)) < 50_000
