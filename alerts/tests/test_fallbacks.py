import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from alerts import fallbacks, incidents, outbox
from alerts.models import Channel, Delivery, Kind, Reason
from alerts.tests.cast import channel, closed, later, message, opened, states

pytestmark = pytest.mark.django_db


def broken(pager: Channel) -> Channel:
    Channel.objects.filter(pk=pager.pk).update(broken_at=timezone.now(), broken_cause="gone", broken_words="404")
    return pager


def test_a_new_message_for_a_broken_channel_goes_to_its_fall_back() -> None:
    second = channel("second")
    first = broken(channel("first", fallback=second))

    incident = opened(first)

    assert states(incident, second) == [("trigger", "")]
    assert states(incident, first) == [("trigger", "")]


def test_followers_reach_the_fall_back_too() -> None:
    second = channel("second")
    incident = opened(broken(channel("first", fallback=second)))

    closed(incident)

    assert states(incident, second) == [("trigger", ""), ("resolve", "")]


def test_what_waits_for_too_long_goes_to_the_fall_back(settings: Settings) -> None:
    second = channel("second")
    incident = opened(channel("first", fallback=second))

    assert fallbacks.tell() == 0
    later(settings.DELIVERY_FALLBACK_SECONDS + 1)

    assert fallbacks.tell() == 1
    assert states(incident, second) == [("trigger", "")]


def test_a_copy_is_made_once(settings: Settings) -> None:
    opened(channel("first", fallback=channel("second")))
    later(settings.DELIVERY_FALLBACK_SECONDS + 1)

    assert [fallbacks.tell(), fallbacks.tell()] == [1, 0]


def test_a_broken_fall_back_hands_on() -> None:
    third = channel("third")
    second = broken(channel("second", fallback=third))

    incident = opened(broken(channel("first", fallback=second)))

    assert states(incident, third) == [("trigger", "")]


def test_fall_backs_in_a_circle_end() -> None:
    first, second = broken(channel("first")), broken(channel("second"))
    Channel.objects.filter(pk=first.pk).update(fallback=second)
    Channel.objects.filter(pk=second.pk).update(fallback=first)

    incident = opened(first)

    assert Delivery.objects.filter(incident=incident).count() == 2


def test_tests_go_to_no_fall_back() -> None:
    first = broken(channel("first", fallback=channel("second")))

    incidents.open_incident("test", Reason.TEST, message(), [first])

    assert Delivery.objects.count() == 1


def test_two_channels_with_one_fall_back_make_one_copy() -> None:
    third = channel("third")
    first, second = broken(channel("first", fallback=third)), broken(channel("second", fallback=third))

    incident = opened(first, second)

    assert states(incident, third) == [("trigger", "")]


def test_without_a_fall_back_messages_wait_for_repair() -> None:
    pager = broken(channel())
    incident = opened(pager)
    outbox.enqueue(incident, Kind.ACKNOWLEDGE, message())

    Channel.objects.update(broken_at=None)

    assert [claim.delivery.sequence for claim in outbox.claim(8)] == [1]
