"""E-mail: text and HTML with a chart, one thread an incident, through the mail server of the settings."""

import re
import smtplib
import socket
import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from email.mime.image import MIMEImage
from typing import Any

from django import forms
from django.conf import settings as site
from django.core.exceptions import ValidationError
from django.core.mail import EmailMultiAlternatives, get_connection
from django.core.validators import validate_email
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.translation import gettext_lazy as _

from alerts import outbox, wording
from alerts.causes import Cause
from alerts.channel import Accepted, ChannelKind, Chart, Final, Outcome, RetryAt, Sending, Settings, Unknown
from alerts.models import ANSWER_LIMIT
from alerts.text import cut
from collectors.failures import printable

SUBJECT_LIMIT = 200
CHART = "chart@shardwatch"
RECIPIENTS_LIMIT = 20
TEMPORARY = range(400, 500)
LOSSES = (
    (socket.gaierror, Cause.UNKNOWN_HOST),
    (TimeoutError, Cause.SILENT),
    (ConnectionRefusedError, Cause.REFUSED),
    (ssl.SSLError, Cause.TLS),
)
# The same losses before a message was handed over.
BEFORE = {Cause.SILENT: Cause.CONNECT_SLOW, Cause.CUT: Cause.UNREACHABLE}
# A server that answers each step just in time must not keep a sender for the sum of them.
HANDS = ThreadPoolExecutor(8, "mail")


class RecipientsField(forms.CharField):
    """Addresses, separated by commas or blanks."""

    def clean(self, value: Any) -> list[str]:
        found = list(dict.fromkeys(re.split(r"[,;\s]+", super().clean(value).strip(" ,;"))))
        if len(found) > RECIPIENTS_LIMIT:
            raise ValidationError(_("Give at most %(limit)d addresses.") % {"limit": RECIPIENTS_LIMIT})
        for address in found:
            validate_email(address)
        return found

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(value) if isinstance(value, list) else value


class EmailForm(forms.Form):
    to = RecipientsField(label=_("Recipients"), max_length=2_000, help_text=_("Separated by commas."))


class Email(ChannelKind):
    name = "email"
    label = _("E-mail")
    form = EmailForm
    shows_chart = True

    def deliver(self, settings: Settings, sending: Sending) -> Outcome:
        if not site.EMAIL_HOST and "smtp" in site.EMAIL_BACKEND:
            return Final(cause=Cause.BAD_SETTINGS, words="SHARDWATCH_EMAIL_HOST")
        mail = letter(settings["to"], sending)
        try:
            return HANDS.submit(converse, mail).result(outbox.attempt_seconds())
        except TimeoutError:
            # The conversation goes on without us, and may end well.
            return Unknown(cause=Cause.SILENT)


def converse(mail: EmailMultiAlternatives) -> Outcome:
    """Hand a mail to the server; a connection that is lost before that has sent nothing."""
    connection = get_connection(timeout=site.DELIVERY_READ_TIMEOUT_SECONDS)
    if refused := tried(connection.open, is_certain=True):
        return refused
    refused = tried(lambda: connection.send_messages([mail]), is_certain=False)
    connection.close()
    return refused or Accepted()


class Letter(EmailMultiAlternatives):
    """A mail whose attachments are shown within its text, not as files beside it."""

    mixed_subtype = "related"


def letter(to: list[str], sending: Sending) -> EmailMultiAlternatives:
    """Return the mail; all of one incident refer to its first and have its subject."""
    thread = f"<{sending.incident_key}@shardwatch>"
    first = {"Message-ID": thread} if sending.sequence == 1 else {"In-Reply-To": thread, "References": thread}
    headers = {"Message-ID": f"<{sending.id}@shardwatch>", **first, "Auto-Submitted": "auto-generated"}
    subject = cut(" ".join((sending.title or sending.message.title).split()), SUBJECT_LIMIT)
    mail = Letter(subject, wording.plain(sending), site.DEFAULT_FROM_EMAIL, to, headers=headers)
    mail.attach_alternative(html(sending), "text/html")
    if sending.chart:
        mail.attach(inline(sending.chart))
    return mail


def inline(chart: Chart) -> MIMEImage:
    """Return the chart as the part that the text names; programs that load nothing from outside show it, too."""
    image = MIMEImage(chart.png, "png")
    image.add_header("Content-ID", f"<{CHART}>")
    image.add_header("Content-Disposition", "inline", filename="chart.png")
    return image


def html(sending: Sending) -> str:
    context = {
        "headline": wording.headline(sending),
        "message": sending.message,
        "links": wording.links(sending.message),
        "is_calm": sending.kind in {"resolve", "acknowledge"},
        "chart": sending.chart.words if sending.chart else "",
        "chart_id": CHART,
        "language": translation.get_language(),
    }
    return render_to_string("alerts/email.html", context)


def tried(act: Callable[[], object], is_certain: bool) -> Outcome | None:
    """Return why a step with the mail server failed, None where it did not.

    `is_certain` says that whatever failed, no message was sent yet.
    """
    try:
        act()
    except smtplib.SMTPResponseException as error:
        return told(error.smtp_code, error.smtp_error)
    except smtplib.SMTPRecipientsRefused as error:
        return told(*min(error.recipients.values()))
    except smtplib.SMTPServerDisconnected:
        return lost(Cause.CUT, is_certain)
    except smtplib.SMTPException as error:
        return Final(cause=Cause.MAIL_SERVER, words=printable(error))
    except OSError as error:
        return lost(next((cause for kind, cause in LOSSES if isinstance(error, kind)), Cause.CUT), is_certain)
    return None


def lost(cause: Cause, is_certain: bool) -> Outcome:
    server = f"{site.EMAIL_HOST}:{site.EMAIL_PORT}"
    return RetryAt(cause=BEFORE.get(cause, cause), words=server) if is_certain else Unknown(cause=cause)


def told(code: int, words: bytes | str) -> Outcome:
    """Return what a refusal means: replies from 400 to 499 are temporary."""
    answer = cut(f"{code} {printable(words)}", ANSWER_LIMIT)
    if code in TEMPORARY:
        return RetryAt(code, answer, cause=Cause.MAIL_SERVER, words=cut(answer, 200))
    return Final(code, answer, cause=Cause.MAIL_SERVER, words=cut(answer, 200))
