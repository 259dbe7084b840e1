"""Rules that cannot be judged: what they found stays as it was, and people are told of the rule itself."""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from alerts import incidents, story
from alerts.languages import in_every_language
from alerts.message import Message, Severity
from alerts.models import Channel, Incident, Reason
from alerts.route import Tree
from alerts.rule import Rule
from alerts.spec_form import SpecError

SUBJECT = "shardwatch:rule:"
# What is mended within some polls is nobody's trouble.
PATIENCE = timedelta(minutes=1)
WORDS_LIMIT = 200


def note(rules: Iterable[Rule], sound: Collection[int], at: datetime) -> None:
    """Write down since when rules cannot be read, and which can be read again."""
    changed = {rule.id: rule for rule in rules if (rule.id in sound) != (rule.failed_at is None)}
    if not changed:
        return
    # Whoever holds one of these rows writes the same; to wait for each other could be for ever.
    for row in Rule.objects.filter(pk__in=changed).select_for_update(skip_locked=True):
        why = "" if row.id in sound else words(changed[row.id])
        Rule.objects.filter(pk=row.pk).update(failed_at=at if why else None, failed_words=why)


def words(rule: Rule) -> str:
    """Return why a rule cannot be read; "" where it can."""
    try:
        return "" if rule.spec.terms else "when"
    except SpecError as error:
        return str(error)[:WORDS_LIMIT]


def look(at: datetime) -> None:
    """Tell of rules that could not be judged for a while, once each, and of their end."""
    failing = {SUBJECT + rule.key: rule for rule in Rule.objects.enabled().filter(failed_at__lte=at - PATIENCE)}
    told = {incident.subject: incident for incident in Incident.objects.open().filter(subject__startswith=SUBJECT)}
    for subject in failing.keys() - told.keys():
        _open(subject, failing[subject], at)
    for subject in told.keys() - failing.keys():
        _close(told[subject], at)


def _open(subject: str, rule: Rule, at: datetime) -> None:
    message = _opening(rule, at)
    channels = Channel.objects.filter(pk__in=Tree.load().way(message.labels, at).channel_ids)
    fields = {"told_at": at, "told_severity": str(Severity.WARNING)}
    incidents.open_incident(subject, Reason.EVALUATION_ERROR, message, channels, **fields)


@in_every_language
def _opening(rule: Rule, at: datetime) -> Message:
    title = _("The rule %(rule)s cannot be judged") % {"rule": rule.key}
    text = _("What it found stays as it was, and nothing new is found, until it is mended: %(error)s")
    labels = {"rule": rule.key, "severity": str(Severity.WARNING)}
    return Message(title, Severity.WARNING, at, text % {"error": rule.failed_words}, labels=labels)


def _close(incident: Incident, at: datetime) -> None:
    incidents.close_incident(incident, Reason.RECOVERED, story.linked(_ending(incident, at), incident))


@in_every_language
def _ending(incident: Incident, at: datetime) -> Message:
    text = _("The rule is judged again, or it is switched off or deleted.")
    return Message(incident.heading, Severity.WARNING, at, text)
