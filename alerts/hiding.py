"""What keeps an alert from being told by itself: its cache is switched off, or a silence, a wider alert that says the
same, or an umbrella.

An alert of a rule with `hides` stands for others that have the same values of the labels named there: a cache
that is down for its nodes that are. What hides must be as bad at least, its incident open, and told to everybody
who would be told of the other; what is hidden is told when the cause has ended and it is still bad.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property

from django.db.models import Q

from alerts import umbrella, window
from alerts.alert import Alert
from alerts.decision import Decision
from alerts.models import Incident
from alerts.route import Tree
from alerts.rule import Rule
from alerts.silence import Silence
from alerts.spec_form import SpecError
from switches import standing

What = Decision.What
SEVERITIES = ("", "warning", "critical")
# When a cause has ended, what it hid is judged once more before it is told; but nobody waits longer for that.
SETTLING = timedelta(minutes=2)
# What hides nothing is narrower than anything that does.
NARROWEST = 1_000
# Alerts that a cause is compared with for the list of what it stands for.
COMPARED = 1_000


def labels_of(alert: Alert) -> dict[str, str]:
    """Return the labels that routes and silences see: the alert's own, its rule and how bad it is."""
    return {**alert.labels, "rule": alert.rule_key, "severity": alert.severity}


def hides(rule: Rule | None) -> tuple[str, ...]:
    """Return the labels that an alert of this rule must share with those that it hides; () where it hides none."""
    try:
        return rule.spec.hides if rule else ()
    except SpecError:
        return ()


def is_about_switches(rule: Rule | None) -> bool:
    """Return whether a rule asks for the state of switches themselves."""
    try:
        return bool(rule and rule.spec.is_about_switches)
    except SpecError:
        return False


def width(alert: Alert) -> int:
    """Return by how many labels an alert narrows what it hides: the fewest reach the widest."""
    return len(hides(alert.rule)) or NARROWEST


@dataclass(frozen=True, slots=True)
class Hidden:
    """Why an alert is not told by itself, and behind which incident it stands where there is one."""

    what: Decision.What
    behind_id: int | None = None
    data: Mapping[str, object] = field(default_factory=dict)


def told_as(incident: Incident) -> dict[str, object]:
    """Return what is written down of the incident that hides an alert."""
    return {"behind": incident.title, "titles": incident.titles}


class Screen:
    """What hides alerts of some caches as it stands at a tick."""

    def __init__(self, at: datetime, tree: Tree, cache_ids: Collection[int]) -> None:
        self.at, self.tree, self.cache_ids = at, tree, cache_ids
        self.silences = list(Silence.objects.active(at))
        self.windows = window.active(at)

    @cached_property
    def rules(self) -> dict[int, Rule]:
        """Return the rules whose alerts stand for others."""
        return {rule.pk: rule for rule in Rule.objects.filter(text__has_key="hides") if hides(rule)}

    @cached_property
    def causes(self) -> dict[int, Alert]:
        """Return the alerts that stand for others, by their id."""
        near = [pk for pk, rule in self.rules.items() if "cache" in hides(rule)]
        wide = [pk for pk in self.rules if pk not in near]
        rows = Alert.objects.firing().filter(Q(rule__in=near, cache__in=self.cache_ids) | Q(rule__in=wide))
        found = {alert.pk: alert for alert in rows.select_related("incident")} if self.rules else {}
        for alert in found.values():
            alert.rule = self.rules[alert.rule_id or 0]
        return found

    @cached_property
    def by_labels(self) -> dict[tuple[str, ...], dict[tuple[str, ...], list[Alert]]]:
        """Return the causes by the names and by the values of the labels that they share with what they hide."""
        found: dict[tuple[str, ...], dict[tuple[str, ...], list[Alert]]] = defaultdict(lambda: defaultdict(list))
        for cause in self.causes.values():
            names = hides(cause.rule)
            if all(values := values_of(cause, names)):
                found[names][values].append(cause)
        return found

    def learn(self, alerts: Iterable[Alert]) -> None:
        """Take in that these alerts have their incident now."""
        for alert in alerts:
            if alert.pk in self.causes:
                self.causes[alert.pk].incident = alert.incident

    def hidden(self, alert: Alert) -> Hidden | None:
        """Return what keeps an alert back, None where nothing does."""
        on_purpose = self._switched_off(alert) or self._silenced(alert)
        return on_purpose or self._gathered(alert) or self._behind(alert) or self._settling(alert)

    @cached_property
    def switched_off(self) -> dict[int, str]:
        """Return which switch keeps applications off, by cache."""
        return standing.switched_off(self.cache_ids)

    def _switched_off(self, alert: Alert) -> Hidden | None:
        key = self.switched_off.get(alert.cache_id or 0)
        return Hidden(What.SWITCHED_OFF, data={"switch": key}) if key and not is_about_switches(alert.rule) else None

    def _silenced(self, alert: Alert) -> Hidden | None:
        labels = labels_of(alert)
        silence = next((silence for silence in self.silences if silence.hides(labels)), None)
        if silence:
            return Hidden(What.SILENCED, data=silence.told)
        found = next((one for one in self.windows if one.hides(labels)), None)
        return Hidden(What.WINDOW, data={"comment": found.comment}) if found else None

    @cached_property
    def umbrellas(self) -> dict[str, Incident]:
        """Return the open incidents that stand for many, by their subject."""
        return {incident.subject: incident for incident in umbrella.all_open()}

    def _gathered(self, alert: Alert) -> Hidden | None:
        if outage := self.umbrellas.get(umbrella.OUTAGE):
            return Hidden(What.HIDDEN, outage.pk, told_as(outage))
        storm = self.umbrellas.get(umbrella.STORM + alert.rule_key)
        return Hidden(What.STORM, storm.pk, told_as(storm)) if storm else None

    def _behind(self, alert: Alert) -> Hidden | None:
        for cause in self._wider(alert):
            if self._stands_for(cause, alert) and cause.incident:
                return Hidden(What.HIDDEN, cause.incident.pk, told_as(cause.incident))
        return None

    def _wider(self, alert: Alert) -> Iterator[Alert]:
        """Yield the causes that are about the same as an alert, and wider; the widest first."""
        for names in sorted(self.by_labels, key=lambda names: (len(names), names)):
            for cause in self.by_labels[names].get(values_of(alert, names), ()):
                is_wider = (width(cause), cause.pk) < (width(alert), alert.pk)
                if cause.rule_id != alert.rule_id and is_wider:
                    yield cause

    def _stands_for(self, cause: Alert, alert: Alert) -> bool:
        """Return whether people hear enough when they hear of the cause alone."""
        is_told = cause.incident is not None and cause.incident.is_open and not self._silenced(cause)
        is_as_bad = SEVERITIES.index(cause.severity) >= SEVERITIES.index(alert.severity)
        return is_told and is_as_bad and self._channels(alert) <= self._channels(cause)

    def _channels(self, alert: Alert) -> frozenset[int]:
        return self.tree.way(labels_of(alert), self.at).channel_ids

    def _settling(self, alert: Alert) -> Hidden | None:
        """Keep back what was hidden a moment ago until it was judged without its cause, and while it recovers."""
        behind = alert.behind
        if behind is None or behind.closed_at is None or alert.told_at or self.at - behind.closed_at > SETTLING:
            return None
        if alert.judged_at > behind.closed_at and alert.state != Alert.State.RECOVERING:
            return None
        return Hidden(What(alert.kept_back), behind.pk)

    def hidden_behind(self, seen: Iterable[Alert]) -> list[Alert]:
        """Return what fires now and is not told by itself because one of these alerts stands for it."""
        causes = {alert.pk for alert in seen if alert.pk in self.causes}
        if not causes:
            return []
        is_near = all("cache" in hides(self.causes[pk].rule) for pk in causes)
        near = Q(cache__in={self.causes[pk].cache_id for pk in causes}) if is_near else Q()
        rows = Alert.objects.firing().filter(near)
        alerts = rows.select_related("rule").order_by("pk")[:COMPARED]
        return [
            alert
            for alert in alerts
            if any(cause.pk in causes and self._stands_for(cause, alert) for cause in self._wider(alert))
        ]


def values_of(alert: Alert, names: Sequence[str]) -> tuple[str, ...]:
    labels = labels_of(alert)
    return tuple(labels.get(name, "") for name in names)
