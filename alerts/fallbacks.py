"""Telling the fall-back of a channel that is broken, or that does not get a message out in time."""

from django.conf import settings
from django.db import connection

from alerts.models import Incident

# The copy keeps its number, so that it is made once and its followers come behind it.
COPY = """
    INSERT INTO alerts_delivery (incident_id, channel_id, sequence, kind, payload, urgency, created_at, due_at,
                                 attempts, failures, unknowns, state, handle, stands_in_for_id)
    SELECT DISTINCT ON (d.incident_id, c.fallback_id, d.sequence)
           d.incident_id, c.fallback_id, d.sequence, d.kind, d.payload, d.urgency, statement_timestamp(),
           statement_timestamp(), 0, 0, 0, '', '', c.id
    FROM alerts_delivery d JOIN alerts_channel c ON c.id = d.channel_id JOIN alerts_incident i ON i.id = d.incident_id
    WHERE c.fallback_id IS NOT NULL AND i.reason <> 'test' AND
"""
ON_CONFLICT = " ON CONFLICT (incident_id, channel_id, sequence) DO NOTHING"
OVERDUE = f"""{COPY} d.state = '' AND (%(incident)s::bigint IS NULL OR d.incident_id = %(incident)s)
    AND (c.broken_at IS NOT NULL OR d.created_at < statement_timestamp() - make_interval(secs => %(patience)s))
    {ON_CONFLICT}
"""
ONE = f"{COPY} d.id = %(delivery)s {ON_CONFLICT}"


def tell(incident: Incident | None = None) -> int:
    """Copy what broken channels hold, and what waits for too long anywhere, to the fall-backs; return how many.

    A fall-back may be broken too: its own is told in turn. Copies that exist end the circle.
    """
    given = {"incident": incident.pk if incident else None, "patience": settings.DELIVERY_FALLBACK_SECONDS}
    copied = 0
    with connection.cursor() as cursor:
        while True:
            cursor.execute(OVERDUE, given)
            if not cursor.rowcount:
                return copied
            copied += cursor.rowcount


def tell_of(delivery_id: int) -> None:
    """Copy one message that its channel will not get out."""
    with connection.cursor() as cursor:
        cursor.execute(ONE, {"delivery": delivery_id})
