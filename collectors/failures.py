"""Why a server could not be read: the step that failed, the likely cause, and a sentence for people."""

import ssl

from collectors.causes import SENTENCES as SENTENCES
from collectors.causes import Cause as Cause
from collectors.causes import english_of, sentence_of
from collectors.steps import Step

WORDS_LIMIT = 200


# How error replies begin, and what they mean. The first that fits counts.
ERROR_REPLIES: tuple[tuple[str, Step | None, Cause], ...] = (
    ("NOAUTH", Step.AUTH, Cause.PASSWORD_MISSING),
    ("WRONGPASS", Step.AUTH, Cause.USER_OR_PASSWORD_WRONG),
    ("ERR invalid password", Step.AUTH, Cause.PASSWORD_WRONG),
    ("ERR Client sent AUTH, but no password is set", Step.AUTH, Cause.PASSWORD_UNEXPECTED),
    ("ERR AUTH <password> called without any password", Step.AUTH, Cause.PASSWORD_UNEXPECTED),
    ("ERR wrong number of arguments for 'auth'", Step.AUTH, Cause.USER_UNSUPPORTED),
    ("ERR max number of clients", Step.CONNECT, Cause.MAX_CLIENTS),
    ("ERR max number of total clients", Step.CONNECT, Cause.MAX_CLIENTS),
    ("DENIED", Step.CONNECT, Cause.PROTECTED),
    ("NOPERM", None, Cause.NO_PERMISSION),
    ("LOADING", None, Cause.LOADING),
    ("MASTERDOWN", None, Cause.PRIMARY_DOWN),
    ("BUSY", None, Cause.BUSY),
    # Memcached's own words.
    ("ERROR Too many open connections", Step.CONNECT, Cause.MAX_CONNS),
    ("CLIENT_ERROR unauthenticated", Step.AUTH, Cause.PASSWORD_MISSING),
    ("CLIENT_ERROR authentication failure", Step.AUTH, Cause.USER_OR_PASSWORD_WRONG),
)

# How Memcached answers what it does not understand, or turns clients away.
OF_MEMCACHED = (b"ERROR\r\n", b"ERROR Too many open connections", b"CLIENT_ERROR", b"SERVER_ERROR")

# OpenSSL's numbers of certificate faults (X509_V_ERR_...).
CERTIFICATE_FAULTS = {
    7: Cause.TLS_UNKNOWN_CA,
    10: Cause.TLS_EXPIRED,
    18: Cause.TLS_UNKNOWN_CA,
    19: Cause.TLS_UNKNOWN_CA,
    20: Cause.TLS_UNKNOWN_CA,
    21: Cause.TLS_UNKNOWN_CA,
    62: Cause.TLS_HOST_NAME,
    64: Cause.TLS_HOST_NAME,
}


class ReadError(Exception):
    """A server could not be read. `words` are the server's or the system's own, made printable and cut."""

    def __init__(self, step: Step, cause: Cause, words: object = "") -> None:
        super().__init__(step, cause)
        self.step = step
        self.cause = cause
        self.words = printable(words)

    def sentence(self) -> str:
        """Return what failed, the likely cause and what to do, in the active language."""
        return sentence_of(self.cause, self.words)

    def reason(self) -> str:
        """Return the sentence in English, short enough to be stored."""
        return english_of(self.cause, self.words)


def printable(words: object, limit: int = WORDS_LIMIT) -> str:
    """Return text from a server without control characters, cut to `limit` characters."""
    text = words.decode("utf-8", "replace") if isinstance(words, bytes) else str(words)
    return "".join(c if c.isprintable() else " " for c in text[: limit * 2]).strip()[:limit]


def from_error_reply(words: str, step: Step) -> ReadError:
    """Return the failure that an error reply means; `step` is the one that was being done."""
    for beginning, own_step, cause in ERROR_REPLIES:
        if words.startswith(beginning):
            return ReadError(own_step or step, cause, words)
    return ReadError(step, Cause.ERROR_REPLY, words)


def from_opening(opening: bytes, step: Step) -> ReadError:
    """Return the failure that bytes outside of the protocol mean, told by their beginning."""
    if opening.startswith(b"HTTP/"):
        return ReadError(step, Cause.HTTP)
    if opening.startswith(OF_MEMCACHED):
        return ReadError(step, Cause.MEMCACHED)
    # An alert or a handshake record of TLS 1.x.
    if opening[:2] in {b"\x15\x03", b"\x16\x03"}:
        return ReadError(Step.TLS, Cause.TLS_EXPECTED)
    return ReadError(step, Cause.GARBAGE, printable(opening, 60))


def from_tls_error(error: OSError) -> ReadError:
    """Return the failure that an error of the TLS handshake means."""
    if isinstance(error, ssl.SSLCertVerificationError):
        cause = CERTIFICATE_FAULTS.get(error.verify_code, Cause.TLS_CERTIFICATE)
        return ReadError(Step.TLS, cause, error.verify_message)
    reason = str(getattr(error, "reason", "") or "")
    if reason in {"WRONG_VERSION_NUMBER", "HTTP_REQUEST"} or not isinstance(error, ssl.SSLError):
        return ReadError(Step.TLS, Cause.TLS_PLAIN_PORT)
    if "CERTIFICATE_REQUIRED" in reason or "ALERT_HANDSHAKE_FAILURE" in reason or "ALERT_UNKNOWN_CA" in reason:
        return ReadError(Step.TLS, Cause.TLS_CLIENT_CERTIFICATE)
    return ReadError(Step.TLS, Cause.TLS_OTHER, reason.replace("_", " ").lower() or str(error))
