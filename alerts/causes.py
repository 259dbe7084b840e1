"""Why a message was not accepted, or a channel is broken: a cause with its words, told at reading time."""

from enum import StrEnum, auto

from django.utils.translation import gettext_lazy as _

WORDS_LIMIT = 200


class Cause(StrEnum):
    """What went wrong. The value is stored; its sentence is made when somebody reads it."""

    # Certain that nothing was accepted.
    BUSY = auto()
    UNAVAILABLE = auto()
    UNKNOWN_HOST = auto()
    DNS_SLOW = auto()
    REFUSED = auto()
    UNREACHABLE = auto()
    CONNECT_SLOW = auto()
    TLS = auto()
    LATE_START = auto()
    MAIL_SERVER = auto()
    APPRISE = auto()
    # It may have been accepted all the same.
    SILENT = auto()
    CUT = auto()
    SERVER_ERROR = auto()
    SENDER_LOST = auto()
    # No further attempt can help.
    BAD_REQUEST = auto()
    NOT_ALLOWED = auto()
    GONE = auto()
    REFUSED_BY_SERVICE = auto()
    REDIRECTED = auto()
    PRIVATE_ADDRESS = auto()
    BAD_SETTINGS = auto()
    SECRET_UNREADABLE = auto()
    BAD_ANSWER = auto()
    FAULT = auto()
    UNANSWERED_TWICE = auto()


SENTENCES = {
    Cause.BUSY: _("The service asked us to slow down."),
    Cause.UNAVAILABLE: _("The service is not available at the moment (HTTP %(words)s)."),
    Cause.UNKNOWN_HOST: _("The host name %(words)s is not known."),
    Cause.DNS_SLOW: _("DNS did not answer in time about %(words)s."),
    Cause.REFUSED: _("Nothing listens at %(words)s."),
    Cause.UNREACHABLE: _("There is no way to %(words)s."),
    Cause.CONNECT_SLOW: _("The attempt to connect to %(words)s got no answer."),
    Cause.TLS: _("No secure connection: %(words)s."),
    Cause.LATE_START: _("The sender was held up, so that it did not begin; another one will."),
    Cause.MAIL_SERVER: _("The mail server did not take the message: %(words)s"),
    Cause.APPRISE: _("Apprise did not get the message out: %(words)s"),
    Cause.SILENT: _("The service took the message but did not answer in time. It may have accepted it."),
    Cause.CUT: _("The service closed the connection in the middle. It may have accepted the message."),
    Cause.SERVER_ERROR: _("The service failed (HTTP %(words)s). It may have accepted the message."),
    Cause.SENDER_LOST: _("The sender ended in the middle. The service may have accepted the message."),
    Cause.BAD_REQUEST: _("The service refused the message (HTTP %(words)s)."),
    Cause.NOT_ALLOWED: _("The service did not accept the key or the password (HTTP %(words)s)."),
    Cause.GONE: _("There is no such address at the service any more (HTTP %(words)s)."),
    Cause.REFUSED_BY_SERVICE: _("The service answered with an error: %(words)s"),
    Cause.REDIRECTED: _("The address leads to another host, %(words)s. We do not follow it."),
    Cause.PRIVATE_ADDRESS: _(
        "%(words)s is an address of a private network. SHARDWATCH_ALLOWED_PRIVATE_HOSTS can allow it."
    ),
    Cause.BAD_SETTINGS: _("The settings of the channel cannot be used: %(words)s"),
    Cause.SECRET_UNREADABLE: _("The settings of the channel cannot be decrypted. Enter them again."),
    Cause.BAD_ANSWER: _("The answer is not one of this service: %(words)s"),
    Cause.FAULT: _("Shardwatch made a mistake with this message (%(words)s). Its log has the details."),
    Cause.UNANSWERED_TWICE: _(
        "The service took the message twice without an answer, and cannot tell copies apart. It gets no third one."
    ),
}


def sentence(cause: str, words: str) -> str:
    """Return what went wrong in the active language; "" where nothing did."""
    return str(SENTENCES[Cause(cause)]) % {"words": words} if cause else ""
