"""Opening and closing incidents: the change and its message in one transaction."""

from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.db.models import Q

from alerts import outbox
from alerts.message import Message
from alerts.models import Channel, Incident, Kind, Reason


@transaction.atomic
def open_incident(
    subject: str, reason: Reason, message: Message, channels: Iterable[Channel], **fields: Any
) -> tuple[Incident, bool]:
    """Return the subject's open incident and whether this call opened it, with a message to the channels."""
    new = Incident(subject=subject, reason=reason, severity=message.severity, opened_at=message.at, **fields)
    new.name_after(message)
    made = Incident.objects.bulk_create([new], ignore_conflicts=True)
    incident = Incident.objects.open().select_for_update(of=("self",)).select_related("route").get(subject=subject)
    is_new = incident.dedup_key == made[0].dedup_key
    if is_new and channels:
        outbox.enqueue(incident, Kind.TRIGGER, message, channels)
    return incident, is_new


@transaction.atomic
def close_incident(incident: Incident, end_reason: Reason, message: Message) -> bool:
    """Close an incident and tell all channels that were told of it; return False where it was closed already."""
    fields: dict[str, Any] = {"closed_at": message.at, "end_reason": end_reason}
    if not Incident.objects.filter(Q(closed_at=None), pk=incident.pk).update(**fields):
        return False
    for name, value in fields.items():
        setattr(incident, name, value)
    outbox.enqueue(incident, Kind.RESOLVE, message)
    return True
