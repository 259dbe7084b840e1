import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from pytest_django.fixtures import Settings

from alerts import incidents, outbox, record, sender, tasks
from alerts.causes import Cause
from alerts.channel import Accepted, Final, Outcome, RetryAt, Unknown
from alerts.channels import kind_of
from alerts.models import Attempt, Channel, Delivery, Reason
from alerts.record import delay_seconds
from alerts.tests.cast import channel, closed, later, message, opened, results, states
from alerts.tests.peers import Service, closes, hangs, in_turn, says
from collectors.backlog import AWAY
from fleet.secrets import Secret

pytestmark = pytest.mark.django_db


def outcome(result: Outcome, seconds: float = 0.1) -> Delivery:
    """Claim the next message and record this outcome for it; return its row."""
    (claim,) = outbox.claim()
    record.record(claim, kind_of(claim.channel.kind), result, seconds)
    return Delivery.objects.get(pk=claim.delivery.pk)


def wait_of(row: Delivery) -> float:
    """Return how many seconds the row waits from now, by the database's clock."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT extract(epoch FROM %s - statement_timestamp())", [row.due_at])
        return float(cursor.fetchone()[0])


def test_it_sends_an_incident_from_trigger_to_resolve(pagerduty: Service) -> None:
    incident = closed(opened(channel()))

    made = sender.drain()

    assert [event.json["event_action"] for event in pagerduty.seen] == ["trigger", "resolve"]
    assert {event.json["dedup_key"] for event in pagerduty.seen} == {incident.dedup_key}
    assert (made, states(incident)) == (2, [("trigger", "accepted"), ("resolve", "accepted")])


def test_a_wake_up_sends_what_is_due(pagerduty: Service) -> None:
    incident = opened(channel())

    tasks.send_due()

    assert states(incident) == [("trigger", "accepted")]


def test_an_attempt_keeps_what_the_service_said(pagerduty: Service) -> None:
    opened(channel())

    sender.drain()

    attempt = Attempt.objects.get()
    assert (attempt.result, attempt.status, attempt.number) == ("accepted", 202, 1)
    assert "Event processed" in attempt.answer
    assert attempt.duration_seconds is not None
    assert 0 < attempt.duration_seconds < 2


def test_acceptance_proves_the_channel(pagerduty: Service) -> None:
    opened(channel())

    sender.drain()

    assert Channel.objects.get().proven_at is not None


def test_a_retry_waits_and_succeeds(pagerduty: Service) -> None:
    pagerduty.script = in_turn(says(503), pagerduty.script)
    incident = opened(channel())

    sender.drain()
    assert states(incident) == [("trigger", "")]
    later(3)
    sender.drain()

    assert results(incident) == [("retry", "unavailable"), ("accepted", "")]


def test_an_hour_of_503_loses_nothing(pagerduty: Service) -> None:
    accepts, pagerduty.script = pagerduty.script, says(503)
    incident = closed(opened(channel()))
    for _ in range(40):
        sender.drain()
        later(120)

    pagerduty.script = accepts
    sender.drain()

    assert states(incident) == [("trigger", "accepted"), ("resolve", "accepted")]
    assert [event.json["event_action"] for event in pagerduty.seen][-2:] == ["trigger", "resolve"]


def test_a_resolve_is_held_after_silence(pagerduty: Service, settings: Settings, short_read: None) -> None:
    pagerduty.script = in_turn(hangs, pagerduty.script)
    incident = closed(opened(channel()))

    sender.drain()
    later(3)
    sender.drain()
    assert states(incident) == [("trigger", "accepted"), ("resolve", "")]
    later(settings.DELIVERY_RESOLVE_HOLD_SECONDS)
    sender.drain()

    assert results(incident) == [("unknown", "silent"), ("accepted", ""), ("accepted", "")]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410])
def test_a_final_error_breaks_the_channel_at_once(pagerduty: Service, status: int) -> None:
    pagerduty.script = says(status, "no")
    incident = opened(channel())

    sender.drain()
    sender.drain()

    assert states(incident) == [("trigger", "refused")]
    assert len(pagerduty.seen) == 1
    assert Channel.objects.get().is_broken
    assert str(status) in Channel.objects.get().trouble


def test_the_fall_back_of_a_broken_channel_is_told_at_once(pagerduty: Service) -> None:
    accepts = pagerduty.script
    pagerduty.script = lambda exchange: says(404)(exchange) if "f" * 32 in exchange.body.decode() else accepts(exchange)
    second = channel("second")
    first = channel("first", fallback=second, routing_key="f" * 32)
    incident = closed(opened(first))

    sender.drain()

    assert states(incident, second) == [("trigger", "accepted"), ("resolve", "accepted")]
    assert {row.stands_in_for for row in incident.deliveries.filter(channel=second)} == {first}


def test_acceptance_of_a_test_repairs_the_channel(pagerduty: Service) -> None:
    pager = channel()
    Channel.objects.update(broken_at=pager.created_at, broken_cause="gone", broken_words="404")

    incidents.open_incident("test", Reason.TEST, message(), [pager])
    sender.drain()

    assert (Channel.objects.get().is_broken, Channel.objects.get().trouble) == (False, "")


def test_a_test_gives_up_soon(pagerduty: Service) -> None:
    pagerduty.script = says(503)
    incident, _ = incidents.open_incident("test", Reason.TEST, message(), [channel()])

    for _ in range(5):
        sender.drain()
        later(300)

    assert len(pagerduty.seen) == record.TEST_ATTEMPTS
    assert states(incident) == [("trigger", "given_up")]


def test_a_channel_that_hangs_leaves_hands_for_the_others(pagerduty: Service, settings: Settings) -> None:
    settings.DELIVERY_READ_TIMEOUT_SECONDS = 5.0
    accepts = pagerduty.script
    pagerduty.script = lambda exchange: hangs(exchange) if "f" * 32 in exchange.body.decode() else accepts(exchange)
    stuck, quick = channel("stuck", routing_key="f" * 32), channel("quick")
    for number in range(12):
        opened(stuck, subject=f"stuck {number}")
    last = opened(quick, subject="quick")

    began = time.monotonic()
    running = sender.Running()
    with ThreadPoolExecutor(sender.AT_ONCE) as pool:
        sender.take(pool, running)
        ours = next(future for future, claim in running.items() if claim.delivery.incident_id == last.pk)
        assert isinstance(ours.result()[0], Accepted)
        assert time.monotonic() - began < settings.DELIVERY_READ_TIMEOUT_SECONDS
        pagerduty.hang_up()


def test_settings_that_no_key_opens_break_the_channel() -> None:
    incident = opened(channel())
    Channel.objects.update(settings=Secret("gAAAAABnonsense"))

    sender.drain()

    assert results(incident) == [("final", "secret_unreadable")]


def test_a_mistake_in_a_channel_stops_no_other(pagerduty: Service) -> None:
    opened(channel("wrong", oops="no key"), subject="a")
    fine = opened(channel("fine"), subject="b")

    sender.drain()

    assert states(fine) == [("trigger", "accepted")]
    assert Attempt.objects.filter(cause=Cause.FAULT, words="KeyError").exists()


def test_a_sender_that_was_held_up_does_not_send(pagerduty: Service) -> None:
    opened(channel())
    (claim,) = outbox.claim()

    late = sender.attempt(outbox.Claim(claim.delivery, outbox.boot_clock() - 1))

    assert late == RetryAt(cause=Cause.LATE_START)
    assert pagerduty.seen == []


def test_whoever_lost_the_lease_changes_nothing() -> None:
    incident = opened(channel())
    (slow,) = outbox.claim()
    later(outbox.lease_seconds() + 1)
    (claim,) = outbox.claim()

    record.record(slow, kind_of("pagerduty"), Accepted(202), 30)

    row = Delivery.objects.get()
    assert (row.state, row.attempts) == ("", claim.delivery.attempts)
    assert row.lease_until is not None
    assert results(incident) == [("unknown", "sender_lost"), ("accepted", "")]


@pytest.mark.parametrize(
    ("result", "least", "most"),
    [
        (RetryAt(cause=Cause.REFUSED), 0.5, 2),
        (RetryAt(cause=Cause.UNAVAILABLE, seconds=45), 44, 45),
        (RetryAt(cause=Cause.BUSY, seconds=7, holds_channel=True), 6, 7),
        # PagerDuty's 429 without a time: minutes.
        (RetryAt(cause=Cause.BUSY, holds_channel=True), 118, 120),
        (RetryAt(cause=Cause.BUSY, seconds=10**9, holds_channel=True), 3_598, 3_600),
        # "Again at once" must not become a loop without a pause.
        (RetryAt(cause=Cause.BUSY, seconds=0, holds_channel=True), 0.5, 2),
        # A message whose thread is gone is posted anew.
        (RetryAt(cause=Cause.REFUSED_BY_SERVICE, seconds=0, forgets=True), -2, 0),
        (Unknown(cause=Cause.SILENT), 0.5, 2),
    ],
)
def test_it_waits_as_long_as_it_was_told(result: Outcome, least: float, most: float) -> None:
    opened(channel())

    row = outcome(result)

    assert least <= wait_of(row) <= most


def test_a_429_holds_all_messages_of_the_channel() -> None:
    pager = channel()
    opened(pager, subject="a")
    opened(pager, subject="b")

    outcome(RetryAt(cause=Cause.BUSY, seconds=30, holds_channel=True))

    assert outbox.claim() == []
    later(31)
    assert len(outbox.claim(8)) == 2


def test_a_hold_is_never_made_shorter() -> None:
    pager = channel()
    opened(pager, subject="a")
    opened(pager, subject="b")
    first, second = outbox.claim(2)

    record.record(first, kind_of("pagerduty"), RetryAt(cause=Cause.BUSY, seconds=300, holds_channel=True), 0.1)
    record.record(second, kind_of("pagerduty"), RetryAt(cause=Cause.BUSY, seconds=1, holds_channel=True), 0.1)

    later(100)
    assert outbox.claim() == []


@pytest.mark.parametrize(
    ("failures", "longest"), [(1, 2), (2, 4), (3, 8), (6, 64), (7, 120), (8, 120), (1_000, 120), (10**6, 120)]
)
def test_delays_double_up_to_a_limit(failures: int, longest: float) -> None:
    assert delay_seconds(failures, 0) == longest
    assert delay_seconds(failures, 1) == longest / 2


def test_delays_differ_by_chance() -> None:
    chance = random.Random(1)

    assert len({delay_seconds(3, chance.random()) for _ in range(20)}) == 20


def test_lost_senders_do_not_make_delays_longer() -> None:
    opened(channel())
    for _ in range(8):
        outbox.claim()
        later(outbox.lease_seconds() + 1)

    row = outcome(RetryAt(cause=Cause.UNAVAILABLE))

    assert wait_of(row) <= 2


def test_a_final_outcome_names_its_cause() -> None:
    opened(channel())

    outcome(Final(status=403, answer="bad key", cause=Cause.NOT_ALLOWED, words="403"))

    pager = Channel.objects.get()
    assert (pager.broken_cause, pager.broken_words) == ("not_allowed", "403")
    assert Attempt.objects.get().answer == "bad key"


def test_a_service_that_closes_may_have_accepted(pagerduty: Service) -> None:
    pagerduty.script = closes
    incident = opened(channel())

    sender.drain()

    assert results(incident) == [("unknown", "cut")]
    assert Delivery.objects.get().unknowns == 1


def test_the_end_of_the_lease_is_the_end_of_recording() -> None:
    opened(channel())
    (claim,) = outbox.claim()
    over = outbox.Claim(claim.delivery, outbox.boot_clock() - 100)

    def away(*_: object) -> None:
        raise AWAY[0]

    act: Callable[..., None] = sender.write_down
    with connection.execute_wrapper(away), pytest.raises(AWAY):
        act(over, Accepted(), 0.1)
