"""Any service that takes one JSON body by POST: people write the body, with places for what is told."""

import re
from typing import Any

import orjson
from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from alerts import wording
from alerts.channel import Sending, Settings
from alerts.fields import AddressField, HeaderField
from alerts.http import Request
from alerts.http_channel import HttpChannel
from alerts.text import cut

BODY_LIMIT = 4_000
# What fits into one message of the services that people use most, whatever their JSON adds.
LONG, SHORT = 1_500, 300
PLACE = re.compile(r"\{([a-z_]+)\}")
PLACES = (
    "headline",
    "title",
    "text",
    "facts",
    "all",
    "severity",
    "kind",
    "source",
    "link",
    "runbook",
    "acknowledge_link",
    "incident",
    "at",
)


class BodyField(forms.CharField):
    """A JSON object or list whose texts have places for what is told."""

    def __init__(self, **given: Any) -> None:
        widget = forms.Textarea(attrs={"rows": 6, "spellcheck": "false", "class": "form-control mono"})
        super().__init__(max_length=BODY_LIMIT, widget=widget, **given)

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        try:
            found = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            raise ValidationError(_("This is no JSON: %(error)s") % {"error": str(error)[:200]}) from error
        _check_depth(found)
        if not isinstance(found, dict | list):
            raise ValidationError(_("Give an object {…} or a list […]."))
        if unknown := sorted(set(PLACE.findall(text)) - set(PLACES)):
            names = {"unknown": ", ".join(unknown)[:100], "known": ", ".join(PLACES)}
            raise ValidationError(_("There is no place %(unknown)s. Known: %(known)s.") % names)
        return text


def _check_depth(found: Any) -> None:
    """Reading allows more parts within parts than writing does. Raise ValidationError."""
    try:
        orjson.dumps(found)
    except TypeError as error:
        raise ValidationError(_("This is no JSON: %(error)s") % {"error": str(error)[:200]}) from error


class OwnJsonForm(forms.Form):
    url = AddressField(label=_("Address"))
    body = BodyField(
        label=_("Body"),
        initial='{"text": "{all}"}',
        help_text=_("JSON; {headline}, {text}, {facts}, {link} and others are filled in: see docs/channels.md."),
    )
    authorization = HeaderField(label=_("Authorization header"), required=False, help_text=_("Such as Bearer …"))


class OwnJson(HttpChannel):
    name = "own_json"
    label = _("Webhook with a body of your own")
    form = OwnJsonForm
    # Many services have their key in the address.
    secrets = frozenset({"url", "authorization"})
    # It has no key for an incident and no end, so that nobody should be woken by it alone.
    can_page = False

    def request(self, settings: Settings, sending: Sending) -> Request:
        authorization = settings.get("authorization", "")
        headers = {"Authorization": authorization} if authorization else {}
        body = filled(orjson.loads(settings["body"]), values(sending))
        return Request.json(settings["url"], body, (settings["url"], authorization), **headers)


def values(sending: Sending) -> dict[str, str]:
    """Return what each place stands for."""
    message = sending.message
    facts = "\n".join(f"{fact.name}: {fact.value}" for fact in message.facts)
    found = {
        "headline": cut(wording.headline(sending), SHORT),
        "title": cut(message.title, SHORT),
        "text": cut(message.text, LONG),
        "facts": cut(facts, LONG),
        "all": cut(wording.plain(sending), LONG),
        "severity": str(message.severity),
        "kind": str(sending.kind),
        "source": message.source,
        "link": message.link,
        "runbook": message.runbook,
        "acknowledge_link": message.acknowledge_link,
        "incident": sending.incident_key,
        "at": message.at.isoformat(),
    }
    return {name: found[name] for name in PLACES}


def filled(part: Any, given: dict[str, str]) -> Any:
    """Return a part of the body with its places filled: always JSON, whatever the texts hold."""
    if isinstance(part, str):
        return PLACE.sub(lambda place: given[place[1]], part)
    if isinstance(part, dict):
        return {name: filled(value, given) for name, value in part.items()}
    return [filled(value, given) for value in part] if isinstance(part, list) else part
