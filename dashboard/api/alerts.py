"""Alerts: what the rules say of each target now."""

from datetime import datetime
from typing import Any, Literal

from django.http import HttpRequest
from ninja import Query, Router, Schema
from pydantic import Field

from accounts.api_auth import callers
from alerts import story
from alerts.alert import Alert, AlertQuerySet
from dashboard.alert_rows import AlertQuery
from dashboard.api.answers import problems
from dashboard.api.paging import PageAnswer, PageQuery

router = Router(tags=["alerts"], auth=callers())
State = Literal["pending", "firing", "recovering", "flapping", "resolved"]
Severity = Literal["critical", "warning"]


class AlertFilter(PageQuery):
    q: str = Field("", max_length=100, description="Part of a rule's, cache's or node's name.")
    label: str = Field("", max_length=100, description="A label, such as env=production.")
    severity: Severity | None = None
    state: list[State] = Field([], max_length=5, description="Given several times, any may fit.")

    def apply(self) -> AlertQuerySet:
        """Return what was asked for, worst first; without a state those that are not resolved."""
        query = AlertQuery(self.q.strip(), self.label.strip(), self.severity or "")
        return query.alerts(Alert.objects.filter(state__in=self.state) if self.state else Alert.objects.active())


class AlertAnswer(Schema):
    id: int
    rule: str = Field(description="The rule's key.")
    title: str
    state: State
    severity: str
    reason: str = Field(description="threshold, no_data, eval_error, stale_source, rule_changed …")
    cache: str
    place: str = Field(description="The shard and node it is about; empty for a whole cache.")
    labels: dict[str, str]
    value: float | None = Field(description="Null where nothing was measured.")
    bound: float | None
    in_words: str = Field(description="The value against its bound, with units; or why something does not answer.")
    began_at: datetime
    fired_at: datetime | None
    resolved_at: datetime | None
    incident: int | None
    told_at: datetime | None = Field(description="When people were last told of this episode.")
    kept_back: str = Field(description="silenced, hidden … where it is not told by itself, else empty.")
    behind: int | None = Field(description="The incident that people hear of instead.")


class AlertPage(PageAnswer):
    alerts: list[AlertAnswer]


@router.get("", response={200: AlertPage, **problems()}, operation_id="list_alerts", summary="List alerts")
def list_alerts(request: HttpRequest, filters: Query[AlertFilter]) -> dict[str, Any]:
    """Worst first: firing before pending, critical before warning."""
    found = filters.apply()
    alerts = [alert_answer(alert) for alert in found[filters.cut]]
    return {**filters.told(found.count()), "alerts": alerts}


def alert_answer(alert: Alert) -> dict[str, Any]:
    same = ("id", "state", "severity", "reason", "labels", "value", "bound", "began_at", "fired_at", "resolved_at")
    return {
        **{name: getattr(alert, name) for name in (*same, "told_at", "kept_back")},
        "behind": alert.behind_id,
        "rule": alert.rule_key,
        "title": story.rule_title(alert),
        "cache": alert.cache_name,
        "place": story.place(alert),
        "in_words": story.state(alert),
        "incident": alert.incident_id,
    }
