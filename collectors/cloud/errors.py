"""Why Google could not be asked or did not answer: causes, sentences, and how the packages' errors map onto them.

Errors are told apart by what they carry, not by their classes: importing those costs every process a second.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum, auto
from typing import Any

from django.utils.translation import gettext_lazy as _
from google.auth.exceptions import DefaultCredentialsError, GoogleAuthError, TransportError

from collectors.failures import printable
from fleet.secrets import SecretUnreadableError


class CloudCause(StrEnum):
    """The likely cause of a failure. Values are stored: add to them, never change one."""

    PERMISSION = auto()
    API_DISABLED = auto()
    NO_CREDENTIALS = auto()
    NO_IDENTITY = auto()
    REVOKED = auto()
    CLOCK = auto()
    SECRET_UNREADABLE = auto()
    UNREACHABLE = auto()
    UNAVAILABLE = auto()
    SLOW = auto()
    QUOTA = auto()
    NOT_FOUND = auto()
    INVALID = auto()
    OTHER = auto()


SENTENCES = {
    CloudCause.PERMISSION: _(
        "The account lacks a permission: %(words)s. “Test” on the project's page prints the commands that grant it."
    ),
    CloudCause.API_DISABLED: _("The API %(words)s is not enabled in the project. Enable it, or leave the product out."),
    CloudCause.NO_CREDENTIALS: _(
        "This machine has no application default credentials. Set GOOGLE_APPLICATION_CREDENTIALS, run on Google Cloud"
        " with a service account, or paste a key."
    ),
    CloudCause.NO_IDENTITY: _(
        "No metadata server gives this process an identity. Workload identity works on Google Cloud alone; elsewhere"
        " choose application default credentials or a key."
    ),
    CloudCause.REVOKED: _(
        "Google does not accept the credentials any more: %(words)s. The key or the account was probably deleted or"
        " disabled. Give a new key."
    ),
    CloudCause.CLOCK: _("Google finds the time of our request wrong. Check the clock of this machine."),
    CloudCause.SECRET_UNREADABLE: _(
        "The stored key cannot be decrypted. Put the old key back into SHARDWATCH_ENCRYPTION_KEYS, or paste the key of"
        " the account again."
    ),
    # These three say nothing of the words: they are gRPC's, for the log.
    CloudCause.UNREACHABLE: _(
        "Google cannot be reached from here. Check DNS, the route, the proxy and the firewall (port 443 of"
        " *.googleapis.com). It is tried again."
    ),
    CloudCause.UNAVAILABLE: _("The service is unavailable at the moment. It is tried again."),
    CloudCause.SLOW: _("The service did not answer in time. It is tried again."),
    CloudCause.QUOTA: _(
        "The project's quota for this API is used up, and it is asked ever more rarely until there is some again:"
        " %(words)s"
    ),
    CloudCause.NOT_FOUND: _("Google does not know it: %(words)s. Check the project id."),
    CloudCause.INVALID: _("Google does not accept the request: %(words)s"),
    CloudCause.OTHER: _("Google answered with an error: %(words)s"),
}
BY_STATUS = {
    "PERMISSION_DENIED": CloudCause.PERMISSION,
    "UNAUTHENTICATED": CloudCause.REVOKED,
    "RESOURCE_EXHAUSTED": CloudCause.QUOTA,
    "UNAVAILABLE": CloudCause.UNAVAILABLE,
    "DEADLINE_EXCEEDED": CloudCause.SLOW,
    "NOT_FOUND": CloudCause.NOT_FOUND,
    "INVALID_ARGUMENT": CloudCause.INVALID,
    "FAILED_PRECONDITION": CloudCause.INVALID,
}
# Words of refusals where Google gives no details, and of gRPC where no server was reached.
PERMISSION_NAME = re.compile(r"\b[a-z]+\.[A-Za-z]+\.[A-Za-z]+\b(?!\.)")
DISABLED_WORDS = ("has not been used in project", "SERVICE_DISABLED", "it is disabled")
CLOCK_WORDS = ("reasonable timeframe", "Token used too early", "iat and exp")
NO_ROUTE_WORDS = ("failed to connect", "DNS resolution failed", "Name resolution", "Connection refused")
# Of a connection that broke, from gRPC itself and not from the service.
BROKEN_WORDS = ("RST_STREAM", "Stream removed", "Socket closed", "http2 header", "Connection reset", "GOAWAY")
PLUGIN_WORDS = "Getting metadata from plugin failed"
METADATA_WORDS = ("metadata.google.internal", "metadata service", "Metadata Server")
# Of the package that fetches tokens, where it reaches nobody.
TRANSPORT_WORDS = ("ConnectionPool(", "Connection aborted", "timed out")
# An exception as text: what Google said comes first.
QUOTED = re.compile(r"\(([\"'])(.+?)\1(?:,.*)?\)", re.DOTALL)


class CloudError(Exception):
    """Google was asked in vain. `words` are Google's own, made printable and cut, or a permission's name."""

    def __init__(self, cause: CloudCause, words: object = "") -> None:
        super().__init__(cause, words)
        self.cause = cause
        self.words = printable(words)

    def __str__(self) -> str:
        return self.sentence()

    def sentence(self) -> str:
        """Return what failed, the likely cause and what to do, in the active language."""
        return sentence_of(self.cause, self.words)


def sentence_of(cause: str, words: str) -> str:
    """Return a stored failure's sentence in the active language; "" without a cause."""
    # A cause that an older or newer version stored.
    sentence = SENTENCES.get(cause)  # type: ignore[call-overload]
    return str(sentence) % {"words": words.rstrip(".")} if sentence else words


@contextmanager
def told() -> Iterator[None]:
    """Turn what the packages of Google raise into CloudError; everything else passes."""
    try:
        yield
    except SecretUnreadableError as error:
        raise CloudError(CloudCause.SECRET_UNREADABLE) from error
    except GoogleAuthError as error:
        raise from_auth_error(error) from error
    except Exception as error:
        # What a retry gave up on carries the last failure.
        last = getattr(error, "cause", None) or error
        if not hasattr(last, "grpc_status_code"):
            raise
        raise from_call_error(last) from error


def from_auth_error(error: GoogleAuthError) -> CloudError:
    """Return the failure that google.auth means."""
    words = str(error.args[0]) if error.args else str(error)
    if isinstance(error, DefaultCredentialsError):
        return CloudError(CloudCause.NO_CREDENTIALS, words)
    if _has(words, METADATA_WORDS):
        return CloudError(CloudCause.NO_IDENTITY, words)
    if isinstance(error, TransportError):
        return CloudError(CloudCause.UNREACHABLE, words)
    return CloudError(_refused(words), words)


def from_call_error(error: Any) -> CloudError:
    """Return the failure that an error of google.api_core means."""
    status = getattr(error.grpc_status_code, "name", "")
    words = str(getattr(error, "message", "") or error)
    details = dict(getattr(error, "metadata", None) or {})
    cause = BY_STATUS.get(status, CloudCause.OTHER)
    if getattr(error, "reason", None) == "SERVICE_DISABLED" or (
        cause is CloudCause.PERMISSION and _has(words, DISABLED_WORDS)
    ):
        return CloudError(CloudCause.API_DISABLED, details.get("service", ""))
    if cause is CloudCause.PERMISSION:
        named = details.get("permission") or next(iter(PERMISSION_NAME.findall(words)), "")
        return CloudError(cause, named or words)
    if PLUGIN_WORDS in words:
        # gRPC tells of a failed sign-in as of an unavailable service.
        return _from_sign_in(words.partition("error: ")[2] or words)
    if cause is CloudCause.UNAVAILABLE and _has(words, NO_ROUTE_WORDS):
        return CloudError(CloudCause.UNREACHABLE, words)
    if cause is CloudCause.OTHER and _has(words, BROKEN_WORDS):
        return CloudError(CloudCause.UNAVAILABLE, words)
    return CloudError(_refused(words) if cause is CloudCause.REVOKED else cause, words)


def _from_sign_in(words: str) -> CloudError:
    if _has(words, METADATA_WORDS):
        return CloudError(CloudCause.NO_IDENTITY, words)
    if _has(words, TRANSPORT_WORDS):
        return CloudError(CloudCause.UNREACHABLE, words)
    quoted = QUOTED.fullmatch(words)
    return CloudError(_refused(words), quoted[2] if quoted else words)


def _refused(words: str) -> CloudCause:
    return CloudCause.CLOCK if _has(words, CLOCK_WORDS) else CloudCause.REVOKED


def _has(words: str, known: tuple[str, ...]) -> bool:
    return any(one in words for one in known)
