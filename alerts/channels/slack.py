"""Slack: by incoming webhook, or by a bot that keeps one message an incident up to date."""

from typing import Any

from django import forms
from django.conf import settings as site
from django.utils.translation import gettext_lazy as _

from alerts import wording
from alerts.causes import Cause
from alerts.channel import Accepted, Final, Outcome, RetryAt, Sending, Settings, Unknown
from alerts.fields import AddressField
from alerts.http import Answer, Request
from alerts.http_channel import HttpChannel
from alerts.message import Severity
from alerts.models import Kind
from alerts.text import cut

TITLE_LIMIT = 500
# A block of text may have 3,000 characters, a field 2,000.
TEXT_LIMIT = 2_900
FIELDS_LIMIT = 10
FIELD_LIMIT = 1_500
ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
COLOURS = {
    Severity.CRITICAL: "#c0392b",
    Severity.ERROR: "#c0392b",
    Severity.WARNING: "#d68910",
    Severity.INFO: "#2471a3",
}
CALM = {Kind.RESOLVE: "#1e8449", Kind.ACKNOWLEDGE: "#707b7c"}
# The message of the incident is gone: the next attempt writes a new one.
LOST = {"message_not_found", "cant_update_message", "edit_window_closed", "channel_mismatch"}
LATER = {"ratelimited", "rate_limited", "service_unavailable", "team_added_to_org"}
DOUBTFUL = {"internal_error", "fatal_error", "request_timeout"}


class SlackForm(forms.Form):
    url = AddressField(
        label=_("Webhook address"),
        help_text=_("From Slack's “Incoming Webhooks”, such as https://hooks.slack.com/services/…"),
    )


class Slack(HttpChannel):
    name = "slack"
    label = _("Slack (webhook)")
    form = SlackForm
    secrets = frozenset({"url"})
    gap_seconds = 1

    def request(self, settings: Settings, sending: Sending) -> Request:
        return Request.json(settings["url"], body(sending), (settings["url"],))

    def judge(self, answer: Answer, sending: Sending) -> Outcome:
        if answer.body.strip() == b"ok":
            return Accepted(answer.status, answer.text)
        return Final(answer.status, answer.text, cause=Cause.BAD_ANSWER, words=cut(answer.text, 200))


class SlackBotForm(forms.Form):
    token = forms.RegexField(
        r"\Axox[a-z]-[A-Za-z0-9-]{10,}\Z",
        label=_("Bot token"),
        help_text=_("Begins with xoxb-. The bot needs the right chat:write and must be in the channel."),
    )
    channel = forms.RegexField(
        r"\A[A-Z0-9]{9,20}\Z", label=_("Channel id"), help_text=_("Such as C024BE91L; in Slack under “About”.")
    )


class SlackBot(HttpChannel):
    """One message an incident, changed as the incident changes; a new one only where that one is gone."""

    name = "slack_bot"
    label = _("Slack (bot)")
    form = SlackBotForm
    secrets = frozenset({"token"})
    gap_seconds = 1

    def request(self, settings: Settings, sending: Sending) -> Request:
        channel, _slash, stamp = sending.handle.partition("/")
        method, place = ("chat.update", {"channel": channel, "ts": stamp}) if stamp else ("chat.postMessage", None)
        return Request.json(
            f"{site.SLACK_URL}/{method}",
            {**body(sending), **(place or {"channel": settings["channel"]}), "unfurl_links": False},
            (settings["token"],),
            Authorization=f"Bearer {settings['token']}",
        )

    def judge(self, answer: Answer, sending: Sending) -> Outcome:
        told = answer.parsed()
        if not isinstance(told, dict):
            return Final(answer.status, answer.text, cause=Cause.BAD_ANSWER, words=cut(answer.text, 200))
        if told.get("ok") is True:
            return Accepted(answer.status, answer.text, handle=f"{told.get('channel', '')}/{told.get('ts', '')}")
        return refusal(answer, str(told.get("error", "")))


def refusal(answer: Answer, error: str) -> Outcome:
    """Return what an error that comes with the status 200 means."""
    told, words = (answer.status, answer.text), cut(error, 200)
    if error in LOST:
        return RetryAt(*told, cause=Cause.REFUSED_BY_SERVICE, words=words, seconds=0, forgets=True)
    if error in LATER:
        return RetryAt(*told, cause=Cause.BUSY, seconds=answer.retry_after(), holds_channel=True)
    if error in DOUBTFUL:
        return Unknown(*told, cause=Cause.REFUSED_BY_SERVICE, words=words)
    return Final(*told, cause=Cause.REFUSED_BY_SERVICE, words=words)


def body(sending: Sending) -> dict[str, Any]:
    """Return the message as blocks beside a coloured bar; what stands alone is for notifications."""
    colour = CALM.get(sending.kind, COLOURS[sending.message.severity])
    title = cut(wording.headline(sending), TITLE_LIMIT)
    return {"text": escaped(title), "attachments": [{"color": colour, "blocks": blocks(sending, title)}]}


def blocks(sending: Sending, title: str) -> list[dict[str, Any]]:
    message = sending.message
    made = [section(f"*{escaped(title)}*")]
    if message.text:
        made.append(section(cut(escaped(message.text), TEXT_LIMIT)))
    if message.facts:
        made.append({"type": "section", "fields": [field(f.name, f.value) for f in message.facts[:FIELDS_LIMIT]]})
    if addresses := wording.links(message):
        made.append(section(" · ".join(f"<{escaped(address)}|{escaped(words)}>" for address, words in addresses)))
    return made


def section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": markdown(text)}


def field(name: str, value: str) -> dict[str, str]:
    return markdown(f"*{cut(escaped(name), 200)}*\n{cut(escaped(value), FIELD_LIMIT)}")


def markdown(text: str) -> dict[str, str]:
    return {"type": "mrkdwn", "text": text}


def escaped(text: str) -> str:
    """Return text in which nothing is a link or a mention."""
    return text.translate(ESCAPES)
