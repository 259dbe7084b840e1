"""Mail servers that refuse, break off, hang or are not there: what each means for the message."""

import socket
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from pytest_django.fixtures import Settings

from alerts.causes import Cause
from alerts.channel import Accepted, Final, Outcome, Refusal, RetryAt, Unknown
from alerts.channels.email import Email
from alerts.tests.cast import sending
from alerts.tests.peers import closed_port
from collectors.tests.peers import Peer

CLOSES, HANGS = "closes", "hangs"
USUAL = {"greeting": "220 hello", "EHLO": "250 hello", "MAIL": "250 ok", "RCPT": "250 ok", "DATA": "354 go on"}


@dataclass
class MailServer:
    """Speaks SMTP as it should, but for what `says` gives by step: another reply, or that it closes or hangs."""

    says: dict[str, str] = field(default_factory=dict)
    mails: list[str] = field(default_factory=list)

    def serve(self, connection: socket.socket) -> None:
        stream = connection.makefile("rw", newline="\r\n", encoding="utf-8", errors="replace")
        said = {**USUAL, "content": "250 queued", "QUIT": "221 bye", **self.says}

        def answer(step: str) -> str:
            text = said.get(step, "500 what?")
            if text == HANGS:
                connection.recv(1_000_000)
                return CLOSES
            if text != CLOSES:
                stream.write(f"{text}\r\n")
                stream.flush()
            return text

        step = "greeting"
        while answer(step) != CLOSES:
            if step == "DATA" and said[step].startswith("354"):
                self.mails.append("".join(iter(stream.readline, ".\r\n")))
                if answer("content") == CLOSES:
                    return
            line = stream.readline()
            if not line:
                return
            step = line.split()[0].upper()


@pytest.fixture
def smtp(settings: Settings) -> Settings:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_USE_TLS, settings.EMAIL_USE_SSL = "127.0.0.1", False, False
    settings.DELIVERY_CONNECT_TIMEOUT_SECONDS = settings.DELIVERY_READ_TIMEOUT_SECONDS = 20.0
    return settings


@pytest.fixture
def server(smtp: Settings) -> Iterator[MailServer]:
    made = MailServer()
    peer = Peer(made.serve)
    smtp.EMAIL_PORT = peer.port
    yield made
    peer.close()


def deliver() -> Outcome:
    return Email().deliver({"to": ["a@example.org"]}, sending())


def test_a_mail_that_is_taken_is_accepted(server: MailServer) -> None:
    assert isinstance(deliver(), Accepted)
    assert "Message-ID: <shardwatch-abc@shardwatch>" in server.mails[0]


@pytest.mark.parametrize("step", ["greeting", "MAIL", "RCPT", "DATA", "content"])
@pytest.mark.parametrize(("reply", "expected"), [("451 later", RetryAt), ("554 never", Final)])
def test_a_reply_says_whether_it_helps_to_try_again(
    server: MailServer, step: str, reply: str, expected: type[Refusal]
) -> None:
    server.says[step] = reply

    outcome = deliver()

    assert isinstance(outcome, expected)
    assert outcome.cause == Cause.MAIL_SERVER
    assert reply in outcome.answer


def test_a_connection_that_is_cut_at_once_has_sent_nothing(server: MailServer) -> None:
    server.says["greeting"] = CLOSES

    outcome = deliver()

    assert isinstance(outcome, RetryAt)
    assert outcome.cause == Cause.UNREACHABLE


def test_a_connection_that_is_cut_after_the_mail_may_have_sent_it(server: MailServer) -> None:
    server.says["content"] = CLOSES

    outcome = deliver()

    assert isinstance(outcome, Unknown)
    assert outcome.cause == Cause.CUT


@pytest.mark.parametrize(("step", "expected"), [("greeting", RetryAt), ("content", Unknown)])
def test_a_server_that_hangs_is_not_waited_for(
    server: MailServer, smtp: Settings, step: str, expected: type[Refusal]
) -> None:
    smtp.DELIVERY_READ_TIMEOUT_SECONDS = 0.5
    server.says[step] = HANGS

    assert isinstance(deliver(), expected)


def test_a_closed_port_is_tried_again(smtp: Settings) -> None:
    smtp.EMAIL_PORT = closed_port()

    outcome = deliver()

    assert isinstance(outcome, RetryAt)
    assert outcome.cause == Cause.REFUSED


def test_a_dead_name_is_tried_again(smtp: Settings) -> None:
    smtp.EMAIL_HOST, smtp.EMAIL_PORT = "no-such-host.invalid", 25

    outcome = deliver()

    assert isinstance(outcome, RetryAt)
    assert outcome.cause == Cause.UNKNOWN_HOST


def test_a_server_without_tls_is_not_trusted_with_a_mail(server: MailServer, smtp: Settings) -> None:
    smtp.EMAIL_USE_TLS = True

    outcome = deliver()

    assert isinstance(outcome, Final)
    assert not server.mails


def test_without_a_server_the_setting_is_named(smtp: Settings) -> None:
    smtp.EMAIL_HOST = ""

    outcome = deliver()

    assert isinstance(outcome, Final)
    assert outcome.words == "SHARDWATCH_EMAIL_HOST"
