"""Microsoft Teams: a card to a webhook of a Workflow (or of a connector, which are older)."""

import re
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from alerts import wording
from alerts.causes import Cause
from alerts.channel import Accepted, Final, Outcome, RetryAt, Sending, Settings, Unknown
from alerts.fields import AddressField
from alerts.http import Answer, Request
from alerts.http_channel import HttpChannel
from alerts.message import Severity
from alerts.models import Kind
from alerts.text import cut, cut_bytes

# A message may have 28 kB, of which JSON takes its part.
TEXT_LIMIT_BYTES = 6_000
FACTS_LIMIT = 20
FACT_LIMIT_BYTES = 500
STYLES = {Severity.CRITICAL: "attention", Severity.ERROR: "attention", Severity.WARNING: "warning"}
CALM = {Kind.RESOLVE: "good", Kind.ACKNOWLEDGE: "emphasis"}
# Connectors answer 200 to what Teams itself refused.
INNER_ERROR = re.compile(r"HTTP error (\d{3})")


class TeamsForm(forms.Form):
    url = AddressField(
        label=_("Webhook address"),
        help_text=_("From the Workflow “Post to a channel when a webhook request is received”."),
    )


class Teams(HttpChannel):
    name = "teams"
    label = _("Microsoft Teams")
    form = TeamsForm
    secrets = frozenset({"url"})
    gap_seconds = 0.5

    def request(self, settings: Settings, sending: Sending) -> Request:
        attachment = {
            "contentType": "application/vnd.microsoft.card.adaptive",
            "contentUrl": None,
            "content": card(sending),
        }
        return Request.json(settings["url"], {"type": "message", "attachments": [attachment]}, (settings["url"],))

    def judge(self, answer: Answer, sending: Sending) -> Outcome:
        if answer.body.strip() in {b"", b"1"} or isinstance(answer.parsed(), dict):
            return Accepted(answer.status, answer.text)
        inner = INNER_ERROR.search(answer.text)
        status = int(inner[1]) if inner else 0
        told, words = (answer.status, answer.text), cut(answer.text, 200)
        if status == 429:
            return RetryAt(*told, cause=Cause.BUSY, holds_channel=True)
        if status >= 500:
            return Unknown(*told, cause=Cause.SERVER_ERROR, words=str(status))
        return Final(*told, cause=Cause.REFUSED_BY_SERVICE, words=words)


def card(sending: Sending) -> dict[str, Any]:
    message = sending.message
    parts = [block(cut_bytes(wording.headline(sending), 1_000), weight="bolder", size="medium")]
    if message.text:
        parts.append(block(cut_bytes(message.text, TEXT_LIMIT_BYTES)))
    if message.facts:
        parts.append({"type": "FactSet", "facts": [fact(f.name, f.value) for f in message.facts[:FACTS_LIMIT]]})
    style = CALM.get(sending.kind, STYLES.get(message.severity, "accent"))
    return {
        "type": "AdaptiveCard",
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "version": "1.4",
        "msteams": {"width": "Full"},
        "body": [{"type": "Container", "style": style, "bleed": True, "items": parts}],
        "actions": [
            {"type": "Action.OpenUrl", "title": words, "url": address} for address, words in wording.links(message)
        ],
    }


def block(text: str, **style: str) -> dict[str, Any]:
    return {"type": "TextBlock", "text": text, "wrap": True, **style}


def fact(name: str, value: str) -> dict[str, str]:
    return {"title": cut_bytes(name, 100), "value": cut_bytes(value, FACT_LIMIT_BYTES)}
