"""Alertmanager as the one that tells people: incidents are posted to its API as alerts."""

from datetime import timedelta
from typing import Any

import orjson
from django import forms
from django.utils.translation import gettext_lazy as _

from alerts.channel import Accepted, Outcome, Sending, Settings
from alerts.channels.webhook import annotations_of, labels_of
from alerts.fields import AddressField, HeaderField
from alerts.http import Answer, Request
from alerts.http_channel import HttpChannel
from alerts.models import Kind

# Without an end, Alertmanager takes an alert that is not repeated for over after minutes.
LONG = timedelta(days=365)
HANDLE_LIMIT = 500
NEEDED = ("alertname", "incident", "severity")


class AlertmanagerForm(forms.Form):
    url = AddressField(
        label=_("Address"), help_text=_("Such as http://alertmanager:9093, with its path prefix if it has one.")
    )
    authorization = HeaderField(
        label=_("Authorization header"), required=False, help_text=_("Such as Bearer … or Basic …")
    )


class Alertmanager(HttpChannel):
    name = "alertmanager"
    label = _("Alertmanager")
    form = AlertmanagerForm
    secrets = frozenset({"authorization"})
    is_idempotent = True
    ignores = frozenset({Kind.ACKNOWLEDGE})

    def request(self, settings: Settings, sending: Sending) -> Request:
        authorization = settings.get("authorization", "")
        headers = {"Authorization": authorization} if authorization else {}
        url = f"{settings['url'].rstrip('/')}/api/v2/alerts"
        return Request.json(url, [alert(sending)], (authorization,), **headers)

    def judge(self, answer: Answer, sending: Sending) -> Outcome:
        return Accepted(answer.status, answer.text, handle=remembered(identity(sending)))


def alert(sending: Sending) -> dict[str, Any]:
    message = sending.message
    end = message.at if sending.kind == Kind.RESOLVE else sending.opened_at + LONG
    return {
        "labels": identity(sending),
        "annotations": {**annotations_of(sending), **{clean(fact.name): fact.value for fact in message.facts}},
        "startsAt": sending.opened_at.isoformat(),
        "endsAt": end.isoformat(),
        **({"generatorURL": message.link} if message.link else {}),
    }


def identity(sending: Sending) -> dict[str, str]:
    """Return the labels of the incident's first message: with others Alertmanager would see another alert."""
    if sending.handle:
        kept: dict[str, str] = orjson.loads(sending.handle)
        return kept
    labels = {clean(name): value for name, value in labels_of(sending).items()}
    return labels if len(remembered(labels)) <= HANDLE_LIMIT else {name: labels[name] for name in NEEDED}


def remembered(labels: dict[str, str]) -> str:
    return orjson.dumps(labels).decode()


def clean(name: str) -> str:
    """Return a name that Prometheus allows for a label."""
    made = "".join(c if c.isascii() and c.isalnum() else "_" for c in name.lower())
    return f"_{made}" if made[:1].isdigit() else made or "_"
