"""Google Chat: a webhook of a space; an incident is a thread, and a repeated request answers the first message."""

from urllib.parse import parse_qsl, urlencode, urlsplit

from django import forms
from django.utils.translation import gettext_lazy as _

from alerts import wording
from alerts.causes import Cause
from alerts.channel import Accepted, Final, Outcome, Sending, Settings
from alerts.fields import AddressField
from alerts.http import Answer, Request
from alerts.http_channel import HttpChannel
from alerts.text import cut, cut_bytes

# The whole message may have 32,000 bytes.
TEXT_LIMIT_BYTES = 30_000
# A "<" begins links and mentions, and there is no way to escape it.
ESCAPES = str.maketrans({"<": "‹", ">": "›"})


class GoogleChatForm(forms.Form):
    url = AddressField(
        label=_("Webhook address"),
        help_text=_("From the space's “Apps & integrations”, such as https://chat.googleapis.com/v1/spaces/…"),
    )


class GoogleChat(HttpChannel):
    name = "google_chat"
    label = _("Google Chat")
    form = GoogleChatForm
    secrets = frozenset({"url"})
    is_idempotent = True
    gap_seconds = 1

    def request(self, settings: Settings, sending: Sending) -> Request:
        body = {
            "text": cut_bytes(wording.plain(sending).translate(ESCAPES), TEXT_LIMIT_BYTES),
            "thread": {"threadKey": sending.incident_key},
        }
        secrets = tuple(value for _name, value in parse_qsl(urlsplit(settings["url"]).query))
        return Request.json(address(settings["url"], sending.id), body, (settings["url"], *secrets))

    def judge(self, answer: Answer, sending: Sending) -> Outcome:
        told = answer.parsed()
        if isinstance(told, dict) and told.get("name"):
            return Accepted(answer.status, answer.text)
        return Final(answer.status, answer.text, cause=Cause.BAD_ANSWER, words=cut(answer.text, 200))


def address(url: str, request_id: str) -> str:
    """Return the webhook's address with what makes threads and tells copies apart."""
    more = {"messageReplyOption": "REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD", "requestId": request_id}
    parts = urlsplit(url)
    return parts._replace(query=urlencode([*parse_qsl(parts.query), *more.items()])).geturl()
