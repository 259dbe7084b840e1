"""From alerts to incidents: what belongs together, who is told, and when; every decision is written down.

All of it happens in the transaction in which the alerts change, so that no change is told without being
recorded, and none is recorded that nobody will be told of. State is never dropped here, only messages are.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from functools import cached_property

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q

from alerts import escalation, flap, hiding, incidents, outbox, rule_errors, story, umbrella
from alerts.alert import Alert, Transition
from alerts.change import Change, transition
from alerts.decision import Decision
from alerts.hiding import SEVERITIES, Screen, labels_of
from alerts.message import Message
from alerts.models import Channel, Delivery, Incident, IncidentQuerySet, Kind, Reason
from alerts.route import Tree, Way

What = Decision.What
WOKEN = ("snoozed_until", "acknowledged_at", "acknowledged_by", "stepped_at", "steps_taken", "paged_at")


def tell(changes: Sequence[Change], at: datetime) -> None:
    """Bring incidents up to what changed at a tick."""
    begun = [change.alert for change in changes if change.begins]
    others = [change for change in changes if not change.begins and change.alert.incident_id]
    if begun or others:
        desk = Desk(at, {change.alert.cache_id for change in changes if change.alert.cache_id})
        desk.take_in(begun)
        news = {change.alert.incident_id for change in others if change.is_news}
        desk.follow([change.alert for change in others], news)
        desk.note_flapping([change for change in changes if change.flaps])


class Desk:
    """Routes, and what hides alerts of some caches, as they stand at a tick; and what is decided by them."""

    def __init__(self, at: datetime, cache_ids: Collection[int]) -> None:
        self.at = at
        self.tree = Tree.load()
        self.screen = Screen(at, self.tree, cache_ids)
        self.decisions: list[Decision] = []
        self.channels: dict[frozenset[int], list[Channel]] = {}
        # By rule, how many incidents were told lately, those of this tick among them.
        self.told_lately: dict[str, int] = {}

    @cached_property
    def sight(self) -> umbrella.Sight:
        return umbrella.sight(self.at)

    def take_in(self, alerts: Iterable[Alert]) -> None:
        """Give alerts that begin to fire their incident, opening it where there is none; causes come first."""
        groups: dict[str, list[tuple[Alert, Way]]] = defaultdict(list)
        for alert in sorted(alerts, key=hiding.width):
            way = self.tree.way(labels_of(alert), self.at)
            groups[way.subject(labels_of(alert))].append((alert, way))
        for subject, members in groups.items():
            self._open_or_join(subject, members)
        self._save()

    def _open_or_join(self, subject: str, members: Sequence[tuple[Alert, Way]]) -> None:
        alerts = [alert for alert, _way in members]
        known = Incident.objects.open().select_for_update(of=("self",)).select_related("route").filter(subject=subject)
        incident = known.first()
        is_known = incident is not None
        incident = incident or self._open(subject, members)
        Alert.objects.filter(pk__in=[alert.pk for alert in alerts]).update(incident=incident)
        for alert in alerts:
            alert.incident = incident
        self.screen.learn(alerts)
        if is_known:
            for alert in alerts if not self._is_early(incident) else ():
                self.decide(incident, What.JOINED, alert)
            self.renew(incident)
        else:
            self._begin(incident, alerts)

    def _begin(self, incident: Incident, alerts: Iterable[Alert]) -> None:
        """Tell of an incident for the first time; where that would be one of too many, tell of them together."""
        if self._is_early(incident):
            self._note_wait(incident)
            return
        seen = self._visible(incident, alerts)
        if seen and self._gather(seen):
            seen = self._visible(incident, seen)
        self.speak(incident, seen)

    def _is_early(self, incident: Incident) -> bool:
        """Return whether the first message still waits for others of the group."""
        wait = timedelta(seconds=incident.route.wait_seconds if incident.route else 0)
        return bool(wait) and incident.told_at is None and self.at - incident.opened_at < wait

    def _note_wait(self, incident: Incident) -> None:
        if incident.news_at is None and incident.route:
            self.decide(incident, What.GATHERS, None, seconds=incident.route.wait_seconds)
            incident.news_at = self.at
            incident.save(update_fields=["news_at"])

    def _gather(self, seen: Sequence[Alert]) -> bool:
        """Open the one incident that stands for what many say at once; return False where they are not many."""
        first = seen[0]
        channels = self._channels(self.channel_ids(seen))
        if self.sight.is_blind:
            made = umbrella.open_outage(self.at, self.sight, channels)
        elif self._is_storm(first.rule_key):
            made = umbrella.open_storm(first.rule, first.rule_key, self.at, channels)
        else:
            return False
        self.screen.umbrellas[made.subject] = made
        return True

    def _is_storm(self, rule_key: str) -> bool:
        """Return whether so many incidents of a rule were told lately that the next ones are told together."""
        if rule_key not in self.told_lately:
            self.told_lately[rule_key] = umbrella.told_lately(rule_key, self.at)
        return self.told_lately[rule_key] >= umbrella.STORM_INCIDENTS

    def _note_told(self, incident: Incident, seen: Iterable[Alert]) -> None:
        if incident.told_at is None and self.at - incident.opened_at < umbrella.STORM_WINDOW:
            for key in {alert.rule_key for alert in seen} & set(self.told_lately):
                self.told_lately[key] += 1

    def _channels(self, ids: Iterable[int]) -> list[Channel]:
        wanted = frozenset(ids)
        if wanted not in self.channels:
            self.channels[wanted] = list(Channel.objects.filter(pk__in=wanted))
        return self.channels[wanted]

    def channel_ids(self, alerts: Iterable[Alert]) -> set[int]:
        return {pk for alert in alerts for pk in self.tree.way(labels_of(alert), self.at).channel_ids}

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
        return incident

    def _visible(self, incident: Incident, alerts: Iterable[Alert]) -> list[Alert]:
        """Return the alerts that nothing hides; of the others it is written down what does, once."""
        seen, moved = [], []
        for alert in alerts:
            hidden = self.screen.hidden(alert)
            if hidden is None:
                seen.append(alert)
            elif (alert.kept_back, alert.behind_id) != (hidden.what, hidden.behind_id):
                alert.kept_back, alert.behind_id = hidden.what, hidden.behind_id
                moved.append(alert)
                self.decide(incident, hidden.what, alert, **hidden.data)
        for what, behind in {(alert.kept_back, alert.behind_id) for alert in moved}:
            alike = [alert.pk for alert in moved if (alert.kept_back, alert.behind_id) == (what, behind)]
            Alert.objects.filter(pk__in=alike).update(kept_back=what, behind=behind)
        self._widen(moved)
        return seen

    def _widen(self, moved: Sequence[Alert]) -> None:
        for made in self.screen.umbrellas.values() if moved else ():
            if behind := [alert for alert in moved if alert.behind_id == made.pk]:
                umbrella.widen(made, self.channel_ids(behind), self.at)

    def speak(self, incident: Incident, seen: Sequence[Alert], is_again: bool = False) -> None:
        """Tell the incident's channels of alerts that nothing hides; again means as if they had not heard of it."""
        if not seen:
            return
        ids = self.channel_ids(seen)
        told = self._told_of(incident)
        message = story.linked(story.opening(seen, self.at, self.screen.hidden_behind(seen)), incident)
        if new := self._channels(ids | told if is_again else ids - told):
            outbox.enqueue(incident, Kind.TRIGGER, message, new)
        if told and not is_again:
            outbox.enqueue(incident, Kind.UPDATE, message)
        what = What.TOLD if ids else What.NOWHERE
        self.decide(incident, what, seen[0], path=self.tree.way(labels_of(seen[0]), self.at).path, alerts=len(seen))
        Alert.objects.filter(pk__in=[alert.pk for alert in seen]).update(told_at=self.at, kept_back="", behind=None)
        self._note_told(incident, seen)
        incident.told_at, incident.told_severity, incident.news_at = self.at, str(message.severity), None
        incident.name_after(message)
        incident.severity, incident.paged_at = str(message.severity), incident.paged_at or self.at
        incident.save(update_fields=["told_at", "told_severity", "news_at", "title", "titles", "severity", "paged_at"])

    @staticmethod
    def _told_of(incident: Incident) -> set[int]:
        """Return the channels that were told of an incident: none of one without any message."""
        is_told = incident.last_sequence > 0
        return set(Channel.objects.told_of(incident).values_list("pk", flat=True)) if is_told else set()

    def renew(self, incident: Incident) -> None:
        """Tell news of an open incident: at once where it got worse, else not more often than its route says."""
        if incident.told_at is None:
            self._begin(incident, firing_of(incident))
            return
        seen = self._visible(incident, firing_of(incident))
        worst = max((SEVERITIES.index(alert.severity) for alert in seen), default=0)
        is_worse = worst > SEVERITIES.index(incident.told_severity)
        interval = timedelta(seconds=incident.route.interval_seconds if incident.route else 60)
        if is_worse or (self.at - incident.told_at >= interval and not self._sleeps(incident)):
            self.speak(incident, seen)
        elif incident.news_at is None:
            what = What.SNOOZED if self._sleeps(incident) else What.WAITED
            self.decide(incident, what, None, seconds=int(interval.total_seconds()))
            incident.news_at = self.at
            incident.save(update_fields=["news_at"])

    def _sleeps(self, incident: Incident) -> bool:
        return incident.snoozed_until is not None and self.at < incident.snoozed_until

    def _wake(self, incident: Incident, seen: Sequence[Alert]) -> None:
        """Tell an incident again whose sleep is over, as if it were new: nobody looks after it any more."""
        incident.snoozed_until = incident.acknowledged_at = incident.stepped_at = None
        incident.acknowledged_by, incident.steps_taken, incident.paged_at = "", 0, self.at
        incident.save(update_fields=WOKEN)
        self.decide(incident, What.WOKEN, None)
        self.speak(incident, seen, is_again=True)

    def follow(self, alerts: Sequence[Alert], news: Collection[int | None]) -> None:
        """Bring the incidents of alerts that changed or ended up to date, closing those without any left.

        Of the others than those in `news` nobody is told: it is only written down what hides them now.
        """
        ids = sorted({alert.incident_id for alert in alerts if alert.incident_id})
        rows = Incident.objects.open().select_for_update(of=("self",)).select_related("route")
        for incident in rows.filter(pk__in=ids).order_by("pk"):
            if not incident.alerts.firing().exists():
                self._close(incident)
            elif incident.pk in news:
                self.renew(incident)
            else:
                self._visible(incident, firing_of(incident))
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
        """Do for an open incident what time alone brings: news that waited, the end of what hid it, a repeat."""
        firing = firing_of(incident)
        if not firing:
            self._close(incident)
        elif seen := self._visible(incident, firing):
            if incident.snoozed_until and not self._sleeps(incident):
                self._wake(incident, seen)
            elif incident.told_at is None or incident.news_at or any(alert.told_at is None for alert in seen):
                self.renew(incident)
            elif self._is_due_again(incident):
                self.decide(incident, What.REPEATED, None)
                self.speak(incident, seen)
            elif not incident.deliveries.exists() and self.channel_ids(seen):
                self.speak(incident, seen)
        self._save()

    def escalate(self, incident: Incident) -> None:
        """Take the incident's next step where it is due; what is hidden or over waits."""
        following = escalation.next_step(incident, self.tree)
        if following is None or following.at > self.at or incident.paged_at is None:
            return
        if message := self._standing(incident):
            outbox.enqueue(incident, Kind.TRIGGER, escalation.worded(message, incident, self.at), following.channels)
            incident.steps_taken, incident.stepped_at = incident.steps_taken + 1, self.at
            incident.save(update_fields=["steps_taken", "stepped_at"])
            seconds, names = (self.at - incident.paged_at).total_seconds(), [one.name for one in following.channels]
            self.decide(incident, What.ESCALATED, None, seconds=int(seconds), channels=names)
        self._save()

    def _standing(self, incident: Incident) -> Message | None:
        """Return what is to be said of an incident as it stands; None where nothing of it is to be told."""
        if umbrella.is_one(incident):
            return story.linked(umbrella.message_of(incident, self.at), incident)
        seen = self._visible(incident, firing_of(incident))
        return story.linked(story.opening(seen, self.at), incident) if seen else None

    def _is_due_again(self, incident: Incident) -> bool:
        if incident.acknowledged_at or incident.told_at is None or incident.route is None:
            return False
        return self.at - incident.told_at >= timedelta(seconds=incident.route.repeat_seconds)


def firing_of(incident: Incident) -> list[Alert]:
    return list(incident.alerts.firing().select_related("rule", "behind"))


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
    umbrella.look(at)
    rule_errors.look(at)
    found = list(due(at).values_list("pk", flat=True))
    for pk in found:
        with transaction.atomic():
            rows = Incident.objects.open().select_for_update(of=("self",), skip_locked=True).select_related("route")
            if incident := rows.filter(pk=pk).first():
                desk_of(incident, at).look(incident)
    escalate(at)
    return len(found)


def escalate(at: datetime) -> None:
    """Take the steps that have come. The row's lock, and what is written in it, keep two from taking the same."""
    for pk in escalation.due(at, Tree.load()):
        with transaction.atomic():
            rows = escalation.waiting().select_for_update(of=("self",), skip_locked=True)
            if incident := rows.filter(pk=pk).first():
                desk_of(incident, at).escalate(incident)


def desk_of(incident: Incident, at: datetime) -> Desk:
    return Desk(at, set(incident.alerts.values_list("cache", flat=True)))


def due(at: datetime) -> IncidentQuerySet:
    """Return the open incidents that time may have brought something for, causes before what they hide."""
    repeat = Q(acknowledged_at=None, told_at__lte=at - F("route__repeat_seconds") * timedelta(seconds=1))
    # Nobody was there for it; since then the hours of a route began.
    begun = Tree.load().begun(at)
    unheard = Q(told_at__lt=begun) & ~Exists(Delivery.objects.filter(incident=OuterRef("pk"))) if begun else Q()
    untold = Alert.objects.firing().filter(incident=OuterRef("pk"), told_at=None)
    waits = Q(told_at=None) | Q(news_at__isnull=False) | repeat | Exists(untold) | Q(snoozed_until__lte=at) | unheard
    return Incident.objects.open().filter(waits, alerts__isnull=False).distinct().order_by("pk")
