"""Self-tests: a page of no importance takes the road of real ones, from the judge to the service and back.

It is over when the service has accepted it. One that is not over in time is lost: the health page shows it, and the
service that watches us from outside is not pinged any more.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from alerts import incidents, story
from alerts.languages import in_every_language
from alerts.message import Message, Severity
from alerts.models import Channel, Delivery, Incident, Kind, Reason
from collectors.readiness import Check

SUBJECT = "self-test of channel "
PATIENCE = timedelta(minutes=15)
# What a channel itself accepted; a fall-back that was told proves that something is wrong.
PAGES = Delivery.objects.filter(incident=OuterRef("pk"), kind=Kind.TRIGGER, stands_in_for=None)


class State(StrEnum):
    """How the newest self-test of a channel went."""

    NEVER = "never"
    UNDER_WAY = "under way"
    PASSED = "passed"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Result:
    """One channel and its newest self-test."""

    channel: Channel
    state: State
    incident: Incident | None = None

    @property
    def seconds(self) -> float | None:
        """Return how long the road took."""
        lasted = self.incident.lasted if self.incident and self.state is State.PASSED else None
        return lasted.total_seconds() if lasted else None


def run(now: datetime) -> None:
    """Begin what the schedule wants, and end what was accepted."""
    if settings.SELF_TEST_HOURS:
        since = now - timedelta(hours=settings.SELF_TEST_HOURS)
        begin(
            [result.channel for result in results(now) if result.incident is None or is_due(result.incident, since)],
            now,
        )
    follow(now)


def is_due(newest: Incident, since: datetime) -> bool:
    return newest.opened_at <= since


def begin(channels: Iterable[Channel], now: datetime) -> list[Incident]:
    """Send a self-test through each channel; one that is still on its way goes on."""
    return [_begin(channel, now) for channel in channels]


@transaction.atomic
def _begin(channel: Channel, now: datetime) -> Incident:
    subject = f"{SUBJECT}{channel.pk}"
    for old in Incident.objects.open().filter(subject=subject):
        if old.deliveries.filter(kind=Kind.TRIGGER, state=Delivery.State.WAITING).exists():
            return old
        incidents.close_incident(old, Reason.SYNTHETIC, _message(channel.name, now, is_over=True))
    message = _message(channel.name, now, is_over=False)
    incident, _is_new = incidents.open_incident(subject, Reason.SYNTHETIC, message, [channel])
    return incident


@in_every_language
def _message(channel: str, now: datetime, *, is_over: bool) -> Message:
    title = _("Self-test of the channel %(channel)s") % {"channel": channel}
    begun = _("Nothing is wrong. This page shows that pages get through; it ends by itself.")
    text = _("It got through.") if is_over else begun
    return Message(title, Severity.INFO, now, text)


def _open() -> QuerySet[Incident]:
    return Incident.objects.open().filter(reason=Reason.SYNTHETIC, subject__startswith=SUBJECT)


def follow(now: datetime) -> None:
    """End the self-tests whose page was accepted by its service."""
    accepted = PAGES.filter(state=Delivery.State.ACCEPTED)
    for incident in _open().filter(Exists(accepted)):
        name = Channel.objects.told_of(incident).values_list("name", flat=True).first() or ""
        incidents.close_incident(incident, Reason.SYNTHETIC, story.linked(_message(name, now, is_over=True), incident))


def results(now: datetime) -> list[Result]:
    """Return every channel with its newest self-test."""
    channels = list(Channel.objects.order_by("name"))
    if not channels:
        return []
    tests = Incident.objects.filter(reason=Reason.SYNTHETIC, subject__startswith=SUBJECT)
    newest = {incident.subject: incident for incident in tests.order_by("subject", "-pk").distinct("subject")}
    return [_result(channel, newest.get(f"{SUBJECT}{channel.pk}"), now) for channel in channels]


def _result(channel: Channel, incident: Incident | None, now: datetime) -> Result:
    if incident is None:
        return Result(channel, State.NEVER)
    if not incident.is_open:
        return Result(channel, State.PASSED, incident)
    return Result(channel, State.LOST if is_lost(incident, now) else State.UNDER_WAY, incident)


def is_lost(incident: Incident, now: datetime) -> bool:
    return incident.opened_at <= now - PATIENCE


def check(now: datetime) -> Check:
    """Tell whether all self-tests got through that had time to."""
    lost = [result.channel.name for result in results(now) if result.state is State.LOST]
    if not lost:
        return Check("self-tests", True, _("No self-test of a channel is lost."))
    words = ngettext(
        "The self-test of %(count)d channel did not get through: %(names)s.",
        "The self-tests of %(count)d channels did not get through: %(names)s.",
        len(lost),
    )
    return Check("self-tests", False, words % {"count": len(lost), "names": ", ".join(lost)})
