"""The small cast of delivery: a channel, an incident, a message; and what a test changes in the outbox."""

from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
from django.db.models import F

from alerts import incidents
from alerts.channel import Sending
from alerts.message import Fact, Message, Severity
from alerts.models import Attempt, Channel, Delivery, Incident, Kind, Reason
from fleet.secrets import Secret

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
KEY = "0123456789abcdef0123456789abcdef"


def message(title: str = "game-cache: node-1 does not answer", **given: Any) -> Message:
    usual: dict[str, Any] = {
        "severity": Severity.CRITICAL,
        "at": AT,
        "text": "No answer since 12:00.",
        "source": "game-cache",
        "facts": (Fact("Node", "10.0.0.1:6379"), Fact("Value", "0 of 1")),
        "link": "https://watch.example.org/incidents/1/",
        "runbook": "https://runbooks.example.org/down",
    }
    return Message(**{**usual, "title": title, **given})


def channel(name: str = "pager", kind: str = "pagerduty", fallback: Channel | None = None, **settings: Any) -> Channel:
    made = Channel(name=name, kind=kind, fallback=fallback)
    made.settings = Secret.of(orjson.dumps(settings or {"routing_key": KEY}).decode())
    made.save()
    return made


def opened(*channels: Channel, subject: str = "node-1 down", **given: Any) -> Incident:
    return incidents.open_incident(subject, Reason.THRESHOLD, message(**given), channels)[0]


def closed(incident: Incident) -> Incident:
    incidents.close_incident(incident, Reason.RECOVERED, message("It is over"))
    return incident


def sending(kind: Kind = Kind.TRIGGER, handle: str = "", **given: Any) -> Sending:
    return Sending(
        id="shardwatch-abc-1",
        kind=kind,
        incident_key="shardwatch-abc",
        sequence=1,
        opened_at=AT,
        message=message(**given),
        handle=handle,
    )


def states(incident: Incident, channel: Channel | None = None) -> list[tuple[str, str]]:
    """Return kind and state of an incident's messages, in order."""
    rows = incident.deliveries.filter(**({"channel": channel} if channel else {}))
    return [(row.kind, row.state) for row in rows.order_by("sequence", "channel")]


def later(seconds: float) -> None:
    """Let the database's clock seem that much later: all times in the outbox move back."""
    step = timedelta(seconds=seconds)
    for name in ("created_at", "due_at", "lease_until", "unknown_at"):
        Delivery.objects.update(**{name: F(name) - step})
    Channel.objects.update(held_until=F("held_until") - step)


def results(incident: Incident) -> list[tuple[str, str]]:
    """Return result and cause of all attempts at an incident's messages, oldest first."""
    return list(Attempt.objects.filter(delivery__incident=incident).order_by("pk").values_list("result", "cause"))
