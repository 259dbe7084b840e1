"""Signed links by which a reader of a message acknowledges its incident, without signing in.

A link is good for one incident and for a limited time, and names the channel that it left by. It is made when a message
leaves: it is stored nowhere.
"""

from dataclasses import dataclass

from django.conf import settings
from django.core import signing
from django.utils.translation import gettext as _

from alerts.models import Channel, Incident

SALT = "alerts.acknowledge"


class LinkError(Exception):
    """The link is not good, or not any more; the text says so to the reader."""


@dataclass(frozen=True, slots=True)
class Link:
    """What a link gives the right to acknowledge; `channel` is the name of the channel that it left by."""

    incident: Incident
    channel: str


def link_for(incident: Incident, channel: Channel) -> str:
    """Return the address of the page that asks for it; "" where our own address is not known."""
    if not settings.PUBLIC_URL:
        return ""
    token = signing.dumps([incident.pk, channel.pk], salt=SALT)
    return f"{settings.PUBLIC_URL}/acknowledge/{token}/"


def read(token: str) -> Link:
    """Return what a link is for. Raise LinkError where it is forged, too old, or its incident is forgotten."""
    try:
        incident_id, channel_id = signing.loads(token, salt=SALT, max_age=settings.ACKNOWLEDGE_LINK_HOURS * 3_600)
    except signing.SignatureExpired as error:
        raise LinkError(
            _("This link is too old. Sign in to acknowledge, or take the link of a newer message.")
        ) from error
    except signing.BadSignature as error:
        raise LinkError(_("This link is not one of ours. Perhaps it was cut: copy all of it.")) from error
    incident = Incident.objects.filter(pk=incident_id).first()
    if incident is None:
        raise LinkError(_("The incident of this link is not kept any more."))
    channel = Channel.objects.filter(pk=channel_id).values_list("name", flat=True).first()
    return Link(incident, channel or _("a channel that was removed"))
