from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from alerts import outbox, readiness, sender
from alerts.channel_health import backlogs
from alerts.models import Channel
from alerts.readiness import OutboxSigns
from alerts.tests.cast import channel, closed, later, opened
from alerts.tests.peers import Service
from dashboard.exposition import own
from dashboard.exposition.text import render


def test_late_messages_are_told() -> None:
    check = readiness.sender_check(OutboxSigns(90.0, 3, 0))

    assert (check.ok, check.sentence) == (False, "3 messages have been waiting for a sender, the oldest for 90 s.")


@pytest.mark.parametrize("seconds", [0, 1, 60])
def test_messages_that_leave_soon_are_no_trouble(seconds: float) -> None:
    assert readiness.sender_check(OutboxSigns(seconds, 1, 0)).ok


def signs() -> OutboxSigns:
    """Read them on the connection of the test, whose rows nobody else sees."""
    with connection.cursor() as cursor:
        cursor.execute(readiness.LATE, [60, 60])
        seconds, late = cursor.fetchone()
    return OutboxSigns(seconds, late, 0)


@pytest.mark.django_db
def test_a_message_that_nobody_takes_is_late() -> None:
    opened(channel())
    later(100)
    Channel.objects.update(served_at=timezone.now() - timedelta(seconds=100))

    found = signs()

    assert found.late == 1
    assert 99 < found.late_seconds < 130


@pytest.mark.django_db
@pytest.mark.parametrize("field", ["broken_at", "held_until"])
def test_what_may_not_leave_is_not_late(field: str) -> None:
    opened(channel())
    later(100)
    Channel.objects.update(
        served_at=timezone.now() - timedelta(seconds=100), **{field: timezone.now() + timedelta(seconds=50)}
    )

    assert signs().late == 0


@pytest.mark.django_db(transaction=True)
def test_readiness_asks_on_its_own_connection() -> None:
    assert [check.ok for check in readiness.checks()] == [True, True]


@pytest.mark.django_db
def test_metrics_name_each_channel(pagerduty: Service) -> None:
    opened(channel("first"), channel("second"))
    Channel.objects.filter(name="second").update(broken_at=timezone.now())
    sender.drain()

    said = render(own.families())

    assert 'shardwatch_outbox_messages{channel="first"} 0.0' in said
    assert 'shardwatch_outbox_messages{channel="second"} 1.0' in said
    assert 'shardwatch_channel_broken{channel="second",kind="pagerduty"} 1.0' in said
    assert 'shardwatch_delivery_attempts_total{channel="first",result="accepted"} 1.0' in said
    assert 'shardwatch_channel_proven_timestamp_seconds{channel="second"' not in said


@pytest.mark.django_db
def test_the_age_of_the_oldest_message_is_known() -> None:
    opened(channel())
    later(30)

    (backlog,) = backlogs()

    assert backlog.waiting == 1
    assert backlog.oldest_seconds is not None
    assert 30 <= backlog.oldest_seconds < 60


@pytest.mark.django_db
def test_what_waits_for_the_message_before_is_not_late() -> None:
    closed(opened(channel()))
    outbox.claim()
    later(10)

    (backlog,) = backlogs()

    assert (backlog.waiting, backlog.late_seconds) == (2, 0)


@pytest.mark.django_db
def test_a_message_that_nobody_took_is_late_in_the_metrics_too() -> None:
    opened(channel())
    later(30)

    (backlog,) = backlogs()

    assert 30 <= backlog.late_seconds < 60
