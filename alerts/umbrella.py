"""One incident that stands for many: no cache answers any more, or one rule opens incident after incident.

It has no alerts of its own. Those behind it keep their incidents, which are not told by themselves while it is
open; what still fires when it ends is told then.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Count, Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from alerts import incidents, outbox, story
from alerts.alert import Alert
from alerts.decision import Decision
from alerts.languages import in_every_language
from alerts.message import Fact, Message, Severity
from alerts.models import Channel, Incident, IncidentQuerySet, Kind, Reason
from alerts.rule import Rule
from collectors.models import NodeStatus

What = Decision.What
OUTAGE, STORM = "shardwatch:outage", "shardwatch:storm:"
# Only what was asked this short a time ago says whether we can reach anything.
ASKED = timedelta(seconds=30)
# One or two caches that are all there is may well be down.
LEAST_CACHES = 3
# From so many told incidents of one rule in a minute on, further ones are told together; until so few are left.
STORM_INCIDENTS, STORM_WINDOW, STORM_REST = 10, timedelta(minutes=1), 5
# News of it are told this often, and it lasts as long at least.
NEWS = timedelta(minutes=1)
LISTED = 20


@dataclass(frozen=True, slots=True)
class Sight:
    """How many nodes and caches were asked a moment ago, and how many nodes of them answered."""

    nodes: int
    caches: int
    answering: int

    @property
    def is_blind(self) -> bool:
        return self.caches >= LEAST_CACHES and not self.answering


def sight(at: datetime) -> Sight:
    asked = NodeStatus.objects.filter(
        attempted_at__gt=at - ASKED, node__left_at=None, node__cache__is_paused=False
    ).aggregate(
        nodes=Count("pk"),
        caches=Count("node__cache", distinct=True),
        answering=Count("pk", filter=Q(failing_since=None)),
    )
    return Sight(**asked)


def told_lately(rule_key: str, at: datetime) -> int:
    """Return how many incidents of a rule began and were told within a minute."""
    late = Incident.objects.filter(opened_at__gt=at - STORM_WINDOW, told_at__isnull=False, alerts__rule_key=rule_key)
    return late.distinct().count()


def all_open() -> IncidentQuerySet:
    return Incident.objects.open().filter(Q(subject=OUTAGE) | Q(subject__startswith=STORM))


def open_outage(at: datetime, seen: Sight, channels: Iterable[Channel]) -> Incident:
    """Open the incident of our seeing nothing, or return the one that is open."""
    facts = {"nodes": seen.nodes, "caches": seen.caches}
    return _open(OUTAGE, Reason.STALE_SOURCE, outage_message(seen, at), channels, What.OUTAGE, facts)


def open_storm(rule: Rule | None, rule_key: str, at: datetime, channels: Iterable[Channel]) -> Incident:
    """Open the incident of a rule that opens many, or return the one that is open."""
    message = storm_message(rule_key, rule, (), Severity.CRITICAL, at)
    data = {"rule": (rule and rule.plain_title) or rule_key, "count": STORM_INCIDENTS}
    return _open(STORM + rule_key, Reason.STORM, message, channels, What.STORM, data)


def _open(
    subject: str, reason: Reason, message: Message, channels: Iterable[Channel], what: What, data: Mapping[str, object]
) -> Incident:
    fields = {"told_at": message.at, "paged_at": message.at, "told_severity": str(message.severity)}
    incident, is_new = incidents.open_incident(subject, reason, message, channels, **fields)
    if is_new:
        Decision.objects.create(incident=incident, at=message.at, what=what, data=data)
    return incident


def widen(incident: Incident, channel_ids: Collection[int], at: datetime) -> None:
    """Tell channels of it that were not told yet, as something stands behind it that they would have been told of."""
    told = set(Channel.objects.told_of(incident).values_list("pk", flat=True))
    if new := Channel.objects.filter(pk__in=set(channel_ids) - told):
        outbox.enqueue(incident, Kind.TRIGGER, story.linked(message_of(incident, at), incident), new)


def look(at: datetime) -> None:
    """Tell news of what is open, and end what is over."""
    for pk in all_open().values_list("pk", flat=True):
        with transaction.atomic():
            if incident := all_open().select_for_update(skip_locked=True).filter(pk=pk).first():
                _look(incident, at)


def _look(incident: Incident, at: datetime) -> None:
    if incident.told_at is None or at - incident.told_at < NEWS:
        return
    if _is_over(incident, at):
        incidents.close_incident(incident, Reason.RECOVERED, story.linked(_end_message(incident, at), incident))
        return
    message, before = message_of(incident, at), incident.title
    # As it is kept: a long title is cut, and would be news at every look.
    incident.name_after(message)
    if incident.title != before:
        outbox.enqueue(incident, Kind.UPDATE, story.linked(message, incident))
        incident.severity, incident.told_at = str(message.severity), at
        incident.save(update_fields=["title", "titles", "severity", "told_at"])


def _is_over(incident: Incident, at: datetime) -> bool:
    if incident.subject == OUTAGE:
        return sight(at).answering > 0
    return len(_behind(incident)) <= STORM_REST


def _behind(incident: Incident) -> list[Alert]:
    return list(incident.hidden_alerts.firing().select_related("rule").order_by("began_at", "pk"))


def is_one(incident: Incident) -> bool:
    return incident.subject == OUTAGE or incident.subject.startswith(STORM)


def message_of(incident: Incident, at: datetime) -> Message:
    """Return what is to be said of it as it stands."""
    if incident.subject == OUTAGE:
        return outage_message(sight(at), at)
    alerts = _behind(incident)
    worst = Severity.CRITICAL if any(one.severity == "critical" for one in alerts) else Severity.WARNING
    key = incident.subject.removeprefix(STORM)
    return storm_message(key, Rule.objects.filter(key=key).first(), alerts, worst, at)


@in_every_language
def outage_message(seen: Sight, at: datetime) -> Message:
    words = ngettext(
        "Of %(count)d node that was asked, none answers.",
        "Of %(count)d nodes that were asked, none answers.",
        seen.nodes,
    )
    advice = _(
        "Either Shardwatch has lost its network, or all caches are down. Alerts of single caches are not told "
        "until one of them answers."
    )
    title = _("No cache answers Shardwatch any more")
    return Message(title, Severity.CRITICAL, at, f"{words % {'count': seen.nodes}}\n{advice}")


@in_every_language
def storm_message(
    rule_key: str, rule: Rule | None, alerts: Collection[Alert], severity: Severity, at: datetime
) -> Message:
    name = rule.title if rule else rule_key
    caches = list(dict.fromkeys(alert.cache_name for alert in alerts))
    words = ngettext(
        "%(rule)s: many at once, %(count)d more alert", "%(rule)s: many at once, %(count)d more alerts", len(alerts)
    )
    title = words % {"rule": name, "count": len(alerts)} if alerts else _("%(rule)s: many at once") % {"rule": name}
    named = ", ".join(caches[:LISTED]) + ("…" if len(caches) > LISTED else "")
    facts = (Fact(_("Caches"), f"{len(caches)}: {named}"),) if caches else ()
    text = _("More incidents of this rule than people can read begin at once: further ones are told here together.")
    return Message(title, severity, at, text, facts=facts, labels={"severity": str(severity)})


@in_every_language
def _end_message(incident: Incident, at: datetime) -> Message:
    text = _("It is over. What is still bad is told by itself from now on.")
    return Message(incident.heading, Severity(incident.severity), at, text)
