"""Services that only Apprise knows: each message by a short-lived process of its own, within a fence."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any
from urllib.parse import unquote

import orjson
from django import forms
from django.conf import settings as site
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from alerts import destinations, outbox, wording
from alerts.causes import WORDS_LIMIT, Cause
from alerts.channel import Accepted, ChannelKind, Final, Outcome, RetryAt, Sending, Settings, Unknown
from alerts.fields import ADDRESS_LIMIT
from alerts.http import BODY_LIMIT_BYTES, Answer, redacted
from alerts.http_channel import refusal
from alerts.models import Kind
from alerts.text import cut
from collectors.failures import printable

CHILD = "alerts.apprise_child"
# Nothing of ours: neither keys, nor proxies, nor the home of somebody who has passwords there.
ENVIRONMENT = {"HOME": "/nonexistent", "LANG": "C.UTF-8"}
SCHEMA = re.compile(r"\A([a-z0-9]{1,32})://[^\s\x00-\x1f]*\Z", re.IGNORECASE)
TITLE_LIMIT, TEXT_LIMIT = 250, 4_000
# Losses after which nobody knows whether the service accepted.
DOUBTFUL = frozenset({Cause.SILENT, Cause.CUT})
PROBLEMS = {
    "unknown": _("Apprise knows no service whose addresses begin with %(schema)s://."),
    "wrong": _("Apprise cannot read this address of %(schema)s://: something of it is missing or wrong."),
    "local": _("%(schema)s:// acts on this machine instead of calling a service, so it is not taken."),
    "missing": _("Apprise needs another package for %(schema)s://, which is not installed here."),
}


class AppriseField(forms.CharField):
    """An address as Apprise writes it, which Apprise itself can read."""

    def __init__(self, **given: Any) -> None:
        super().__init__(max_length=ADDRESS_LIMIT, **given)

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        if text:
            check(text)
        return text


class AppriseForm(forms.Form):
    url = AppriseField(
        label=_("Apprise address"), help_text=_("Such as discord://…, tgram://… or ntfys://…: see Apprise's list.")
    )


class Apprise(ChannelKind):
    name = "apprise"
    label = _("Any other service (Apprise)")
    form = AppriseForm
    # Keys and passwords are parts of the address.
    secrets = frozenset({"url"})
    # It has no key for an incident and no end, so that nobody should be woken by it alone.
    can_page = False
    # Each message costs a process and most of a second of a core.
    gap_seconds = 1

    def deliver(self, settings: Settings, sending: Sending) -> Outcome:
        try:
            said = ask(settings["url"], told(sending))
        except subprocess.TimeoutExpired:
            return Unknown(cause=Cause.SILENT)
        return outcome(said, settings["url"]) if said else Unknown(cause=Cause.SENDER_LOST)


def check(address: str) -> None:
    """Raise ValidationError for what means no service to Apprise."""
    found = SCHEMA.match(address)
    if not found:
        raise ValidationError(
            _("This is no address of Apprise, which would begin with discord:// or ntfys://, for example.")
        )
    try:
        said = ask(address)
    except subprocess.TimeoutExpired:
        said = None
    if not said:
        raise ValidationError(_("Apprise could not be asked about this address. Try again."))
    if said["problem"]:
        raise ValidationError(PROBLEMS[said["problem"]] % {"schema": found[1].lower()})


def told(sending: Sending) -> dict[str, str]:
    """Return a message as Apprise takes it."""
    headline, text = wording.headline(sending), wording.below(sending)
    kind = "over" if sending.kind == Kind.RESOLVE else str(sending.message.severity)
    return {"title": cut(headline, TITLE_LIMIT), "body": cut(text or headline, TEXT_LIMIT), "kind": kind}


def ask(address: str, message: Mapping[str, str] | None = None) -> dict[str, Any] | None:
    """Return what Apprise says to an address, and to a message for it; None where its process ended without a word.

    Raise subprocess.TimeoutExpired where it took longer than an attempt may; it is gone then.
    """
    whole = outbox.attempt_seconds()
    limits = {
        "connect": site.DELIVERY_CONNECT_TIMEOUT_SECONDS,
        "read": site.DELIVERY_READ_TIMEOUT_SECONDS,
        "whole": whole,
        "size": BODY_LIMIT_BYTES,
        "trust": os.environ.get("SSL_CERT_FILE", ""),
    }
    asked = {"url": address, "message": message, "limits": limits, "reach": asdict(destinations.reach())}
    done = subprocess.run(
        [sys.executable, "-E", "-s", "-m", CHILD],
        input=orjson.dumps(asked),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=site.BASE_DIR,
        env=ENVIRONMENT,
        timeout=whole,
        check=False,
    )
    found: dict[str, Any] | None = orjson.loads(done.stdout) if done.returncode == 0 else None
    return found


def outcome(said: Mapping[str, Any], address: str) -> Outcome:
    """Return what the answer of the process means; nothing of the address is kept."""
    hidden = secrets_of(address)
    if said["problem"]:
        return Final(cause=Cause.BAD_SETTINGS, words=f"{address.partition('://')[0]}://")
    if said["is_sent"]:
        return Accepted(said["status"])
    if said["refused"]:
        return Final(cause=Cause.PRIVATE_ADDRESS, words=printable(said["refused"], WORDS_LIMIT))
    if said["forbidden"]:
        return Final(cause=Cause.BAD_SETTINGS, words=printable(redacted(said["forbidden"], hidden), WORDS_LIMIT))
    if said["wrong"]:
        return wrong(said["wrong"], hidden)
    words = printable(redacted(said["words"], hidden), WORDS_LIMIT)
    # Over HTTP all went well, so that it was the service's answer that Apprise did not like.
    if said["status"]:
        return Final(said["status"], cause=Cause.REFUSED_BY_SERVICE, words=words)
    return RetryAt(cause=Cause.APPRISE, words=words)


def wrong(seen: Mapping[str, Any], hidden: tuple[str, ...]) -> Outcome:
    """Return what an exchange over HTTP means that was no success."""
    if "status" in seen:
        text = redacted(printable(seen["text"], 1_000), hidden)
        return refusal(Answer(seen["status"], b"", seen["headers"], text))
    cause, words = Cause(seen["lost"]), printable(seen["words"], WORDS_LIMIT)
    return Unknown(cause=cause) if cause in DOUBTFUL else RetryAt(cause=cause, words=words)


def secrets_of(address: str) -> tuple[str, ...]:
    """Return the parts of an address that may be keys, as they are typed and as they are meant, longest first."""
    rest = address.partition("://")[2]
    typed = {rest, *re.split(r"[/:@?&=#,;]+", rest)}
    parts = typed | {unquote(part) for part in typed}
    return tuple(sorted(parts | {part.lower() for part in parts}, key=len, reverse=True))
