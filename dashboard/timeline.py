"""The story of an incident: what changed, what was decided, and what came of each message, in one list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import Q
from django.utils.translation import gettext as _

from alerts import decision_words, story, unreachable
from alerts.alert import Alert, Transition
from alerts.decision import Decision
from alerts.incident_acts import UNTIL
from alerts.models import Attempt, Delivery, Incident
from alerts.reason import Reason
from alerts.remark import Remark, person_words
from dashboard.alert_rows import ICONS

# Rows of each kind that a page shows, the newest.
LIMIT = 300
# How long alerts may have been pending before the incident.
BEFORE = timedelta(days=1)
RESULT_ICONS = {"accepted": "ok", "retry": "refresh", "final": "critical", "unknown": "warning"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One line; `kind` is alert, decision, delivery or person."""

    at: datetime
    kind: str
    icon: str
    words: str
    detail: str = ""
    author: str = ""


def alerts_of(incident: Incident) -> list[Alert]:
    """Return the alerts of an incident, also those that belong to a later one by now."""
    decided = Decision.objects.filter(incident=incident, alert__isnull=False).values("alert")
    rows = Alert.objects.filter(Q(incident=incident) | Q(pk__in=decided)).select_related(
        "rule", "cache", "node", "behind"
    )
    return list(rows.order_by("began_at", "pk")[:LIMIT])


def hidden_behind(incident: Incident) -> list[Alert]:
    """Return what still fires and is not told by itself, as people hear of this incident."""
    return list(
        incident.hidden_alerts.firing().select_related("rule", "cache", "behind").order_by("began_at", "pk")[:LIMIT]
    )


def entries(incident: Incident, alerts: Iterable[Alert]) -> list[Entry]:
    """Return everything that is known of an incident, oldest first."""
    found = [*_transitions(incident, alerts), *_decisions(incident), *_deliveries(incident), *_remarks(incident)]
    return sorted(found, key=lambda entry: entry.at)


def _transitions(incident: Incident, alerts: Iterable[Alert]) -> Iterator[Entry]:
    by_id = {alert.pk: alert for alert in alerts}
    rows = Transition.objects.filter(alert__in=by_id, at__gte=incident.opened_at - BEFORE)
    if incident.closed_at:
        rows = rows.filter(at__lte=incident.closed_at)
    for row in _of_episode(list(rows.order_by("-at", "-pk")[:LIMIT])[::-1], incident.opened_at):
        yield Entry(row.at, "alert", _icon(row), *_transition_words(row, by_id[row.alert_id]))


def _of_episode(rows: Iterable[Transition], opened_at: datetime) -> list[Transition]:
    """Leave out what an alert did before it began the last time before the incident: an alert has many lives."""
    kept: dict[int, list[Transition]] = {}
    for row in rows:
        if not row.was and row.at <= opened_at:
            kept[row.alert_id] = []
        kept.setdefault(row.alert_id, []).append(row)
    return sorted((row for lives in kept.values() for row in lives), key=lambda row: (row.at, row.pk))


def _icon(row: Transition) -> str:
    return ICONS.get(row.state) or row.severity or "notice"


def _transition_words(row: Transition, alert: Alert) -> tuple[str, str]:
    given = {"place": story.place(alert) or alert.cache_name, "state": row.get_state_display()}
    given |= {"severity": _severity(row.severity)}
    if row.state == Alert.State.RESOLVED:
        given["reason"] = row.get_reason_display()
        is_plain = row.reason == Reason.THRESHOLD
        words = _("%(place)s: %(state)s") if is_plain else _("%(place)s: %(state)s (%(reason)s)")
    else:
        words = _("%(place)s: %(state)s (%(severity)s)")
    return words % given, _numbers(row, alert)


def _numbers(row: Transition, alert: Alert) -> str:
    if row.state != Alert.State.RESOLVED and (words := unreachable.words(alert)):
        return words
    unit = story.unit(alert.rule)
    if row.value is None:
        return str(row.get_reason_display())
    if unit in {"", "claim"}:
        return ""
    return story.against(row.value, row.bound, unit)


def _severity(severity: str) -> str:
    return {"critical": _("critical"), "warning": _("warning")}.get(severity, severity)


def _decisions(incident: Incident) -> Iterator[Entry]:
    for row in incident.decisions.select_related("alert").order_by("-at", "-pk")[:LIMIT]:
        yield Entry(row.at, "decision", "info", decision_words.sentence(row))


def _deliveries(incident: Incident) -> Iterator[Entry]:
    tried = Attempt.objects.filter(delivery__incident=incident).select_related("delivery__stands_in_for", "channel")
    for row in tried.order_by("-pk")[:LIMIT]:
        yield Entry(row.at, "delivery", RESULT_ICONS[row.result], decision_words.attempt_words(row), row.answer)
    for waiting in incident.deliveries.exclude(state=Delivery.State.ACCEPTED).select_related(
        "channel", "stands_in_for"
    )[:LIMIT]:
        at = waiting.done_at or waiting.created_at
        yield Entry(at, "delivery", "notice" if waiting.state else "waiting", decision_words.waiting_words(waiting))


def _remarks(incident: Incident) -> Iterator[Entry]:
    for row in incident.remarks.order_by("-at", "-pk")[:LIMIT]:
        yield Entry(row.at, "person", "user", _remark_words(row), author=person_words(row.author))


def _remark_words(row: Remark) -> str:
    words = {
        Remark.What.ACKNOWLEDGED: _("Acknowledged"),
        Remark.What.CLOSED: _("Closed by hand"),
        Remark.What.ASSIGNED: _("Gave it to %(text)s"),
        Remark.What.SNOOZED: _("Put it to sleep until %(text)s"),
    }
    found = words.get(Remark.What(row.what))
    return found % {"text": _moment(row.text) if row.what == Remark.What.SNOOZED else row.text} if found else row.text


def _moment(text: str) -> str:
    """Return a moment that was written down in UTC, in the reader's time zone."""
    return decision_words.clock(datetime.strptime(text, UNTIL).replace(tzinfo=UTC))
