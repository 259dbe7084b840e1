"""The words that all channels share, in the active language: a sender speaks that of the channel."""

from dataclasses import replace

from django.utils.translation import gettext as _

from alerts.channel import Sending
from alerts.message import Fact, Message, Severity
from alerts.models import Kind


def severity_word(severity: Severity) -> str:
    words = {
        Severity.CRITICAL: _("Critical"),
        Severity.ERROR: _("Error"),
        Severity.WARNING: _("Warning"),
        Severity.INFO: _("Info"),
    }
    return words[severity]


def headline(sending: Sending) -> str:
    """Return what a message is about in one line: how bad or how it ended, and the title."""
    words = {
        Kind.TRIGGER: severity_word(sending.message.severity),
        Kind.UPDATE: _("Update"),
        Kind.ACKNOWLEDGE: _("Acknowledged"),
        Kind.RESOLVE: _("Resolved"),
    }
    word = _("Test") if sending.is_test and sending.kind == Kind.TRIGGER else words[sending.kind]
    return _("%(state)s: %(title)s") % {"state": word, "title": sending.message.title}


def links(message: Message) -> list[tuple[str, str]]:
    """Return the addresses that a reader may want, each with its words."""
    named = (
        (message.link, _("Open in Shardwatch")),
        (message.runbook, _("Run book")),
        (message.acknowledge_link, _("Acknowledge")),
    )
    return [(address, words) for address, words in named if address]


def plain(sending: Sending) -> str:
    """Return a message as text alone."""
    return "\n\n".join(part for part in (headline(sending), below(sending)) if part)


def below(sending: Sending) -> str:
    """Return what a message says below its headline as text alone; "" where that is nothing."""
    message = sending.message
    facts = "\n".join(f"{fact.name}: {fact.value}" for fact in message.facts)
    chart = sending.chart.words if sending.chart else ""
    addresses = "\n".join(f"{words}: {address}" for address, words in links(message))
    return "\n\n".join(part for part in (message.text, facts, chart, addresses) if part)


def as_fallback(message: Message, failed: str, trouble: str) -> Message:
    """Return the message with the reason why a fall-back gets it."""
    words = _("%(channel)s did not get it out. %(trouble)s") % {"channel": failed, "trouble": trouble}
    return replace(message, facts=(*message.facts, Fact(_("Sent here because"), words.strip())))
