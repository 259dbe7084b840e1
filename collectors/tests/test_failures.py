"""From what a server or the system says to why a poll failed."""

import ssl

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.failures import (
    WORDS_LIMIT,
    Cause,
    ReadError,
    from_error_reply,
    from_opening,
    from_tls_error,
    printable,
)
from collectors.models import Step

REPLIES = [
    ("NOAUTH Authentication required.", Step.AUTH, Cause.PASSWORD_MISSING),
    ("WRONGPASS invalid username-password pair or user is disabled.", Step.AUTH, Cause.USER_OR_PASSWORD_WRONG),
    ("ERR invalid password", Step.AUTH, Cause.PASSWORD_WRONG),
    ("ERR Client sent AUTH, but no password is set", Step.AUTH, Cause.PASSWORD_UNEXPECTED),
    ("ERR wrong number of arguments for 'auth' command", Step.AUTH, Cause.USER_UNSUPPORTED),
    ("ERR max number of clients reached", Step.CONNECT, Cause.MAX_CLIENTS),
    ("DENIED Redis is running in protected mode", Step.CONNECT, Cause.PROTECTED),
    ("NOPERM this user has no permissions to run the 'info' command", Step.INFO, Cause.NO_PERMISSION),
    ("LOADING Valkey is loading the dataset in memory", Step.INFO, Cause.LOADING),
    ("MASTERDOWN Link with MASTER is down", Step.INFO, Cause.PRIMARY_DOWN),
    ("BUSY Redis is busy running a script.", Step.INFO, Cause.BUSY),
    ("ERR unknown command 'INFO'", Step.INFO, Cause.ERROR_REPLY),
    ("noauth in small letters", Step.INFO, Cause.ERROR_REPLY),
    ("", Step.INFO, Cause.ERROR_REPLY),
]


@pytest.mark.parametrize(("words", "step", "cause"), REPLIES)
def test_it_knows_what_an_error_reply_means(words: str, step: Step, cause: Cause) -> None:
    failure = from_error_reply(words, Step.INFO)

    assert (failure.step, failure.cause, failure.words) == (step, cause, words)


@pytest.mark.parametrize("step", [Step.PING, Step.LAYOUT, Step.AUTH])
def test_a_server_that_loads_fails_the_step_that_was_taken(step: Step) -> None:
    assert from_error_reply("LOADING", step).step == step


@pytest.mark.parametrize(
    ("opening", "step", "cause"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n", Step.INFO, Cause.HTTP),
        (b"ERROR\r\n", Step.INFO, Cause.MEMCACHED),
        (b"CLIENT_ERROR bad command line", Step.INFO, Cause.MEMCACHED),
        (b"SERVER_ERROR out of memory", Step.INFO, Cause.MEMCACHED),
        (b"ERROR Too many open connections\r\n", Step.INFO, Cause.MEMCACHED),
        (b"\x15\x03\x01\x00\x02\x02\x46", Step.TLS, Cause.TLS_EXPECTED),
        (b"\x16\x03\x03", Step.TLS, Cause.TLS_EXPECTED),
        (b"SSH-2.0-OpenSSH_9.6\r\n", Step.INFO, Cause.GARBAGE),
        (b"ERROR but more", Step.INFO, Cause.GARBAGE),
        (b"\x15", Step.INFO, Cause.GARBAGE),
        (b"", Step.INFO, Cause.GARBAGE),
    ],
)
def test_it_knows_other_protocols_by_their_beginning(opening: bytes, step: Step, cause: Cause) -> None:
    failure = from_opening(opening, Step.INFO)

    assert (failure.step, failure.cause) == (step, cause)


def tls_error(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, reason)
    error.reason = reason
    return error


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (tls_error("WRONG_VERSION_NUMBER"), Cause.TLS_PLAIN_PORT),
        (tls_error("HTTP_REQUEST"), Cause.TLS_PLAIN_PORT),
        (ConnectionResetError("reset"), Cause.TLS_PLAIN_PORT),
        (tls_error("TLSV13_ALERT_CERTIFICATE_REQUIRED"), Cause.TLS_CLIENT_CERTIFICATE),
        (tls_error("SSLV3_ALERT_HANDSHAKE_FAILURE"), Cause.TLS_CLIENT_CERTIFICATE),
        (tls_error("TLSV1_ALERT_UNKNOWN_CA"), Cause.TLS_CLIENT_CERTIFICATE),
        (tls_error("NO_PROTOCOLS_AVAILABLE"), Cause.TLS_OTHER),
    ],
)
def test_it_knows_why_a_handshake_failed(error: OSError, cause: Cause) -> None:
    failure = from_tls_error(error)

    assert (failure.step, failure.cause) == (Step.TLS, cause)


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        (10, Cause.TLS_EXPIRED),
        (18, Cause.TLS_UNKNOWN_CA),
        (20, Cause.TLS_UNKNOWN_CA),
        (62, Cause.TLS_HOST_NAME),
        (64, Cause.TLS_HOST_NAME),
        (9, Cause.TLS_CERTIFICATE),
        (0, Cause.TLS_CERTIFICATE),
    ],
)
def test_it_knows_what_is_wrong_with_a_certificate(code: int, cause: Cause) -> None:
    error = ssl.SSLCertVerificationError()
    error.verify_code, error.verify_message = code, "words of OpenSSL"

    failure = from_tls_error(error)

    assert (failure.cause, failure.words) == (cause, "words of OpenSSL")


def test_the_reason_of_another_tls_fault_is_readable() -> None:
    assert from_tls_error(tls_error("NO_PROTOCOLS_AVAILABLE")).words == "no protocols available"


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (b"plain", "plain"),
        (b"a\r\nb", "a  b"),
        (b"\xff\xfe", "\N{REPLACEMENT CHARACTER}" * 2),
        ("秘密".encode(), "秘密"),
        ("\x1b[31mred\x9b", "[31mred"),
        ("\u202eevil\u2066", "evil"),
        (None, "None"),
        (7, "7"),
        (b"", ""),
        (" " * 900 + "late", ""),
    ],
)
def test_words_of_a_server_are_made_printable(words: object, shown: str) -> None:
    assert printable(words) == shown


@given(st.one_of(st.binary(max_size=60), st.text(max_size=60)), st.integers(0, 40))
@settings(max_examples=50, deadline=None)
def test_words_are_short_printable_and_stay_as_they_are(words: object, limit: int) -> None:
    once = printable(words, limit)

    assert len(once) <= limit
    assert once.isprintable()
    assert printable(once, limit) == once.strip()


def test_a_failure_keeps_no_more_words_than_can_be_stored() -> None:
    assert len(ReadError(Step.INFO, Cause.ERROR_REPLY, b"x" * 10_000).words) == WORDS_LIMIT


def test_a_multibyte_character_that_was_cut_does_not_break_a_sentence() -> None:
    assert ReadError(Step.INFO, Cause.GARBAGE, "秘".encode()[:2]).sentence().isprintable()
