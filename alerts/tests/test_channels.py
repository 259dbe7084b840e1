"""What every channel that speaks HTTP owes, stated once and run for each of them."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
from pytest_django.fixtures import Settings

from alerts import http
from alerts.causes import Cause, sentence
from alerts.channel import Accepted, ChannelKind, Final, Outcome, RetryAt, Unknown
from alerts.channels import KINDS, kind_of
from alerts.http_channel import HttpChannel
from alerts.message import Fact
from alerts.models import Kind
from alerts.tests import peers
from alerts.tests.cast import KEY, sending
from alerts.tests.conftest import StartService
from alerts.tests.peers import Script, Service, says, secured
from collectors.tests.certificates import Authority

LINK = "/services/T000/B000/verysecrettoken"
TOKEN = "xoxb-0000-verysecrettoken"


@dataclass(frozen=True)
class Case:
    """One kind of channel: how it is pointed at a service, what that accepts with, and how errors look in a 200."""

    kind: str
    accepted: tuple[int, Any]
    errors: tuple[Any, ...]
    settings: Callable[[str], dict[str, Any]]

    def __str__(self) -> str:
        return self.kind


CASES = (
    Case(
        "pagerduty",
        (202, {"status": "success"}),
        ({"status": "invalid event"}, "<html>"),
        lambda _: {"routing_key": KEY},
    ),
    Case("slack", (200, "ok"), ("invalid_payload", "<html>"), lambda url: {"url": url + LINK}),
    Case(
        "slack_bot",
        (200, {"ok": True, "channel": "C024BE91L", "ts": "1503435956.000247"}),
        ({"ok": False, "error": "invalid_auth"}, {"ok": False, "error": "is_archived"}, "<html>"),
        lambda _: {"token": TOKEN, "channel": "C024BE91L"},
    ),
    Case(
        "google_chat",
        (200, {"name": "spaces/A/messages/B"}),
        ({"error": {"code": 400}}, "<html>"),
        lambda url: {"url": f"{url}/v1/spaces/A/messages?key=verysecrettoken&token=verysecrettoken"},
    ),
    Case("teams", (202, ""), ("Bad payload received by generic incoming webhook.",), lambda url: {"url": url + LINK}),
    Case(
        "webhook",
        (204, ""),
        (),
        lambda url: {"url": url + "/hook", "format": "shardwatch", "secret": "verysecrettoken-2", "authorization": ""},
    ),
    Case(
        "own_json",
        (200, "ok"),
        (),
        lambda url: {"url": url + LINK, "body": '{"text": "{all}"}', "authorization": "Bearer verysecrettoken"},
    ),
    Case("alertmanager", (200, ""), (), lambda url: {"url": url, "authorization": "Bearer verysecrettoken"}),
)
BY_KIND = {case.kind: case for case in CASES}
every_channel = pytest.mark.parametrize("case", CASES, ids=str)


class Line:
    """A channel of one kind and the scripted service at its other end."""

    def __init__(self, case: Case, service: Service, settings: Settings) -> None:
        settings.PAGERDUTY_URL = settings.SLACK_URL = service.url
        self.case, self.service = case, service
        self.kind: ChannelKind = kind_of(case.kind)
        self.settings = case.settings(service.url)

    def deliver(self, **given: Any) -> Outcome:
        return self.kind.deliver(self.settings, sending(**given))


@pytest.fixture
def line(service: StartService, settings: Settings) -> Callable[..., Line]:
    """Connect a channel to a service with this script; without one it accepts."""

    def connect(case: Case, script: Script | None = None, **given: Any) -> Line:
        return Line(case, service(script or says(*case.accepted), **given), settings)

    return connect


Connect = Callable[..., Line]


def test_every_channel_that_speaks_http_is_here() -> None:
    assert {name for name, kind in KINDS.items() if isinstance(kind, HttpChannel)} == set(BY_KIND)


@every_channel
@pytest.mark.parametrize("kind", list(Kind))
def test_it_delivers_every_kind_of_message(case: Case, kind: Kind, line: Connect) -> None:
    connected = line(case)

    outcome = connected.deliver(kind=kind)

    assert isinstance(outcome, Accepted)
    assert len(connected.service.seen) == (0 if kind in connected.kind.ignores else 1)


@every_channel
@pytest.mark.parametrize(
    ("status", "cause"),
    [
        (400, Cause.BAD_REQUEST),
        (401, Cause.NOT_ALLOWED),
        (403, Cause.NOT_ALLOWED),
        (404, Cause.GONE),
        (410, Cause.GONE),
        (413, Cause.BAD_REQUEST),
        (422, Cause.BAD_REQUEST),
        (451, Cause.BAD_REQUEST),
        (499, Cause.BAD_REQUEST),
    ],
)
def test_errors_of_ours_are_final(case: Case, status: int, cause: Cause, line: Connect) -> None:
    outcome = line(case, says(status, "no")).deliver()

    assert isinstance(outcome, Final)
    assert (outcome.cause, outcome.status, outcome.answer) == (cause, status, "no")
    assert str(status) in sentence(outcome.cause, outcome.words)


@every_channel
@pytest.mark.parametrize(("status", "cause"), [(408, Cause.UNAVAILABLE), (503, Cause.UNAVAILABLE)])
def test_an_unavailable_service_is_tried_again(case: Case, status: int, cause: Cause, line: Connect) -> None:
    outcome = line(case, says(status)).deliver()

    assert isinstance(outcome, RetryAt)
    assert (outcome.cause, outcome.holds_channel) == (cause, False)


@every_channel
@pytest.mark.parametrize("status", [500, 502, 504, 599])
def test_a_service_that_fails_may_have_accepted(case: Case, status: int, line: Connect) -> None:
    outcome = line(case, says(status)).deliver()

    assert isinstance(outcome, Unknown)
    assert outcome.cause == Cause.SERVER_ERROR


@every_channel
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry_After": "30"}, 30),
        ({"Retry_After": "0"}, 0),
        ({}, None),
        ({"Retry_After": "soon"}, None),
        ({"Retry_After": "-5"}, None),
    ],
)
def test_a_service_that_is_busy_is_obeyed(case: Case, headers: dict[str, str], seconds: float, line: Connect) -> None:
    outcome = line(case, says(429, "slow down", **headers)).deliver()

    assert isinstance(outcome, RetryAt)
    assert (outcome.cause, outcome.seconds, outcome.holds_channel) == (Cause.BUSY, seconds, True)


@every_channel
def test_a_date_counts_by_the_clock_of_the_service(case: Case, line: Connect) -> None:
    # Its clock is a day behind ours.
    now = datetime.now(UTC) - timedelta(days=1)
    headers = {"Date": format_datetime(now, usegmt=True)}
    headers["Retry_After"] = format_datetime(now + timedelta(seconds=90), usegmt=True)

    outcome = line(case, says(429, **headers)).deliver()

    assert isinstance(outcome, RetryAt)
    assert outcome.seconds == 90


@pytest.mark.parametrize(("case", "body"), [(case, body) for case in CASES for body in case.errors], ids=str)
def test_an_error_in_a_success_is_none(case: Case, body: Any, line: Connect) -> None:
    outcome = line(case, says(200, body)).deliver()

    assert isinstance(outcome, Final)
    assert outcome.cause in {Cause.BAD_ANSWER, Cause.REFUSED_BY_SERVICE}


@every_channel
@pytest.mark.parametrize(
    ("script", "cause"),
    [(peers.hangs, Cause.SILENT), (peers.closes, Cause.CUT), (peers.closes_within, Cause.CUT)],
)
def test_without_an_answer_nobody_knows(
    case: Case, script: Script, cause: Cause, line: Connect, short_read: None
) -> None:
    outcome = line(case, script).deliver()

    assert isinstance(outcome, Unknown)
    assert outcome.cause == cause


@every_channel
def test_an_answer_in_drips_ends_in_time(case: Case, line: Connect, settings: Settings) -> None:
    connected = line(case, peers.drips)
    settings.DELIVERY_CONNECT_TIMEOUT_SECONDS = settings.DELIVERY_READ_TIMEOUT_SECONDS = 0.3
    began = time.monotonic()

    outcome = connected.deliver()

    assert isinstance(outcome, Unknown | RetryAt)
    assert time.monotonic() - began < 8


@every_channel
def test_an_endless_answer_is_cut(case: Case, line: Connect) -> None:
    outcome = line(case, peers.floods).deliver()

    assert len(outcome.answer) <= 300


@every_channel
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_it_follows_no_redirect(case: Case, status: int, line: Connect, service: StartService) -> None:
    other = service()

    outcome = line(case, says(status, Location=f"http://127.0.0.1:{other.port}/")).deliver()

    assert isinstance(outcome, Final)
    assert (outcome.cause, outcome.words) == (Cause.REDIRECTED, "127.0.0.1")
    assert other.connections == 0


@every_channel
def test_a_dead_name_is_tried_again(case: Case, line: Connect, settings: Settings) -> None:
    connected = line(case)
    settings.PAGERDUTY_URL = settings.SLACK_URL = "http://no-such-host.invalid"
    connected.settings = case.settings("http://no-such-host.invalid")

    outcome = connected.deliver()

    assert isinstance(outcome, RetryAt)
    assert outcome.cause in {Cause.UNKNOWN_HOST, Cause.DNS_SLOW}
    assert outcome.words == "no-such-host.invalid"


@every_channel
def test_a_closed_port_is_tried_again(case: Case, line: Connect, settings: Settings) -> None:
    connected, nowhere = line(case), f"http://localhost:{peers.closed_port()}"
    settings.PAGERDUTY_URL = settings.SLACK_URL = nowhere
    connected.settings = case.settings(nowhere)

    outcome = connected.deliver()

    assert isinstance(outcome, RetryAt)
    assert outcome.cause == Cause.REFUSED


@every_channel
def test_a_private_address_is_refused_unless_it_is_allowed(case: Case, line: Connect, settings: Settings) -> None:
    is_ours = case.kind in {"pagerduty", "slack_bot"}
    connected = line(case)
    settings.ALLOWED_PRIVATE_HOSTS = []
    if not is_ours:
        settings.PAGERDUTY_URL = settings.SLACK_URL = "https://example.org"

    outcome = connected.deliver()

    # Whoever sets the environment may point PagerDuty and Slack where they like.
    assert isinstance(outcome, Accepted if is_ours else Final)
    assert connected.service.connections == int(is_ours)


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Authority]:
    made = Authority()
    (tmp_path / "ca.pem").write_text(made.pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    http.trust.cache_clear()
    yield made
    http.trust.cache_clear()


@every_channel
def test_the_name_in_the_certificate_is_checked(
    case: Case, line: Connect, authority: Authority, tmp_path: Path
) -> None:
    assert isinstance(line(case, tls=secured(authority, tmp_path)).deliver(), Accepted)

    outcome = line(case, tls=secured(authority, tmp_path, host="other.example.org")).deliver()

    assert isinstance(outcome, RetryAt)
    assert outcome.cause == Cause.TLS


@every_channel
def test_an_expired_certificate_is_named(case: Case, line: Connect, authority: Authority, tmp_path: Path) -> None:
    outcome = line(case, tls=secured(authority, tmp_path, days=-1)).deliver()

    assert isinstance(outcome, RetryAt)
    assert outcome.cause == Cause.TLS
    assert "expired" in outcome.words


@every_channel
def test_secrets_that_come_back_are_not_kept(case: Case, line: Connect) -> None:
    def echoes(exchange: peers.Exchange) -> None:
        exchange.reply(400, exchange.line.encode() + exchange.body + repr(exchange.headers).encode())

    connected = line(case, echoes)
    outcome = connected.deliver()

    secrets = [secret for name in connected.kind.secrets if (secret := connected.settings.get(name))]
    assert secrets
    assert not any(secret in outcome.answer for secret in secrets)
    assert "verysecrettoken" not in outcome.answer


@every_channel
def test_no_secret_is_logged(case: Case, line: Connect, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")

    line(case).deliver()
    line(case, peers.closes).deliver()

    assert "verysecrettoken" not in caplog.text
    assert KEY not in caplog.text


HOSTILE = (
    "🚨 日本語 " * 30,
    '<script>alert(1)</script> <users/all> <!channel> & "quotes"',
    "x" * 10_000,
    "\u202e\u0000\ud83d".encode("utf-8", "replace").decode() + "\n\r\t",
)


@every_channel
@pytest.mark.parametrize("text", HOSTILE, ids=["emoji", "markup", "10 kB", "control"])
def test_any_text_arrives_as_valid_json_of_a_fair_size(case: Case, text: str, line: Connect) -> None:
    connected = line(case)
    facts = tuple(Fact(f"{text[:50]} {number}", text) for number in range(100))

    outcome = connected.deliver(title=text, text=text, facts=facts)

    (seen,) = connected.service.seen
    assert isinstance(outcome, Accepted)
    assert orjson.loads(seen.body)
    limit = {"teams": 28_000, "google_chat": 32_000, "slack": 40_000, "slack_bot": 40_000}.get(case.kind, 512_000)
    assert len(seen.body) < limit or case.kind in {"webhook", "alertmanager"}


@every_channel
def test_a_second_attempt_sends_the_same_but_for_the_time(case: Case, line: Connect) -> None:
    connected = line(case)

    connected.deliver()
    connected.deliver()

    first, second = connected.service.seen
    assert (first.line, first.body) == (second.line, second.body)


@every_channel
def test_its_form_takes_its_settings_and_refuses_none(case: Case) -> None:
    form = kind_of(case.kind).form

    assert form(case.settings("https://example.org")).errors == {}
    assert form({}).errors
