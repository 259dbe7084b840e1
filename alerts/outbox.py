"""The outbox: messages are written with the change they tell of, and leave in order, each until it is accepted.

Times are the database's. A row that is claimed has a lease longer than any attempt may take, so that a lease that
ran out means a sender that is gone; whether its message arrived is then unknown. A trigger that arrives after the
resolve would open an incident that nobody closes: after any unknown outcome the resolve is held for longer than the
slowest service takes to accept.
"""

import logging
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

import orjson
from celery import current_app
from django.conf import settings
from django.db import connection, transaction
from django.db.models import OuterRef, Subquery
from kombu.exceptions import OperationalError

from alerts import fallbacks, wording
from alerts.acknowledge_links import link_for
from alerts.channel import Chart, Sending
from alerts.message import Message
from alerts.models import Channel, Delivery, Incident, Kind
from alerts.text import storable

logger = logging.getLogger(__name__)
QUEUE = "alerts"
# A wake-up that waits longer than this is overtaken by beat's.
WAKE_SECONDS = 10
# Time for the database and for a busy machine, beyond what an attempt may take.
MARGIN_SECONDS = 5

NEXT_SEQUENCE = "UPDATE alerts_incident SET last_sequence = last_sequence + 1 WHERE id = %s RETURNING last_sequence"
# An update that nobody has seen says nothing that the newer message does not say.
OVERTAKE = """
    UPDATE alerts_delivery SET state = 'superseded', done_at = statement_timestamp()
    WHERE incident_id = %s AND kind = 'update' AND state = '' AND attempts = 0
"""
ADD = """
    INSERT INTO alerts_delivery (incident_id, channel_id, sequence, kind, payload, urgency, created_at, due_at,
                                 attempts, failures, unknowns, state, handle)
    SELECT %s, channel, %s, %s, %s, %s, statement_timestamp(), statement_timestamp(), 0, 0, 0, '', ''
    FROM unnest(%s::bigint[]) AS channel
"""
# What may leave now: due, held by nobody, its channel neither held nor broken, and nothing of its incident before it.
READY = """
    d.state = '' AND d.due_at <= statement_timestamp()
    AND (d.lease_until IS NULL OR d.lease_until <= statement_timestamp())
    AND (c.broken_at IS NULL OR (SELECT reason FROM alerts_incident i WHERE i.id = d.incident_id) = 'test')
    AND NOT EXISTS (
        SELECT FROM alerts_delivery e
        WHERE e.incident_id = d.incident_id AND e.channel_id = d.channel_id AND e.sequence < d.sequence
          AND (e.state = '' OR d.kind = 'resolve'
               AND e.unknown_at > statement_timestamp() - make_interval(secs => %(hold)s)))
"""
# One channel's turn. Locking a row checks it again, so that no two senders take it; that an earlier message is done
# cannot become untrue, so that our snapshot of it may be old.
CLAIM = f"""
    WITH turn AS (
        SELECT c.* FROM alerts_channel c
        WHERE c.held_until <= statement_timestamp()
          AND c.id <> ALL(%(busy)s) AND EXISTS (SELECT FROM alerts_delivery d WHERE d.channel_id = c.id AND {READY})
        ORDER BY c.served_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
    ), taken AS (
        SELECT d.id, d.lease_until FROM turn c JOIN alerts_delivery d ON d.channel_id = c.id
        WHERE {READY}
        ORDER BY d.urgency, d.due_at, d.id
        LIMIT (SELECT CASE WHEN gap_seconds > 0 THEN 1 ELSE %(limit)s END FROM turn)
        FOR NO KEY UPDATE OF d SKIP LOCKED
    ), served AS (
        UPDATE alerts_channel c
        SET served_at = statement_timestamp(), held_until = statement_timestamp() + make_interval(secs => c.gap_seconds)
        FROM turn WHERE c.id = turn.id
    ), lost AS (
        INSERT INTO alerts_attempt (delivery_id, channel_id, number, at, result, cause, words, answer)
        SELECT d.id, d.channel_id, d.attempts, statement_timestamp(), 'unknown', 'sender_lost', '', ''
        FROM alerts_delivery d JOIN taken ON taken.id = d.id WHERE taken.lease_until IS NOT NULL
    )
    UPDATE alerts_delivery d
    SET lease_until = statement_timestamp() + make_interval(secs => %(lease)s), attempts = d.attempts + 1,
        unknowns = d.unknowns + (taken.lease_until IS NOT NULL)::int,
        unknown_at = CASE WHEN taken.lease_until IS NULL THEN d.unknown_at ELSE statement_timestamp() END
    FROM taken WHERE d.id = taken.id
    RETURNING d.id
"""


@dataclass(frozen=True, slots=True)
class Claim:
    """A message that this sender alone may send, once, before `until` on its own clock."""

    delivery: Delivery
    until: float
    chart: Chart | None = None

    @property
    def channel(self) -> Channel:
        return self.delivery.channel

    def sending(self) -> Sending:
        row, incident = self.delivery, self.delivery.incident
        return Sending(
            id=f"{incident.dedup_key}-{row.sequence}",
            kind=Kind(row.kind),
            incident_key=incident.dedup_key,
            sequence=row.sequence,
            opened_at=incident.opened_at,
            message=self.message(),
            title=incident.heading,
            is_test=incident.is_test,
            handle=getattr(row, "remembered", None) or "",
            chart=self.chart,
        )

    def message(self) -> Message:
        """Return what is to be told in the channel's language, the active one; a fall-back is told why it is asked."""
        told = Message.from_json(self.delivery.payload).spoken(self.channel.language)
        built = replace(told, acknowledge_link=self._acknowledge_link())
        failed = self.delivery.stands_in_for
        return wording.as_fallback(built, failed.name, failed.trouble) if failed else built

    def _acknowledge_link(self) -> str:
        incident = self.delivery.incident
        is_asked = (
            self.delivery.kind in {Kind.TRIGGER, Kind.UPDATE} and incident.is_open and not incident.acknowledged_at
        )
        return link_for(incident, self.channel) if is_asked and not incident.is_test else ""


def enqueue(incident: Incident, kind: Kind, message: Message, channels: Iterable[Channel] = ()) -> int:
    """Add the incident's next message for these channels, in the caller's transaction; return its sequence.

    Whatever follows a trigger goes to all channels that were told of the incident, too. Where a channel is broken
    its fall-back gets a copy.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        # The incident's row is locked until the end of the transaction: sequences become visible in their order.
        cursor.execute(NEXT_SEQUENCE, [incident.pk])
        sequence: int = cursor.fetchone()[0]
        incident.last_sequence = sequence
        ids = {channel.pk for channel in channels}
        if kind != Kind.TRIGGER:
            ids |= set(Channel.objects.told_of(incident).values_list("pk", flat=True))
        if kind in {Kind.UPDATE, Kind.RESOLVE}:
            cursor.execute(OVERTAKE, [incident.pk])
        payload = orjson.dumps(storable(message.as_json())).decode()
        row: list[Any] = [incident.pk, sequence, kind, payload, message.severity.rank, sorted(ids)]
        cursor.execute(ADD, row)
        fallbacks.tell(incident)
    wake_on_commit()
    return sequence


def wake_on_commit() -> None:
    """Tell a sender once that this transaction added messages, however many they are."""
    # A savepoint that could still undo an earlier one encloses this one, too.
    if not any(entry[1] is wake for entry in connection.run_on_commit):
        transaction.on_commit(wake, robust=True)


def wake() -> None:
    """Tell a sender that there is work. Where the broker is away, beat or the next sender finds the rows."""
    try:
        current_app.send_task("alerts.tasks.send_due", queue=QUEUE, expires=WAKE_SECONDS, retry=False)
    except OperationalError:
        logger.warning("The broker is away; the outbox is read at the next beat.")


def attempt_seconds() -> float:
    """Return the longest time that one attempt may take."""
    return settings.DELIVERY_CONNECT_TIMEOUT_SECONDS + settings.DELIVERY_READ_TIMEOUT_SECONDS


def lease_seconds() -> float:
    return attempt_seconds() + MARGIN_SECONDS


def boot_clock() -> float:
    """Return seconds on a clock that nobody sets, and that runs while a machine is suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def claim(limit: int = 1, busy: Collection[int] = ()) -> list[Claim]:
    """Take up to `limit` messages of the channel whose turn it is and that is not busy; [] where nothing may leave."""
    # Read before the database's clock is, so that ours runs out first.
    until = boot_clock() + MARGIN_SECONDS / 2
    given: dict[str, Any] = {
        "hold": settings.DELIVERY_RESOLVE_HOLD_SECONDS,
        "lease": lease_seconds(),
        "busy": list(busy),
        "limit": limit,
    }
    with connection.cursor() as cursor:
        cursor.execute(CLAIM, given)
        ids = [row[0] for row in cursor.fetchall()]
    return [Claim(row, until) for row in with_handles(ids)] if ids else []


def with_handles(ids: list[int]) -> Iterable[Delivery]:
    """Return these messages in the order in which they leave, each with what its channel remembered last."""
    same = Delivery.objects.filter(incident=OuterRef("incident"), channel=OuterRef("channel"))
    earlier = same.filter(sequence__lt=OuterRef("sequence")).exclude(handle="").order_by("-sequence")
    rows = Delivery.objects.filter(pk__in=ids).select_related("incident", "channel", "stands_in_for")
    return rows.annotate(remembered=Subquery(earlier.values("handle")[:1])).order_by("urgency", "due_at", "pk")
