"""What an incident's message says, made of its alerts as they stand. One text serves all channels."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from django.conf import settings
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from alerts import unreachable
from alerts.alert import Alert
from alerts.figures import figure, span
from alerts.languages import in_every_language
from alerts.message import Fact, Message, Severity
from alerts.models import Incident
from alerts.reason import Reason
from alerts.rule import Rule
from alerts.spec import Spec
from alerts.spec_form import SpecError
from alerts.spec_words import read_unit
from alerts.text import filled
from collectors.cloud.reading import shortened
from collectors.metrics.lookup import UnknownMetricError

# Alerts that a message lists; it counts the others.
LISTED = 20


@in_every_language
def opening(alerts: Sequence[Alert], at: datetime, hidden: Sequence[Alert] = ()) -> Message:
    """Return what is told while alerts fire: those of one incident, at least one, and what they stand for."""
    ordered = sorted(alerts, key=lambda alert: (alert.severity != "critical", alert.began_at, alert.pk or 0))
    first = ordered[0]
    return Message(
        title=title(ordered),
        severity=Severity(first.severity),
        at=at,
        text="\n".join(advice(first)),
        source=first.cache_name,
        facts=(*_facts(ordered), *_hidden_facts(hidden)),
        runbook=runbook(first),
        labels=_common_labels(ordered),
    )


@in_every_language
def ending(incident: Incident, alerts: Sequence[Alert], at: datetime) -> Message:
    """Return what is told when the last alert is over, and why it is where that is no evidence of health."""
    reasons = dict.fromkeys(str(alert.get_reason_display()) for alert in alerts if not is_evidence(alert))
    why = _("Closed for another reason than recovery: %(reasons)s.") % {"reasons": ", ".join(reasons)}
    return Message(
        title=_("Over: %(title)s") % {"title": incident.heading},
        severity=Severity(incident.severity),
        at=at,
        text=why if reasons else _("All of its conditions are healthy again."),
        source=incident.cache_name or "shardwatch",
    )


def is_evidence(alert: Alert) -> bool:
    """Return whether an alert ended because its condition was seen to be false."""
    return alert.reason == Reason.THRESHOLD


def linked(message: Message, incident: Incident) -> Message:
    """Return the message with the address of the incident's page, where ours is known."""
    return replace(message, link=f"{settings.PUBLIC_URL}/incidents/{incident.pk}/") if settings.PUBLIC_URL else message


def title(alerts: Sequence[Alert]) -> str:
    """Return one line: the cache, what is wrong, where, how bad, and whether it flaps."""
    words = _plain_title(alerts)
    if any(alert.state == Alert.State.FLAPPING for alert in alerts):
        return _("%(title)s, flapping") % {"title": words}
    return words


def _plain_title(alerts: Sequence[Alert]) -> str:
    first = alerts[0]
    what = rule_title(first)
    caches = {alert.cache_name for alert in alerts}
    several = ngettext("%(count)d cache", "%(count)d caches", len(caches)) % {"count": len(caches)}
    about = first.cache_name if len(caches) == 1 else several
    if len(alerts) == 1:
        return ": ".join(filter(None, (about, what, " ".join(filter(None, (place(first), amount(first)))))))
    words = ngettext("%(about)s: %(what)s (%(count)d alert)", "%(about)s: %(what)s (%(count)d alerts)", len(alerts))
    return words % {"about": about, "what": what, "count": len(alerts)}


def rule_title(alert: Alert) -> str:
    return alert.rule.title if alert.rule else alert.rule_key


def place(alert: Alert) -> str:
    """Return which node or shard it is about; "" for the whole cache."""
    given = {"number": alert.labels.get("shard"), "address": shortened(alert.node_address)}
    if given["number"] is None:
        return str(given["address"])
    return (_("shard %(number)s, %(address)s") if alert.node_address else _("shard %(number)s")) % given


def amount(alert: Alert) -> str:
    """Return the value against its bound, such as "95% (bound 90%)"; "" where the rule has no amount."""
    in_unit = unit(alert.rule)
    if alert.value is None or in_unit in {"", "claim"}:
        return str(alert.get_reason_display()) if alert.value is None else ""
    return against(alert.value, alert.bound, in_unit)


def state(alert: Alert) -> str:
    """Return what is so: a value against its bound, what is true or not, or that something does not answer, and why."""
    if not (words := unreachable.words(alert)) and alert.rule and alert.value is not None:
        words = _claim(alert.rule, alert.value)
    return words or amount(alert)


def _claim(rule: Rule, value: float) -> str:
    """Return what is true or not, by its name; "" where a rule asks for an amount."""
    if unit(rule) != "claim":
        return ""
    metric = rule.spec.terms[rule.spec.leading()].reading.metric
    return _("%(metric)s: %(value)s") % {"metric": metric, "value": figure(value, "claim")}


def against(value: float, bound: float | None, in_unit: str) -> str:
    """Return a value against its bound, or alone: while it recovers, no bound is passed."""
    if bound is None:
        return figure(value, in_unit)
    return _("%(value)s (bound %(bound)s)") % {"value": figure(value, in_unit), "bound": figure(bound, in_unit)}


def unit(rule: Rule | None) -> str:
    """Return the unit of the value that stands for a rule; "" where it has none."""
    try:
        if rule is None:
            return ""
        return read_unit(rule.spec.terms[rule.spec.leading()].reading)
    except (SpecError, UnknownMetricError):
        return ""


def _facts(alerts: Sequence[Alert]) -> list[Fact]:
    facts = [Fact(place(alert) or alert.cache_name, _line(alert)) for alert in alerts[:LISTED]]
    if (more := len(alerts) - LISTED) > 0:
        facts.append(Fact(_("And more"), ngettext("%(n)d alert", "%(n)d alerts", more) % {"n": more}))
    return facts


def _hidden_facts(hidden: Sequence[Alert]) -> list[Fact]:
    """Return how many alerts are not told by themselves, and which rules they are of."""
    if not hidden:
        return []
    rules = ", ".join(dict.fromkeys(rule_title(alert) for alert in hidden[:LISTED]))
    words = ngettext("%(count)d alert: %(rules)s", "%(count)d alerts: %(rules)s", len(hidden))
    return [Fact(_("Not told by themselves"), words % {"count": len(hidden), "rules": rules})]


def _line(alert: Alert) -> str:
    if alert.state == Alert.State.FLAPPING:
        return flapping_words(alert)
    since = f"{alert.began_at:%Y-%m-%d %H:%M:%S} UTC"
    what = unreachable.words(alert) or amount(alert) or rule_title(alert)
    words = {
        "critical": _("%(what)s, critical since %(since)s"),
        "warning": _("%(what)s, warning since %(since)s"),
    }
    return words.get(alert.severity, _("%(what)s, since %(since)s")) % {"what": what, "since": since}


def flapping_words(alert: Alert) -> str:
    """Return how often an alert fired of late, and how bad it is."""
    count, seconds = len(alert.firings), alert.firings[-1] - alert.firings[0]
    words = ngettext(
        "flaps: it fired %(count)d time within %(time)s", "flaps: it fired %(count)d times within %(time)s", count
    )
    return words % {"count": count, "time": span(seconds)}


def advice(alert: Alert) -> list[str]:
    """Return what its rule says to whoever is told, in the active language where the texts are ours."""
    spec, known = _spec(alert), values(alert)
    if spec is None:
        return []
    texts = (spec.message, *(translation.gettext(one) for one in (spec.why, spec.check) if one))
    return [filled(text, known) for text in texts if text]


def runbook(alert: Alert) -> str:
    spec = _spec(alert)
    return filled(spec.runbook, values(alert)) if spec else ""


def _spec(alert: Alert) -> Spec | None:
    """Return what the rule of an alert says; None where it is gone or cannot be read."""
    try:
        return alert.rule.spec if alert.rule else None
    except SpecError:
        return None


def values(alert: Alert) -> dict[str, str]:
    """Return what texts of rules may name: the value, its bound, where it is, how bad it is, and all labels."""
    in_unit = unit(alert.rule)
    told = {"value": figure(alert.value, in_unit), "bound": figure(alert.bound, in_unit)}
    told |= {"cache": alert.cache_name, "node": alert.node_address, "rule": alert.rule_key, "severity": alert.severity}
    return {**{name: str(value) for name, value in alert.labels.items()}, **told}


def _common_labels(alerts: Sequence[Alert]) -> dict[str, str]:
    common = set(alerts[0].labels.items())
    for alert in alerts[1:]:
        common &= set(alert.labels.items())
    return {**dict(sorted(common)), "rule": alerts[0].rule_key, "severity": alerts[0].severity}
