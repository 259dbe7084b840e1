"""The sender: takes what may leave, makes one attempt each, several at once, and writes down what came of it."""

import logging
import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import TypeAlias

import orjson
from django.db import connection
from django.utils import translation

from alerts import chart_image, fallbacks, outbox
from alerts.causes import Cause
from alerts.channel import ChannelKind, Final, Outcome, RetryAt, Settings, Unknown
from alerts.channels import kind_of
from alerts.outbox import Claim, boot_clock
from alerts.record import COPIES, record
from collectors.backlog import AWAY
from fleet.secrets import Secret, SecretUnreadableError

logger = logging.getLogger(__name__)
AT_ONCE = 8
# Of these, one channel may have so many: one that hangs must leave hands for the others.
FOR_ONE = 4
# New messages are looked for this often while others are under way.
LOOK_SECONDS = 0.2
Running: TypeAlias = dict[Future[tuple[Outcome, float]], Claim]


def drain() -> int:
    """Send until nothing may leave now and nothing is under way; return how many attempts that made."""
    made, running = 0, Running()
    with ThreadPoolExecutor(AT_ONCE, "deliver") as pool:
        while True:
            take(pool, running)
            if not running:
                return made
            done, _ = wait(running, LOOK_SECONDS, FIRST_COMPLETED)
            for future in done:
                write_down(running.pop(future), *future.result())
            made += len(done)


def take(pool: ThreadPoolExecutor, running: Running) -> None:
    """Claim as much as there are hands for, channel by channel."""
    while free := AT_ONCE - len(running):
        held = Counter(claim.channel.pk for claim in running.values())
        claims = outbox.claim(min(free, FOR_ONE), [pk for pk, count in held.items() if count >= FOR_ONE])
        if not claims:
            break
        running.update({pool.submit(timed, claim): claim for claim in map(drawn, claims)})


def drawn(claim: Claim) -> Claim:
    """Return the claim with its chart where its channel shows one: here, as the hands have no database."""
    if not kind_of(claim.channel.kind).shows_chart or claim.delivery.incident.is_test:
        return claim
    return replace(claim, chart=chart_image.of(claim.delivery.incident, claim.channel.language))


def timed(claim: Claim) -> tuple[Outcome, float]:
    began = time.monotonic()
    return attempt(claim), time.monotonic() - began


def attempt(claim: Claim) -> Outcome:
    """Hand one message to its channel, unless that is too late or once too often."""
    kind = kind_of(claim.channel.kind)
    if boot_clock() > claim.until:
        return RetryAt(cause=Cause.LATE_START)
    if is_once_too_often(claim, kind):
        return Unknown(cause=Cause.UNANSWERED_TWICE)
    try:
        with translation.override(claim.channel.language):
            return kind.deliver(settings_of(claim.channel.settings), claim.sending())
    except SecretUnreadableError:
        return Final(cause=Cause.SECRET_UNREADABLE)
    # A mistake of ours in one kind of channel must not stop the others.
    except Exception as error:
        logger.exception("Channel %s failed with a message.", claim.channel.name)
        return RetryAt(cause=Cause.FAULT, words=type(error).__name__)


def is_once_too_often(claim: Claim, kind: ChannelKind) -> bool:
    has_fallback = claim.channel.fallback_id is not None
    return has_fallback and not kind.is_idempotent and claim.delivery.unknowns >= COPIES


def settings_of(secret: Secret) -> Settings:
    """Return a channel's settings. Raise SecretUnreadableError where no key opens them."""
    found: Settings = orjson.loads(secret.reveal() or "{}")
    return found


def write_down(claim: Claim, outcome: Outcome, seconds: float) -> None:
    """Record an attempt, through a restart of the database: what was accepted must not be sent again."""
    while True:
        try:
            return record(claim, kind_of(claim.channel.kind), outcome, seconds)
        except AWAY:
            connection.close()
            if boot_clock() > claim.until + outbox.attempt_seconds():
                raise
            time.sleep(LOOK_SECONDS)


def send_due() -> None:
    """Do what a wake-up asks for."""
    fallbacks.tell()
    drain()
