"""PagerDuty's Events API v2: trigger, acknowledge and resolve under the incident's key."""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django import forms
from django.conf import settings as site
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from alerts.causes import Cause
from alerts.channel import Accepted, Final, Outcome, Sending, Settings
from alerts.http import Answer, Request, post
from alerts.http_channel import HttpChannel, refusal
from alerts.message import Message
from alerts.models import Kind
from alerts.text import cut
from collectors.event import Kind as EventKind

SUMMARY_LIMIT = 1_024
VALUE_LIMIT = 1_000
DETAILS_LIMIT = 60
# The schema has no word for an update: a trigger under the same key renews the incident's text.
ACTIONS = {Kind.TRIGGER: "trigger", Kind.UPDATE: "trigger", Kind.ACKNOWLEDGE: "acknowledge", Kind.RESOLVE: "resolve"}


class KindsField(forms.CharField):
    """Kinds of events, separated by commas or blanks."""

    def clean(self, value: Any) -> list[str]:
        found = list(dict.fromkeys(re.split(r"[,;\s]+", super().clean(value).strip(" ,;")))) if value else []
        if unknown := [kind for kind in found if kind not in EventKind.values]:
            names = {"names": ", ".join(EventKind.values), "unknown": ", ".join(unknown)[:100]}
            raise ValidationError(_("There is no kind %(unknown)s. Known: %(names)s.") % names)
        return found

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(value) if isinstance(value, list) else value


class PagerDutyForm(forms.Form):
    routing_key = forms.RegexField(
        r"\A[A-Za-z0-9]{32}\Z",
        label=_("Integration key"),
        error_messages={"invalid": _("The key has 32 letters and digits. It is on the service's Integrations page.")},
        help_text=_("The key of an “Events API v2” integration of a PagerDuty service."),
    )
    changes = KindsField(
        label=_("Change events"),
        required=False,
        max_length=300,
        help_text=_("Kinds of events that PagerDuty shows beside incidents, such as deploy, failover, scale-out."),
    )
    webhook_secret = forms.CharField(
        label=_("Webhook secret"),
        required=False,
        max_length=200,
        help_text=_("Of a webhook subscription to the address on the channel's page: acknowledging there counts here."),
    )


class PagerDuty(HttpChannel):
    name = "pagerduty"
    label = _("PagerDuty")
    form = PagerDutyForm
    secrets = frozenset({"routing_key", "webhook_secret"})
    is_idempotent = True
    hook = "hook-pagerduty"
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


def tell_change(routing_key: str, change: Mapping[str, Any]) -> Outcome:
    """Make one attempt to tell of a change, which wakes nobody."""
    body = {"routing_key": routing_key, **change}
    answer = post(Request.json(f"{site.PAGERDUTY_URL}/v2/change/enqueue", body, (routing_key,)))
    if not isinstance(answer, Answer):
        return answer
    if HTTPStatus(200) <= answer.status < HTTPStatus(300):
        return Accepted(answer.status, answer.text)
    return refusal(answer)


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
