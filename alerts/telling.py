"""From alerts to incidents: what belongs together, who is told, and when; every decision is written down.

All of it happens in the transaction in which the alerts change, so that no change is told without being
recorded, and none is recorded that nobody will be told of. State is never dropped here, only messages are.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Q

from alerts import flap, incidents, outbox, story
from alerts.alert import Alert, Transition
from alerts.change import Change, transition
from alerts.decision import Decision
from alerts.models import Channel, Incident, Kind, Reason
from alerts.route import Tree, Way
from alerts.silence import Silence

What = Decision.What
SEVERITIES = ("", "warning", "critical")


def labels_of(alert: Alert) -> dict[str, str]:
    """Return the labels that routes and silences see: the alert's own, its rule and how bad it is."""
    return {**alert.labels, "rule": alert.rule_key, "severity": alert.severity}


def tell(changes: Sequence[Change], at: datetime) -> None:
    """Bring incidents up to what changed at a tick."""
    begun = [change.alert for change in changes if change.begins]
    others = [change.alert for change in changes if not change.begins and change.alert.incident_id]
    if begun or others:
        desk = Desk(at)
        desk.take_in(begun)
        desk.follow(others)
        desk.note_flapping([change for change in changes if change.flaps])


class Desk:
    """Routes and silences as they stand at a tick, and what is decided by them."""

    def __init__(self, at: datetime) -> None:
        self.at = at
        self.tree = Tree.load()
        self.silences = list(Silence.objects.active(at))
        self.decisions: list[Decision] = []

    def take_in(self, alerts: Iterable[Alert]) -> None:
        """Give alerts that begin to fire their incident, opening it where there is none."""
        groups: dict[str, list[tuple[Alert, Way]]] = defaultdict(list)
        for alert in alerts:
            way = self.tree.way(labels_of(alert))
            groups[way.subject(labels_of(alert))].append((alert, way))
        for subject, members in groups.items():
            self._open_or_join(subject, members)
        self._save()

    def _open_or_join(self, subject: str, members: Sequence[tuple[Alert, Way]]) -> None:
        alerts = [alert for alert, _way in members]
        known = Incident.objects.open().select_for_update().filter(subject=subject).first()
        incident = known or self._open(subject, members)
        Alert.objects.filter(pk__in=[alert.pk for alert in alerts]).update(incident=incident)
        for alert in alerts:
            alert.incident = incident
        if known:
            for alert in alerts:
                self.decide(incident, What.JOINED, alert)
            self.renew(incident)

    def _open(self, subject: str, members: Sequence[tuple[Alert, Way]]) -> Incident:
        alerts, way = [alert for alert, _way in members], members[0][1]
        first = alerts[0]
        incident, _is_new = incidents.open_incident(
            subject,
            Reason(first.reason),
            story.opening(alerts, self.at),
            (),
            cache_id=first.cache_id,
            cache_name=first.cache_name,
            route=way.route,
        )
        self.speak(incident, alerts)
        return incident

    def speak(self, incident: Incident, alerts: Sequence[Alert]) -> None:
        """Tell the incident's channels of what fires, unless all of it is hidden."""
        seen = [alert for alert in alerts if not self._is_hidden(incident, alert)]
        if not seen:
            return
        ids = {pk for alert in seen for pk in self.tree.way(labels_of(alert)).channel_ids}
        told = set(Channel.objects.told_of(incident).values_list("pk", flat=True))
        message = story.linked(story.opening(seen, self.at), incident)
        if new := Channel.objects.filter(pk__in=ids - told):
            outbox.enqueue(incident, Kind.TRIGGER, message, new)
        if told:
            outbox.enqueue(incident, Kind.UPDATE, message)
        what = What.TOLD if ids else What.NOWHERE
        self.decide(incident, what, seen[0], path=self.tree.way(labels_of(seen[0])).path, alerts=len(seen))
        incident.told_at, incident.told_severity, incident.news_at = self.at, str(message.severity), None
        incident.title, incident.severity = message.title[:300], str(message.severity)
        incident.save(update_fields=["told_at", "told_severity", "news_at", "title", "severity"])

    def _is_hidden(self, incident: Incident, alert: Alert) -> bool:
        """Return whether a silence hides the alert, and write down which."""
        silence = self._silence_of(alert)
        if silence:
            self.decide(incident, What.SILENCED, alert, silence=silence.pk)
        return silence is not None

    def _silence_of(self, alert: Alert) -> Silence | None:
        labels = labels_of(alert)
        return next((silence for silence in self.silences if silence.hides(labels)), None)

    def renew(self, incident: Incident) -> None:
        """Tell news of an open incident: at once where it got worse, else not more often than its route says."""
        firing = list(incident.alerts.firing().select_related("rule"))
        worst = max((SEVERITIES.index(alert.severity) for alert in firing), default=0)
        is_worse = worst > SEVERITIES.index(incident.told_severity)
        interval = timedelta(seconds=incident.route.interval_seconds if incident.route else 60)
        if is_worse or incident.told_at is None or self.at - incident.told_at >= interval:
            self.speak(incident, firing)
        elif incident.news_at is None:
            self.decide(incident, What.WAITED, None, seconds=int(interval.total_seconds()))
            Incident.objects.filter(pk=incident.pk).update(news_at=self.at)

    def follow(self, alerts: Sequence[Alert]) -> None:
        """Bring the incidents of alerts that changed or ended up to date, closing those without any left."""
        ids = sorted({alert.incident_id for alert in alerts if alert.incident_id})
        rows = Incident.objects.open().select_for_update(of=("self",)).select_related("route")
        for incident in rows.filter(pk__in=ids).order_by("pk"):
            if incident.alerts.firing().exists():
                self.renew(incident)
            else:
                self._close(incident)
        self._save()

    def note_flapping(self, changes: Iterable[Change]) -> None:
        """Write down of which alerts it is told from now on that they flap, and of no single end."""
        for alert, verdict in ((change.alert, change.verdict) for change in changes):
            if alert.incident and verdict:
                seconds = alert.firings[-1] - alert.firings[0]
                times = {"count": len(alert.firings), "seconds": seconds, "calm": flap.calm(verdict.spec)}
                self.decide(alert.incident, What.FLAPPING, alert, **times)
        self._save()

    def _close(self, incident: Incident) -> None:
        members = list(incident.alerts.all())
        reasons = [Reason(alert.reason) for alert in members if not story.is_evidence(alert)]
        end = reasons[0] if reasons else Reason.RECOVERED
        was_told = Channel.objects.told_of(incident).exists()
        incidents.close_incident(incident, end, story.linked(story.ending(incident, members, self.at), incident))
        self.decide(incident, What.ENDED if was_told else What.ENDED_UNTOLD, None)

    def decide(self, incident: Incident, what: What, alert: Alert | None, **data: object) -> None:
        self.decisions.append(Decision(incident=incident, alert=alert, at=self.at, what=what, data=data))

    def _save(self) -> None:
        Decision.objects.bulk_create(self.decisions)
        self.decisions = []

    def look(self, incident: Incident) -> None:
        """Do for an open incident what time alone brings: news that waited, the end of a silence, a repeat."""
        firing = list(incident.alerts.firing().select_related("rule"))
        if not firing:
            self._close(incident)
        elif incident.told_at is None:
            if any(self._silence_of(alert) is None for alert in firing):
                self.speak(incident, firing)
        elif incident.news_at:
            self.renew(incident)
        else:
            self.decide(incident, What.REPEATED, None)
            self.speak(incident, firing)
        self._save()


def end_orphans(at: datetime) -> None:
    """End the alerts of caches that were deleted while they fired: no poll will ever judge them again."""
    with transaction.atomic():
        orphans = list(Alert.objects.active().filter(cache=None).select_for_update(skip_locked=True))
        if not orphans:
            return
        changes = [Change(alert, alert.state, alert.severity) for alert in orphans]
        for alert in orphans:
            alert.state, alert.reason, alert.resolved_at = Alert.State.RESOLVED, Reason.CACHE_DELETED, at
        Alert.objects.bulk_update(orphans, ["state", "reason", "resolved_at"])
        Transition.objects.bulk_create([transition(change, at) for change in changes])
        tell(changes, at)


def sweep(at: datetime) -> int:
    """Look at open incidents whose time has come; return how many were looked at."""
    end_orphans(at)
    repeat = Q(acknowledged_at=None, told_at__lte=at - F("route__repeat_seconds") * timedelta(seconds=1))
    due = Q(told_at=None) | Q(news_at__isnull=False) | repeat
    found = list(Incident.objects.open().filter(due, alerts__isnull=False).distinct().values_list("pk", flat=True))
    for pk in found:
        with transaction.atomic():
            rows = Incident.objects.open().select_for_update(of=("self",), skip_locked=True).select_related("route")
            if incident := rows.filter(pk=pk).first():
                Desk(at).look(incident)
    return len(found)
