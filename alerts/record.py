"""Writing down what came of an attempt, and what follows from it."""

import random
from datetime import timedelta

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Coalesce, Now

from alerts import fallbacks, repair
from alerts.channel import Accepted, ChannelKind, Final, Outcome, RetryAt, Unknown
from alerts.models import Attempt, Channel, Delivery
from alerts.outbox import Claim

FIRST_DELAY_SECONDS = 2.0
LONGEST_DELAY_SECONDS = 120.0
LONGEST_RETRY_AFTER_SECONDS = 3_600.0
# Acceptances closer together than this move last proven delivery only once: its row is everybody's.
PROOF_STEP = timedelta(seconds=1)
# A test tells soon; it does not try for hours.
TEST_ATTEMPTS = 3
# Copies that a service which cannot tell them apart may get.
COPIES = 2
RESULTS = {
    Accepted: Attempt.Result.ACCEPTED,
    RetryAt: Attempt.Result.RETRY,
    Final: Attempt.Result.FINAL,
    Unknown: Attempt.Result.UNKNOWN,
}


def delay_seconds(failures: int, chance: float) -> float:
    """Return how long to wait after so many failures: doubling up to a limit, then shortened by chance (0 to 1).

    Chance takes up to half of it, so that what failed together does not come again together.
    """
    whole = min(FIRST_DELAY_SECONDS * 2.0 ** min(failures - 1, 30), LONGEST_DELAY_SECONDS)
    return whole * (1 - chance / 2)


def record(claim: Claim, kind: ChannelKind, outcome: Outcome, seconds: float) -> None:
    """Write an attempt down. Where the lease ran out before, another sender has the message and decides on it."""
    with transaction.atomic():
        note(claim, outcome, seconds)
        if isinstance(outcome, Accepted):
            accept(claim, outcome)
        elif isinstance(outcome, Final):
            refuse(claim, outcome)
        elif isinstance(outcome, Unknown):
            doubt(claim, kind, outcome)
        else:
            put_off(claim, kind, outcome)


def note(claim: Claim, outcome: Outcome, seconds: float) -> None:
    cause, words = ("", "") if isinstance(outcome, Accepted) else (str(outcome.cause), outcome.words)
    Attempt.objects.create(
        delivery=claim.delivery,
        channel=claim.channel,
        number=claim.delivery.attempts,
        at=Now(),
        duration_seconds=seconds,
        result=RESULTS[type(outcome)],
        cause=cause,
        words=words,
        status=outcome.status,
        answer=outcome.answer,
    )


def settle(claim: Claim, **fields: object) -> bool:
    """Change the row if this sender still has it; return whether it had."""
    mine = Delivery.objects.filter(pk=claim.delivery.pk, attempts=claim.delivery.attempts, state="")
    return bool(mine.update(lease_until=None, **fields))


def accept(claim: Claim, outcome: Accepted) -> None:
    settle(claim, state=Delivery.State.ACCEPTED, done_at=Now(), handle=outcome.handle)
    stale = Q(proven_at=None) | Q(proven_at__lt=Now() - PROOF_STEP)
    Channel.objects.filter(stale, pk=claim.channel.pk).update(proven_at=Now())
    if claim.channel.is_broken:
        repair.mend(claim.channel)


def refuse(claim: Claim, outcome: Final) -> None:
    """Give the message up, mark its channel as broken, and hand what waits there to the fall-back."""
    Channel.objects.filter(pk=claim.channel.pk).update(
        broken_at=Coalesce(F("broken_at"), Now()), broken_cause=outcome.cause, broken_words=outcome.words
    )
    if settle(claim, state=Delivery.State.REFUSED, done_at=Now()):
        fallbacks.tell_of(claim.delivery.pk)
    fallbacks.tell()


def doubt(claim: Claim, kind: ChannelKind, outcome: Unknown) -> None:
    """Try again after an outcome that nobody knows; the incident's resolve waits meanwhile.

    A service that cannot tell copies apart gets no third one, as long as a fall-back can tell people instead.
    """
    unknowns = claim.delivery.unknowns + 1
    known = {"unknowns": unknowns, "unknown_at": Now()}
    if unknowns >= COPIES and not kind.is_idempotent and claim.channel.fallback_id:
        if settle(claim, state=Delivery.State.GIVEN_UP, done_at=Now(), **known):
            fallbacks.tell_of(claim.delivery.pk)
    else:
        again(claim, grown_delay(claim), **known)


def put_off(claim: Claim, kind: ChannelKind, outcome: RetryAt) -> None:
    named = outcome.seconds if outcome.seconds is not None else kind.busy_seconds if outcome.holds_channel else 0
    # "Again in 0 seconds" for ever must not become a loop without a pause.
    grown = 0 if outcome.seconds or outcome.forgets else grown_delay(claim)
    wait = max(min(named, LONGEST_RETRY_AFTER_SECONDS), grown)
    again(claim, wait)
    if outcome.forgets:
        Delivery.objects.filter(incident=claim.delivery.incident, channel=claim.channel).update(handle="")
    if outcome.holds_channel:
        until = Now() + timedelta(seconds=wait)
        Channel.objects.filter(pk=claim.channel.pk, held_until__lt=until).update(held_until=until)


def grown_delay(claim: Claim) -> float:
    return delay_seconds(claim.delivery.failures + 1, random.random())  # noqa: S311 - no secret


def again(claim: Claim, seconds: float, **known: object) -> None:
    if claim.delivery.incident.is_test and claim.delivery.attempts >= TEST_ATTEMPTS:
        settle(claim, state=Delivery.State.GIVEN_UP, done_at=Now(), **known)
    else:
        settle(claim, due_at=Now() + timedelta(seconds=seconds), failures=F("failures") + 1, **known)
