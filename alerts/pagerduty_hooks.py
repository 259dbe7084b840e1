"""What PagerDuty tells us by its webhooks (version 3): somebody looks after an incident there.

A request counts only where it is signed with the secret of the channel's webhook subscription.
"""

import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import orjson
from django.conf import settings
from django.utils import translation
from django.utils.translation import gettext as _

from alerts import incident_acts
from alerts.channel_changes import stored_settings
from alerts.models import Channel, Incident
from alerts.text import cut, is_plain, storable

VERSION = "v1="
# PagerDuty gives one signature for each of a subscription's secrets; while one is exchanged there are two.
SIGNATURES_LIMIT = 10
NAME_LIMIT = 60


def is_signed(channel: Channel, content: bytes, signatures: str) -> bool:
    """Return whether PagerDuty sent this for the channel."""
    secret = stored_settings(channel).get("webhook_secret", "")
    expected = VERSION + hmac.new(secret.encode(), content, hashlib.sha256).hexdigest()
    given = [one.strip() for one in signatures.split(",")[:SIGNATURES_LIMIT]]
    return bool(secret) and any(hmac.compare_digest(one.encode(), expected.encode()) for one in given)


def take_in(channel: Channel, content: bytes, at: datetime) -> bool:
    """Do what a signed request tells; return whether an incident is looked after by it. Other events say nothing."""
    event = _part(_read(content), "event")
    if event.get("event_type") != "incident.acknowledged":
        return False
    key = _part(event, "data").get("incident_key")
    ours = Incident.objects.open().filter(dedup_key=str(key)[:255], deliveries__channel=channel)
    incident = ours.distinct().first()
    return incident is not None and incident_acts.acknowledge_elsewhere(incident, _who(event, channel), at)


def _read(content: bytes) -> Any:
    try:
        return storable(orjson.loads(content))
    except orjson.JSONDecodeError:
        return {}


def _part(whole: Any, name: str) -> Mapping[str, Any]:
    found = whole.get(name) if isinstance(whole, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _who(event: Mapping[str, Any], channel: Channel) -> str:
    """Return whom PagerDuty names, and where; people there are not those that we know."""
    name = str(_part(event, "agent").get("summary") or "")
    with translation.override(settings.LANGUAGE_CODE):
        known = cut(name, NAME_LIMIT) if name and is_plain(name) else _("somebody")
        return _("%(person)s in %(channel)s") % {"person": known, "channel": cut(channel.name, NAME_LIMIT)}
