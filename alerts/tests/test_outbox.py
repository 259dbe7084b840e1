from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from pytest_django import DjangoCaptureOnCommitCallbacks
from pytest_django.fixtures import Settings

from alerts import outbox
from alerts.message import Severity
from alerts.models import Attempt, Channel, Delivery, Incident, Kind
from alerts.outbox import Claim
from alerts.tests.cast import channel, closed, later, message, opened, results, states

pytestmark = pytest.mark.django_db


def taken(limit: int = 8) -> list[tuple[str, int]]:
    """Claim once; return kind and sequence of what was got."""
    return [(claim.delivery.kind, claim.delivery.sequence) for claim in outbox.claim(limit)]


def accepted(incident: Incident, sequence: int = 1) -> None:
    incident.deliveries.filter(sequence=sequence).update(state="accepted", lease_until=None)


def test_a_message_is_written_in_the_transaction_of_the_change() -> None:
    pager = channel()

    with transaction.atomic():
        opened(pager)
        transaction.set_rollback(True)

    assert (Incident.objects.count(), Delivery.objects.count()) == (0, 0)


def test_a_message_goes_to_every_channel_given() -> None:
    first, second = channel("a"), channel("b")

    incident = opened(first, second)

    assert set(incident.deliveries.values_list("channel__name", "sequence", "kind")) == {
        ("a", 1, "trigger"),
        ("b", 1, "trigger"),
    }


@pytest.mark.parametrize("kind", [Kind.ACKNOWLEDGE, Kind.UPDATE, Kind.RESOLVE])
def test_what_follows_reaches_whoever_was_told_before(kind: Kind) -> None:
    pager, stranger = channel("a"), channel("b")
    incident = opened(pager)

    outbox.enqueue(incident, kind, message())

    assert states(incident, pager) == [("trigger", ""), (kind, "")]
    assert states(incident, stranger) == []


def test_a_further_trigger_goes_only_where_it_is_sent() -> None:
    first, second = channel("a"), channel("b")
    incident = opened(first)

    outbox.enqueue(incident, Kind.TRIGGER, message(), [second])

    assert states(incident, first) == [("trigger", "")]
    assert states(incident, second) == [("trigger", "")]


def test_an_update_that_nobody_saw_is_overtaken() -> None:
    pager = channel()
    incident = opened(pager)

    outbox.enqueue(incident, Kind.UPDATE, message())
    outbox.enqueue(incident, Kind.UPDATE, message())
    closed(incident)

    assert states(incident) == [("trigger", ""), ("update", "superseded"), ("update", "superseded"), ("resolve", "")]


def test_a_trigger_is_never_overtaken() -> None:
    incident = closed(opened(channel()))

    assert states(incident) == [("trigger", ""), ("resolve", "")]


def test_it_claims_what_is_due_once() -> None:
    opened(channel())

    assert taken() == [("trigger", 1)]
    assert taken() == []


def test_a_claim_carries_the_message_as_it_was_built() -> None:
    incident = opened(channel(), title="It is down: 日本語 🚨 <b>")

    (claim,) = outbox.claim()

    sending = claim.sending()
    assert sending.message == message("It is down: 日本語 🚨 <b>")
    assert (sending.id, sending.incident_key) == (f"{incident.dedup_key}-1", incident.dedup_key)


def test_the_next_message_of_an_incident_waits_for_the_one_before() -> None:
    incident = closed(opened(channel()))
    assert taken() == [("trigger", 1)]
    assert taken() == []

    accepted(incident)

    assert taken() == [("resolve", 2)]


def test_other_channels_do_not_wait_for_a_slow_one() -> None:
    slow, quick = channel("slow"), channel("quick")
    incident = opened(slow, quick)
    outbox.claim()
    outbox.claim()
    incident.deliveries.filter(channel=quick).update(state="accepted")

    closed(incident)

    assert [claim.channel for claim in outbox.claim()] == [quick]


def test_the_worst_leaves_first() -> None:
    pager = channel()
    opened(pager, subject="a", severity=Severity.INFO)
    opened(pager, subject="b", severity=Severity.CRITICAL)
    opened(pager, subject="c", severity=Severity.WARNING)

    order = [claim.delivery.payload["severity"] for claim in outbox.claim(3)]

    assert order == ["critical", "warning", "info"]


def test_channels_take_turns() -> None:
    first, second = channel("a"), channel("b")
    for number in range(3):
        opened(first, subject=f"a{number}")
        opened(second, subject=f"b{number}")

    turns = [outbox.claim()[0].channel for _ in range(4)]

    assert turns[:2] == turns[2:]
    assert set(turns) == {first, second}


def test_a_channel_that_is_busy_is_left_out() -> None:
    busy, free = channel("a"), channel("b")
    opened(busy, free)

    assert [claim.channel for claim in outbox.claim(8, [busy.pk])] == [free]


def test_a_lease_is_longer_than_any_attempt(settings: Settings) -> None:
    opened(channel())

    outbox.claim()

    row = Delivery.objects.get()
    assert row.lease_until is not None
    longest = settings.DELIVERY_CONNECT_TIMEOUT_SECONDS + settings.DELIVERY_READ_TIMEOUT_SECONDS
    assert row.lease_until - row.created_at > timedelta(seconds=longest)


def test_a_lost_sender_is_noted_and_its_message_taken_over() -> None:
    incident = opened(channel())
    outbox.claim()
    later(outbox.lease_seconds() + 1)

    (claim,) = outbox.claim()

    assert results(incident) == [("unknown", "sender_lost")]
    assert (claim.delivery.attempts, claim.delivery.unknowns) == (2, 1)
    assert claim.delivery.unknown_at is not None


def test_a_resolve_is_held_after_a_lost_sender(settings: Settings) -> None:
    incident = closed(opened(channel()))
    outbox.claim()
    later(outbox.lease_seconds() + 1)
    outbox.claim()
    accepted(incident)

    later(settings.DELIVERY_RESOLVE_HOLD_SECONDS - 5)
    assert taken() == []

    later(6)
    assert taken() == [("resolve", 2)]


@pytest.mark.parametrize("kind", [Kind.UPDATE, Kind.ACKNOWLEDGE])
def test_nothing_but_the_resolve_is_held(kind: Kind) -> None:
    incident = opened(channel())
    outbox.enqueue(incident, kind, message())
    outbox.claim()
    later(outbox.lease_seconds() + 1)
    outbox.claim()
    accepted(incident)

    assert taken() == [(kind, 2)]


def test_a_held_channel_sends_nothing() -> None:
    pager = channel()
    opened(pager)
    Channel.objects.update(held_until=pager.created_at + timedelta(seconds=60))

    assert taken() == []
    later(61)
    assert taken() == [("trigger", 1)]


def test_a_limited_rate_leaves_one_message_at_a_time() -> None:
    pager = channel()
    Channel.objects.update(gap_seconds=1)
    for number in range(3):
        opened(pager, subject=f"{number}")

    assert len(outbox.claim(8)) == 1
    assert outbox.claim(8) == []
    later(1.1)
    assert len(outbox.claim(8)) == 1


def test_a_broken_channel_sends_only_tests() -> None:
    pager = channel()
    opened(pager)
    Channel.objects.update(broken_at=pager.created_at)

    assert taken() == []
    Incident.objects.update(reason="test")
    assert taken() == [("trigger", 1)]


def test_two_senders_never_hold_the_same_message() -> None:
    pager = channel()
    for number in range(30):
        opened(pager, subject=f"{number}")

    found = [claim.delivery.pk for _ in range(12) for claim in outbox.claim(3)]

    assert len(found) == len(set(found)) == 30


def test_an_empty_outbox_gives_nothing() -> None:
    assert outbox.claim(8) == []


def test_claims_use_the_index_of_what_waits() -> None:
    waiting = opened(channel()).deliveries.get()
    # An empty table tells the planner nothing: most of a real one was accepted long ago.
    values = {field.attname: getattr(waiting, field.attname) for field in Delivery._meta.concrete_fields}
    accepted = [Delivery(**values | {"id": None, "sequence": n, "state": "accepted"}) for n in range(2, 2_000)]
    Delivery.objects.bulk_create(accepted)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE alerts_delivery")
        given: dict[str, Any] = {"hold": 60, "lease": 20, "busy": [], "limit": 8}
        cursor.execute(f"EXPLAIN {outbox.CLAIM}", given)
        plan = "\n".join(row[0] for row in cursor.fetchall())

    assert "delivery_waiting" in plan


def test_it_hands_on_what_the_channel_remembered() -> None:
    incident = closed(opened(channel()))
    incident.deliveries.filter(sequence=1).update(state="accepted", handle="C1/17.3")

    (claim,) = outbox.claim()

    assert claim.sending().handle == "C1/17.3"


def test_a_claim_of_a_late_sender_is_over() -> None:
    claim = Claim(Delivery(), outbox.boot_clock() - 1)

    assert claim.until < outbox.boot_clock()
    assert not Attempt.objects.exists()


def test_many_messages_of_one_transaction_wake_the_sender_once(
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    pager = channel()

    with django_capture_on_commit_callbacks() as callbacks:
        for number in range(3):
            opened(pager, subject=f"node-{number} down")

    assert callbacks == [outbox.wake]


def test_a_savepoint_that_is_undone_takes_no_wake_up_with_it(
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    pager = channel()

    with django_capture_on_commit_callbacks() as callbacks:
        with transaction.atomic():
            opened(pager)
            transaction.set_rollback(True)
        opened(pager)

    assert callbacks == [outbox.wake]
