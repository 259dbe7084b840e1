"""Any receiver: our own versioned JSON, or that of Alertmanager, signed with the time of sending."""

import base64
import hashlib
import hmac
import time
from typing import Any

import orjson
from django import forms
from django.utils.translation import gettext_lazy as _

from alerts.channel import Sending, Settings
from alerts.fields import AddressField, HeaderField
from alerts.http import Request
from alerts.http_channel import HttpChannel
from alerts.models import Kind
from alerts.text import cut

VERSION = 1
OURS, ALERTMANAGER = "shardwatch", "alertmanager"
# What Alertmanager's clients read as "not over".
NO_END = "0001-01-01T00:00:00Z"
TEXT_LIMIT = 20_000


class WebhookForm(forms.Form):
    url = AddressField(label=_("Address"))
    format = forms.ChoiceField(
        label=_("Format"),
        choices=((OURS, _("Shardwatch's own JSON")), (ALERTMANAGER, _("Alertmanager's webhook JSON"))),
    )
    secret = forms.CharField(
        label=_("Signing secret"),
        required=False,
        min_length=16,
        max_length=200,
        help_text=_("At least 16 characters. With it every request is signed: see docs/channels.md."),
    )
    authorization = HeaderField(label=_("Authorization header"), required=False, help_text=_("Such as Bearer …"))


class Webhook(HttpChannel):
    name = "webhook"
    label = _("Webhook")
    form = WebhookForm
    secrets = frozenset({"secret", "authorization"})
    # Receivers know a copy by its id.
    is_idempotent = True

    def request(self, settings: Settings, sending: Sending) -> Request:
        body = alertmanager_body(sending) if settings["format"] == ALERTMANAGER else own_body(sending)
        content, secret = orjson.dumps(body), settings.get("secret", "")
        headers = {"Content-Type": "application/json", "webhook-id": sending.id}
        if secret:
            headers |= signature(secret, sending.id, int(time.time()), content)
        if authorization := settings.get("authorization", ""):
            headers["Authorization"] = authorization
        return Request(settings["url"], content, headers, (secret, authorization))


def signature(secret: str, identity: str, at: int, content: bytes) -> dict[str, str]:
    """Return the headers of a signed request, as standardwebhooks.com has them."""
    signed = hmac.new(secret.encode(), f"{identity}.{at}.".encode() + content, hashlib.sha256).digest()
    return {"webhook-timestamp": str(at), "webhook-signature": f"v1,{base64.b64encode(signed).decode()}"}


def own_body(sending: Sending) -> dict[str, Any]:
    message = sending.message
    return {
        "version": VERSION,
        "id": sending.id,
        "kind": str(sending.kind),
        "is_test": sending.is_test,
        "incident": {
            "key": sending.incident_key,
            "title": sending.title or message.title,
            "opened_at": sending.opened_at.isoformat(),
        },
        "sequence": sending.sequence,
        "message": {**message.as_json(), "text": cut(message.text, TEXT_LIMIT)},
    }


def alertmanager_body(sending: Sending) -> dict[str, Any]:
    labels = labels_of(sending)
    status = "resolved" if sending.kind == Kind.RESOLVE else "firing"
    notes = annotations_of(sending)
    alert = {
        "status": status,
        "labels": labels,
        "annotations": notes,
        "startsAt": sending.opened_at.isoformat(),
        "endsAt": sending.message.at.isoformat() if sending.kind == Kind.RESOLVE else NO_END,
        "generatorURL": sending.message.link,
        "fingerprint": hashlib.sha256(sending.incident_key.encode()).hexdigest()[:16],
    }
    return {
        "version": "4",
        "groupKey": sending.incident_key,
        "truncatedAlerts": 0,
        "status": status,
        "receiver": "shardwatch",
        "groupLabels": {"alertname": labels["alertname"]},
        "commonLabels": labels,
        "commonAnnotations": notes,
        "externalURL": sending.message.link,
        "alerts": [alert],
    }


def labels_of(sending: Sending) -> dict[str, str]:
    """Return labels that tell this incident from all others, and by which routes choose."""
    message = sending.message
    ours = {"alertname": message.labels.get("alertname", "Shardwatch"), "incident": sending.incident_key}
    return {**message.labels, **ours, "severity": str(message.severity), "source": message.source}


def annotations_of(sending: Sending) -> dict[str, str]:
    message = sending.message
    given = {"summary": message.title, "description": cut(message.text, TEXT_LIMIT), "runbook_url": message.runbook}
    return {name: value for name, value in given.items() if value}
