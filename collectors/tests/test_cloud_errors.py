from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import translation
from google.api_core import exceptions as untyped
from google.api_core import retry
from google.auth.exceptions import DefaultCredentialsError, RefreshError, TransportError

from collectors.cloud.errors import SENTENCES, CloudCause, CloudError, sentence_of, told
from fleet.secrets import SecretUnreadableError

# The package's classes have no types of their own.
exceptions: Any = untyped
SKEW = "invalid_grant: Invalid JWT: Token must be a short-lived token and in a reasonable timeframe."


def failure(error: Exception) -> CloudError:
    """Return what becomes of an error."""
    with pytest.raises(CloudError) as raised, told():
        raise error
    return raised.value


def refused(reason: str, **metadata: str) -> Exception:
    made: Exception = exceptions.PermissionDenied(
        "Refused.", error_info=SimpleNamespace(reason=reason, metadata=metadata)
    )
    return made


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (exceptions.ServiceUnavailable("Try later."), CloudCause.UNAVAILABLE),
        (exceptions.ServiceUnavailable("failed to connect to all addresses"), CloudCause.UNREACHABLE),
        (exceptions.DeadlineExceeded("Deadline Exceeded"), CloudCause.SLOW),
        (exceptions.ResourceExhausted("Quota exceeded"), CloudCause.QUOTA),
        (exceptions.NotFound("Project not found"), CloudCause.NOT_FOUND),
        (exceptions.InvalidArgument("No such field"), CloudCause.INVALID),
        (exceptions.InternalServerError("Oops"), CloudCause.OTHER),
        (exceptions.InternalServerError("Received RST_STREAM with error code 2"), CloudCause.UNAVAILABLE),
        (exceptions.Unknown("Stream removed"), CloudCause.UNAVAILABLE),
        (exceptions.Unauthenticated("Request had invalid authentication credentials."), CloudCause.REVOKED),
        (exceptions.Unauthenticated("Token used too early"), CloudCause.CLOCK),
        (DefaultCredentialsError("Your default credentials were not found."), CloudCause.NO_CREDENTIALS),
        (RefreshError("invalid_grant: account not found"), CloudCause.REVOKED),
        (RefreshError(SKEW), CloudCause.CLOCK),
        (RefreshError("Failed to retrieve http://metadata.google.internal/x"), CloudCause.NO_IDENTITY),
        (TransportError("Connection refused"), CloudCause.UNREACHABLE),
        (SecretUnreadableError("No key fits."), CloudCause.SECRET_UNREADABLE),
    ],
)
def test_each_error_has_its_cause(error: Exception, cause: CloudCause) -> None:
    assert failure(error).cause is cause


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        ("invalid_grant: account not found", CloudCause.REVOKED),
        (SKEW, CloudCause.CLOCK),
        ("Failed to retrieve http://metadata.google.internal/x", CloudCause.NO_IDENTITY),
        ("HTTPSConnectionPool(host='oauth2.googleapis.com', port=443): Max retries exceeded", CloudCause.UNREACHABLE),
    ],
)
def test_a_failed_sign_in_is_told_from_an_unavailable_service(words: str, cause: CloudCause) -> None:
    found = failure(exceptions.ServiceUnavailable(f"Getting metadata from plugin failed with error: {words}"))

    assert (found.cause, found.words) == (cause, words)


@pytest.mark.parametrize("rest", ["", " {'error': 'invalid_grant', 'error_description': 'Invalid JWT Signature.'}"])
def test_a_refused_sign_in_is_told_in_googles_words_alone(rest: str) -> None:
    words = f"Getting metadata from plugin failed with error: ('invalid_grant: Invalid JWT Signature.',{rest})"

    assert failure(exceptions.ServiceUnavailable(words)).words == "invalid_grant: Invalid JWT Signature."


CONNECT = "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:9400: Connection refused (111)"


@pytest.mark.parametrize("words", [CONNECT, "recvmsg:Connection reset by peer", "Socket closed"])
def test_no_sentence_repeats_what_grpc_says(words: str) -> None:
    found = failure(exceptions.ServiceUnavailable(words))

    assert words not in found.sentence()
    assert "It is tried again." in found.sentence()
    # For the log.
    assert found.words == words


def test_a_service_that_cannot_be_reached_is_told_with_what_to_check() -> None:
    sentence = failure(exceptions.ServiceUnavailable(CONNECT)).sentence()

    assert sentence.startswith("Google cannot be reached from here. Check DNS, the route, the proxy and the firewall")


@pytest.mark.parametrize(
    "error",
    [
        refused("IAM_PERMISSION_DENIED", permission="redis.instances.list"),
        exceptions.PermissionDenied("Permission 'redis.instances.list' denied on 'projects/p/locations/-'"),
        exceptions.PermissionDenied("Permission redis.instances.list denied (or the resource may not exist)."),
    ],
)
def test_a_refusal_names_the_permission(error: Exception) -> None:
    found = failure(error)

    assert (found.cause, found.words) == (CloudCause.PERMISSION, "redis.instances.list")
    assert "redis.instances.list" in found.sentence()


def test_a_refusal_without_a_permission_keeps_its_words() -> None:
    assert failure(exceptions.PermissionDenied("Not you.")).words == "Not you."


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (refused("SERVICE_DISABLED", service="redis.googleapis.com"), "redis.googleapis.com"),
        (exceptions.PermissionDenied("Cloud API has not been used in project 1 before or it is disabled."), ""),
    ],
)
def test_an_api_that_is_not_enabled_is_no_missing_permission(error: Exception, words: str) -> None:
    found = failure(error)

    assert (found.cause, found.words) == (CloudCause.API_DISABLED, words)


def test_what_a_retry_gave_up_on_counts() -> None:
    last = exceptions.ServiceUnavailable("Try later.")

    assert failure(exceptions.RetryError("Timeout", last)).cause is CloudCause.UNAVAILABLE


def test_a_retry_that_really_gave_up_is_told() -> None:
    def fail() -> None:
        raise exceptions.ServiceUnavailable("Try later.")

    with pytest.raises(CloudError) as raised, told():
        retry.Retry(timeout=0.01, initial=0.001)(fail)()

    assert raised.value.cause is CloudCause.UNAVAILABLE


def test_mistakes_of_our_own_pass() -> None:
    with pytest.raises(ZeroDivisionError), told():
        raise ZeroDivisionError


def test_a_failure_that_is_told_already_passes() -> None:
    error = CloudError(CloudCause.SLOW)

    assert failure(error) is error


def test_words_are_made_printable_and_cut() -> None:
    found = failure(exceptions.InternalServerError("a\x00b" + "x" * 500))

    assert found.words.startswith("a b")
    assert len(found.words) == 200


@pytest.mark.parametrize("cause", list(CloudCause))
def test_every_cause_has_a_sentence_that_takes_its_words(cause: CloudCause) -> None:
    assert cause in SENTENCES
    assert sentence_of(cause, "50%").endswith(".") or "50%" in sentence_of(cause, "50%")


def test_a_cause_of_another_version_is_shown_by_its_words() -> None:
    assert sentence_of("brand_new", "Something new.") == "Something new."


def test_sentences_speak_the_readers_language() -> None:
    with translation.override("ja"):
        assert str(SENTENCES[CloudCause.SLOW]) == str(CloudError(CloudCause.SLOW))
