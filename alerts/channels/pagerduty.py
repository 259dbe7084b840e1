"""PagerDuty's Events API v2: trigger, acknowledge and resolve under the incident's key."""

from typing import Any

from django import forms
from django.conf import settings as site
from django.utils.translation import gettext_lazy as _

from alerts.causes import Cause
from alerts.channel import Accepted, Final, Outcome, Sending, Settings
from alerts.http import Answer, Request
from alerts.http_channel import HttpChannel
from alerts.message import Message
from alerts.models import Kind
from alerts.text import cut

SUMMARY_LIMIT = 1_024
VALUE_LIMIT = 1_000
DETAILS_LIMIT = 60
# The schema has no word for an update: a trigger under the same key renews the incident's text.
ACTIONS = {Kind.TRIGGER: "trigger", Kind.UPDATE: "trigger", Kind.ACKNOWLEDGE: "acknowledge", Kind.RESOLVE: "resolve"}


class PagerDutyForm(forms.Form):
    routing_key = forms.RegexField(
        r"\A[A-Za-z0-9]{32}\Z",
        label=_("Integration key"),
        error_messages={"invalid": _("The key has 32 letters and digits. It is on the service's Integrations page.")},
        help_text=_("The key of an “Events API v2” integration of a PagerDuty service."),
    )


class PagerDuty(HttpChannel):
    name = "pagerduty"
    label = _("PagerDuty")
    form = PagerDutyForm
    secrets = frozenset({"routing_key"})
    is_idempotent = True
    # Its limit is that of the service, which PagerDuty counts by the minute.
    busy_seconds = 120

    def request(self, settings: Settings, sending: Sending) -> Request:
        return Request.json(
            f"{site.PAGERDUTY_URL}/v2/enqueue", event(settings["routing_key"], sending), (settings["routing_key"],)
        )

    def judge(self, answer: Answer, sending: Sending) -> Outcome:
        told = answer.parsed()
        if isinstance(told, dict) and told.get("status") == "success":
            return Accepted(answer.status, answer.text)
        return Final(answer.status, answer.text, cause=Cause.BAD_ANSWER, words=cut(answer.text, 200))


def event(routing_key: str, sending: Sending) -> dict[str, Any]:
    """Return the body within the limits of the API; acknowledge and resolve need the key alone."""
    made: dict[str, Any] = {
        "routing_key": routing_key,
        "event_action": ACTIONS[sending.kind],
        "dedup_key": sending.incident_key,
    }
    if made["event_action"] != "trigger":
        return made
    message = sending.message
    return {
        **made,
        "client": "Shardwatch",
        **({"client_url": message.link} if message.link else {}),
        "links": links(message),
        "payload": payload(message),
    }


def payload(message: Message) -> dict[str, Any]:
    details = {fact.name: cut(fact.value, VALUE_LIMIT) for fact in message.facts[:DETAILS_LIMIT]}
    return {
        "summary": cut(message.title, SUMMARY_LIMIT),
        "source": cut(message.source, 255) or "shardwatch",
        "severity": str(message.severity),
        "timestamp": message.at.isoformat(),
        "custom_details": {**({"text": cut(message.text, 10_000)} if message.text else {}), **details},
    }


def links(message: Message) -> list[dict[str, str]]:
    named = ((message.link, "Shardwatch"), (message.runbook, "Run book"), (message.acknowledge_link, "Acknowledge"))
    return [{"href": href, "text": text} for href, text in named if href]
