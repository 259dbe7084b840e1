"""Who is told when nobody acknowledges: the steps of a route, one after the other, each once.

Steps count from when people were first told. One that is late, because nothing ran for a while, leaves the next
one its whole time. All that is known is in the incident's row, so that a restart neither forgets nor repeats one.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from alerts.figures import span
from alerts.languages import changed
from alerts.message import Message
from alerts.models import Channel, Incident, IncidentQuerySet
from alerts.route import Step, Tree


@dataclass(frozen=True, slots=True)
class Next:
    """The next step of an incident, and when it is due."""

    step: Step
    at: datetime

    @property
    def channels(self) -> list[Channel]:
        return list(self.step.channels.all())


def waiting() -> IncidentQuerySet:
    """Return the incidents that nobody looks after although people were told."""
    return Incident.objects.open().filter(acknowledged_at=None, paged_at__isnull=False)


def next_step(incident: Incident, tree: Tree) -> Next | None:
    """Return what comes next unless somebody acknowledges; None where nothing does."""
    steps = tree.steps(incident.route_id)
    if (
        not incident.is_open
        or incident.acknowledged_at
        or incident.paged_at is None
        or incident.steps_taken >= len(steps)
    ):
        return None
    step = steps[incident.steps_taken]
    due = incident.paged_at + timedelta(seconds=step.after_seconds)
    if incident.steps_taken and incident.stepped_at:
        before = steps[incident.steps_taken - 1].after_seconds
        due = max(due, incident.stepped_at + timedelta(seconds=step.after_seconds - before))
    return Next(step, due)


def due(at: datetime, tree: Tree) -> list[int]:
    """Return the ids of incidents whose next step has come."""
    if not tree.has_steps:
        return []
    found = ((incident.pk, next_step(incident, tree)) for incident in waiting().order_by("pk"))
    return [pk for pk, following in found if following and following.at <= at]


def worded(message: Message, incident: Incident, at: datetime) -> Message:
    """Return the message with the reason why somebody else gets it."""
    assert incident.paged_at
    seconds = (at - incident.paged_at).total_seconds()

    def with_reason(told: Message) -> Message:
        words = _("Nobody has acknowledged it for %(time)s.") % {"time": span(seconds)}
        return replace(told, text="\n".join(filter(None, (words, told.text))))

    return changed(message, with_reason)
