"""What the page of alerts lists: what fires or waits now, and incidents that were."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.db.models import Case, Q, QuerySet, Value, When
from django.http import QueryDict
from django.utils import translation
from django.utils.translation import gettext_lazy as _

from alerts import story
from alerts.alert import Alert, AlertQuerySet
from alerts.models import Incident

TEXT_LIMIT = 100
# A page of more is read by nobody, and would be drawn every few seconds.
ALERTS_SHOWN = 300
SEVERITIES = ("critical", "warning")
SEVERITY_WORDS = {"critical": _("critical"), "warning": _("warning")}
SPANS = {"1d": timedelta(days=1), "7d": timedelta(days=7), "30d": timedelta(days=30), "all": timedelta(days=9_000)}
SPAN_WORDS = {"1d": _("24 hours"), "7d": _("7 days"), "30d": _("30 days"), "all": _("all")}
WORST_FIRST = Case(When(severity="critical", then=Value(0)), When(severity="warning", then=Value(1)), default=Value(2))
FIRING_FIRST = Case(
    When(state__in=(Alert.State.FIRING, Alert.State.FLAPPING), then=Value(0)),
    When(state=Alert.State.RECOVERING, then=Value(1)),
    default=Value(2),
)
# Each state has a shape of its own (templates/_icons.html).
ICONS = {"pending": "waiting", "recovering": "refresh", "flapping": "heartbeat", "resolved": "ok"}


@dataclass(frozen=True, slots=True)
class AlertQuery:
    """What the URL asks for. What is not known falls back to everything."""

    text: str = ""
    label: str = ""
    severity: str = ""
    span: str = "7d"

    @classmethod
    def of(cls, given: QueryDict) -> AlertQuery:
        severity, span = given.get("severity", ""), given.get("span", "")
        text, label = (given.get(name, "").strip()[:TEXT_LIMIT] for name in ("q", "label"))
        return cls(text, label, severity if severity in SEVERITIES else "", span if span in SPANS else "7d")

    @property
    def is_filtered(self) -> bool:
        return bool(self.text or self.label or self.severity)

    def url(self, **changes: str) -> str:
        parts = {"q": self.text, "label": self.label, "severity": self.severity, "span": self.span} | changes
        return urlencode({name: value for name, value in parts.items() if value})

    def spans(self) -> list[dict[str, Any]]:
        return [
            {"word": SPAN_WORDS[span], "url": f"?{self.url(span=span)}", "is_on": span == self.span} for span in SPANS
        ]

    def alerts(self, among: AlertQuerySet) -> AlertQuerySet:
        """Return the alerts asked for, worst first."""
        found = among.select_related("rule", "incident", "cache", "behind")
        if self.text:
            fields = ("rule_key", "cache_name", "node_address", "rule__text__title", *titled("incident__"))
            found = found.filter(any_of(fields, self.text))
        if self.label:
            found = found.filter(labels__contains=label_of(self.label))
        if self.severity:
            found = found.filter(severity=self.severity)
        return found.order_by(FIRING_FIRST, WORST_FIRST, "began_at", "pk")

    def incidents(self, now: datetime) -> QuerySet[Incident]:
        """Return the incidents of the time asked for, newest first; those that are open too."""
        found = Incident.objects.real().filter(opened_at__gte=now - SPANS[self.span]).select_related("cache")
        if self.text:
            found = found.filter(any_of(("cache_name", *titled()), self.text))
        if self.label:
            found = found.filter(cache__labels__contains=label_of(self.label))
        return found.filter(severity=self.severity) if self.severity else found


def any_of(fields: Iterable[str], text: str) -> Q:
    found = Q()
    for name in fields:
        found |= Q(**{f"{name}__icontains": text})
    return found


def titled(of: str = "") -> tuple[str, str]:
    """Return the fields of an incident's title as it was sent, and as the reader sees it."""
    return f"{of}title", f"{of}titles__{translation.get_language()}"


def label_of(text: str) -> dict[str, str]:
    key, _sign, value = text.partition("=")
    return {key.strip(): value.strip()}


@dataclass(frozen=True, slots=True)
class AlertRow:
    """One alert as lists show it."""

    alert: Alert

    @property
    def title(self) -> str:
        return story.rule_title(self.alert)

    @property
    def place(self) -> str:
        return story.place(self.alert)

    @property
    def whole_name(self) -> str:
        """Return the name of the node that `place` shortens; "" where it is whole."""
        whole = self.alert.node_address
        return "" if whole in self.place else whole

    @property
    def amount(self) -> str:
        return story.state(self.alert)

    @property
    def kept_back(self) -> str:
        """Return what keeps it from being told by itself; "" where nothing does."""
        is_over = self.alert.state == Alert.State.RESOLVED
        return "" if is_over or not self.alert.kept_back else str(self.alert.get_kept_back_display())

    @property
    def icon(self) -> str:
        return ICONS.get(self.alert.state) or self.alert.severity or "notice"

    @property
    def tone(self) -> str:
        """Return the colour of the state; the words and the shape beside it say the same."""
        if self.alert.state == Alert.State.RESOLVED:
            return "ok"
        return "waiting" if self.alert.state == Alert.State.PENDING else self.alert.severity or "waiting"


@dataclass(slots=True)
class Group:
    """The alerts of one incident; those without one stand together at the end."""

    incident: Incident | None
    rows: list[AlertRow] = field(default_factory=list)

    @property
    def is_alone(self) -> bool:
        """Return whether its title says what its only alert is: a table would say it twice."""
        return self.incident is not None and len(self.rows) == 1


def groups(alerts: Sequence[Alert]) -> list[Group]:
    """Return alerts by incident, in the order of each incident's first alert."""
    found: dict[int, Group] = {}
    for alert in alerts:
        group = found.setdefault(alert.incident_id or 0, Group(alert.incident))
        group.rows.append(AlertRow(alert))
    lonely = found.pop(0, None)
    return [*found.values(), *([lonely] if lonely else [])]


def export_row(incident: Incident) -> dict[str, Any]:
    """Return an incident as a row of the export."""
    return {
        "id": incident.pk,
        "title": incident.title,
        "severity": incident.severity,
        "cache": incident.cache_name,
        "reason": incident.reason,
        "opened_at": incident.opened_at.isoformat(),
        "acknowledged_at": incident.acknowledged_at.isoformat() if incident.acknowledged_at else "",
        "acknowledged_by": incident.acknowledged_by,
        "closed_at": incident.closed_at.isoformat() if incident.closed_at else "",
        "end_reason": incident.end_reason,
    }
