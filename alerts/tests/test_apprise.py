"""The long tail by Apprise: its promises are those of the other channels, whatever the library does."""

import contextlib
import os
from pathlib import Path
from typing import Any

import psutil
import pytest
import requests
from apprise.plugins import N_MGR
from django.test import Client
from pytest_django.fixtures import Settings
from requests.adapters import HTTPAdapter

from accounts.models import AuditEntry, Role
from accounts.tests.cast import bearer_of, client_of
from alerts import apprise_child, sender
from alerts.apprise_child import LOCAL, Road, hardened, service_of
from alerts.causes import Cause, sentence
from alerts.channel import Accepted, Final, Outcome, RetryAt, Unknown
from alerts.channels import apprise
from alerts.channels.apprise import AppriseForm, outcome, secrets_of
from alerts.models import Attempt, Channel, Kind
from alerts.tests import peers
from alerts.tests.cast import channel, sending
from alerts.tests.conftest import StartService
from alerts.tests.peers import Exchange, Script, Service, says, secured
from collectors.tests.certificates import Authority

SECRET = "verysecrettoken"
LIMITS = {"connect": 20.0, "read": 20.0, "whole": 40.0, "size": 65_536, "trust": ""}
SAID: dict[str, Any] = {
    "problem": "",
    "is_sent": False,
    "status": None,
    "wrong": None,
    "refused": "",
    "forbidden": "",
    "words": "",
}


def address(peer: Service, rest: str = f"/{SECRET}") -> str:
    return f"json://localhost:{peer.port}{rest}"


def deliver(url: str, **given: Any) -> Outcome:
    return apprise.Apprise().deliver({"url": url}, sending(**given))


def children() -> list[psutil.Process]:
    return [child for child in psutil.Process(os.getpid()).children() if apprise.CHILD in child.cmdline()]


def test_it_delivers_and_tells_no_other_process_its_address(service: StartService) -> None:
    shown: list[str] = []

    def looks(exchange: Exchange) -> None:
        shown.extend(f"{child.cmdline()} {child.environ()}" for child in children())
        exchange.reply(200)

    peer = service(looks)
    found = deliver(address(peer), text="1 < 2 & 日本")

    assert (type(found), found.status) == (Accepted, 200)
    assert peer.seen[0].path == f"/{SECRET}"
    assert peer.seen[0].json["title"] == "Critical: game-cache: node-1 does not answer"
    assert peer.seen[0].json["message"].startswith("1 < 2 & 日本\n\nNode: 10.0.0.1:6379")
    assert (peer.seen[0].json["type"], peer.seen[0].headers["user-agent"]) == ("failure", "Shardwatch")
    assert len(shown) == 1
    assert SECRET not in shown[0]
    assert "SECRET_KEY" not in shown[0]


def test_what_an_address_asks_for_changes_no_promise(service: StartService) -> None:
    peer, other = service(), service()
    peer.script = says(307, Location=f"http://localhost:{other.port}/")

    found = deliver(address(peer, "/x?retry=5&wait=0&optional=yes&redirect=yes&verify=no&rto=300"))

    assert isinstance(found, Final)
    assert (found.cause, found.words) == (Cause.REDIRECTED, "localhost")
    assert (len(peer.seen), other.connections) == (1, 0)


def test_a_private_address_is_refused(service: StartService, settings: Settings) -> None:
    peer = service()
    settings.ALLOWED_PRIVATE_HOSTS = []

    found = deliver(address(peer))

    assert isinstance(found, Final)
    assert (found.cause, found.words) == (Cause.PRIVATE_ADDRESS, "localhost")
    assert peer.connections == 0


def test_what_never_ends_is_ended(service: StartService, settings: Settings) -> None:
    peer = service(peers.drips)
    settings.DELIVERY_CONNECT_TIMEOUT_SECONDS = settings.DELIVERY_READ_TIMEOUT_SECONDS = 0.75

    found = deliver(address(peer))

    assert isinstance(found, Unknown)
    assert found.cause == Cause.SILENT
    assert not children()


def test_a_process_that_dies_may_have_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apprise, "CHILD", "alerts.no_such_module")

    found = deliver("json://localhost/")

    assert isinstance(found, Unknown)
    assert found.cause == Cause.SENDER_LOST


def exchanged(peer: Service | str, **limits: Any) -> Outcome:
    """Return what a channel makes of one exchange over HTTP, without a process for it."""
    road = Road(LIMITS | limits)
    url = peer if isinstance(peer, str) else peer.url
    request = requests.Request("POST", f"{url}/{SECRET}", json={"a": "b"}).prepare()
    with contextlib.suppress(requests.ConnectionError):
        road.exchange(HTTPAdapter(), request)
    return outcome(SAID | {"status": road.status, "wrong": road.wrong}, f"json://localhost/{SECRET}")


@pytest.mark.parametrize(
    ("status", "kind", "cause"),
    [
        (400, Final, Cause.BAD_REQUEST),
        (401, Final, Cause.NOT_ALLOWED),
        (403, Final, Cause.NOT_ALLOWED),
        (404, Final, Cause.GONE),
        (410, Final, Cause.GONE),
        (302, Final, Cause.REDIRECTED),
        (429, RetryAt, Cause.BUSY),
        (503, RetryAt, Cause.UNAVAILABLE),
        (500, Unknown, Cause.SERVER_ERROR),
    ],
)
def test_a_status_means_what_it_means_elsewhere(status: int, kind: type, cause: Cause, service: StartService) -> None:
    found = exchanged(service(says(status, f"no, {SECRET}", Retry_After="7")))

    assert isinstance(found, kind)
    assert not isinstance(found, Accepted)
    assert (found.cause, found.status, found.answer) == (cause, status, "no, …")
    assert getattr(found, "seconds", None) == (7 if kind is RetryAt else None)


@pytest.mark.parametrize(
    ("script", "cause"),
    [(peers.closes, Cause.CUT), (peers.closes_within, Cause.CUT), (peers.hangs, Cause.SILENT)],
    ids=["closes", "closes within", "hangs"],
)
def test_without_an_answer_nobody_knows(script: Script, cause: Cause, service: StartService) -> None:
    found = exchanged(service(script), read=0.3)

    assert isinstance(found, Unknown)
    assert found.cause == cause


@pytest.mark.parametrize("cause", [Cause.REFUSED, Cause.UNKNOWN_HOST])
def test_what_was_never_sent_is_tried_again(cause: Cause) -> None:
    port = peers.closed_port()
    host = "localhost" if cause == Cause.REFUSED else "no-such-host.invalid"

    found = exchanged(f"http://{host}:{port}")

    assert isinstance(found, RetryAt)
    assert (found.cause, found.words) == (cause, host)


def test_a_certificate_of_a_stranger_is_refused(service: StartService, tmp_path: Path) -> None:
    authority = Authority()
    (tmp_path / "ca.pem").write_text(authority.pem)
    peer = service(tls=secured(authority, tmp_path))

    found = exchanged(peer)

    assert isinstance(found, RetryAt)
    assert found.cause == Cause.TLS
    assert "certificate" in found.words
    assert not peer.seen
    assert exchanged(peer, trust=str(tmp_path / "ca.pem")).status == 202


def test_an_endless_answer_is_cut(service: StartService) -> None:
    found = exchanged(service(peers.floods))

    assert (found.status, len(found.answer)) == (200, 0)


@pytest.mark.parametrize(
    ("said", "kind", "cause"),
    [
        ({"is_sent": True, "status": 200}, Accepted, None),
        ({"is_sent": True}, Accepted, None),
        ({"status": 200, "words": "ok: false"}, Final, Cause.REFUSED_BY_SERVICE),
        ({"words": "The server hung up."}, RetryAt, Cause.APPRISE),
        ({"refused": "intern", "words": "x"}, Final, Cause.PRIVATE_ADDRESS),
        ({"forbidden": "/etc/passwd"}, Final, Cause.BAD_SETTINGS),
        ({"problem": "unknown"}, Final, Cause.BAD_SETTINGS),
    ],
    ids=lambda value: None if isinstance(value, dict) else str(value),
)
def test_anything_but_full_success_is_a_failure(said: dict[str, Any], kind: type, cause: Cause | None) -> None:
    found = outcome(SAID | said, f"json://localhost/{SECRET}")

    assert type(found) is kind
    assert getattr(found, "cause", None) == cause


@pytest.mark.parametrize(
    "url",
    [
        f"tgram://123456789:{SECRET}/-100200300",
        f"json://somebody:{SECRET}@example.org/path",
        f"json://example.org/?token={SECRET}",
        "json://example.org/very%73ecrettoken",
        f"slack://{SECRET.upper()}/x",
    ],
)
def test_parts_of_an_address_are_kept_nowhere(url: str) -> None:
    words = f"Failed to load {url}: {SECRET} is wrong, {SECRET.upper()}, too: 123456789:{SECRET}/-100200300"

    found = outcome(SAID | {"words": words}, url)

    assert isinstance(found, RetryAt)
    kept = sentence(found.cause, found.words)
    assert url not in kept
    assert SECRET not in kept
    assert not [part for part in secrets_of(url) if len(part) > 8 and part in kept]


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("nosuchservice://x", "unknown"),
        ("https://example.org/x", "unknown"),
        ("file:///etc/passwd", "unknown"),
        ("tgram://no-token", "wrong"),
        ("json://", "wrong"),
        ("syslog://", "local"),
        ("dbus://", "local"),
        ("glib://", "local"),
        ("rsyslog://example.org", "local"),
        ("windows://", "local"),
        ("macosx://", "local"),
        ("gnome://", "local"),
        ("mqtt://example.org/topic", "missing"),
    ],
)
def test_it_knows_why_an_address_means_no_service(url: str, problem: str) -> None:
    assert service_of(url) == problem


@pytest.mark.parametrize(
    "url",
    ["json://example.org", "NTFY://topic", f"gotify://example.org/{SECRET}", "mailto://user:pass@example.org"],
)
def test_it_knows_services(url: str) -> None:
    assert not isinstance(service_of(url), str)


def test_plugins_that_act_on_this_machine_are_there_to_be_refused() -> None:
    modules = {plugin.__module__.rpartition(".")[2] for plugin in N_MGR.plugins()}

    assert modules >= LOCAL


def test_what_an_address_asks_for_is_taken_away() -> None:
    made = service_of("json://example.org/?retry=5&optional=yes&verify=no&rto=300&overflow=split")
    assert not isinstance(made, str)

    found = hardened(made, LIMITS)

    assert (found.retry, found.optional, found.verify_certificate) == (0, False, True)
    assert (found.request_timeout, found.overflow_mode) == ((20.0, 20.0), "truncate")


@pytest.mark.parametrize("kind", list(Kind))
def test_it_says_in_words_how_it_stands(kind: Kind) -> None:
    found = apprise.told(sending(kind, severity="warning"))

    first = {"trigger": "Warning", "acknowledge": "Acknowledged", "update": "Update", "resolve": "Resolved"}[kind]
    assert found["title"] == f"{first}: game-cache: node-1 does not answer"
    assert found["kind"] == ("over" if kind == Kind.RESOLVE else "warning")
    assert found["kind"] in apprise_child.KINDS


def test_a_message_without_a_text_still_has_a_body() -> None:
    found = apprise.told(sending(text="", facts=(), link="", runbook="", title="日" * 9_000))

    assert found["body"]
    assert (len(found["title"]), len(found["body"])) == (apprise.TITLE_LIMIT, apprise.TEXT_LIMIT)


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("", "required"),
        ("verysecrettoken", "no address of Apprise"),
        ("json://a, json://b", "no address of Apprise"),
        ("json://" + "x" * 2_000, "at most 2000"),
        ("dbus://", "dbus:// acts on this machine"),
    ],
    ids=["nothing", "words", "two", "long", "local"],
)
def test_its_form_refuses_what_is_no_address(typed: str, words: str) -> None:
    assert words in str(AppriseForm({"url": typed}).errors["url"])


def test_every_problem_has_its_sentence() -> None:
    assert set(apprise.PROBLEMS) == set(apprise_child.Problem.__args__)  # type: ignore[attr-defined]


@pytest.mark.django_db
def test_the_api_adds_it_and_keeps_its_address() -> None:
    body = {"name": "phone", "kind": "apprise", "settings": {"url": f"gotify://example.org/{SECRET}"}}

    made = Client().post("/api/v1/channels", body, "application/json", headers=bearer_of(Role.ADMIN)).json()

    assert (made["can_page"], made["settings"]) == (False, {"url": "(set)"})
    assert sender.settings_of(Channel.objects.get().settings) == body["settings"]
    assert SECRET not in str(list(AuditEntry.objects.values()))


def test_an_address_that_is_wrong_does_not_come_back(db: None) -> None:
    client = client_of(Role.ADMIN)

    answer = client.post("/channels/new/apprise/", {"name": "x", "url": f"{SECRET}:key"})

    assert answer.status_code == 400
    assert "no address of Apprise" in answer.content.decode()
    assert SECRET not in answer.content.decode()


@pytest.mark.django_db
def test_a_test_takes_the_road_of_real_messages(service: StartService, caplog: pytest.LogCaptureFixture) -> None:
    def repeats(exchange: Exchange) -> None:
        exchange.reply(403 if b"Resolved" in exchange.body else 200, f"no {exchange.body!r}")

    peer = service(repeats)
    made = channel("phone", "apprise", url=f"ntfy://localhost:{peer.port}/{SECRET}")
    client = client_of(Role.ADMIN)

    client.post(f"/channels/{made.pk}/test/")
    sender.drain()

    shown = client.get(f"/channels/{made.pk}/").content.decode()
    assert [(seen.json["topic"], seen.json["title"].split(":")[0]) for seen in peer.seen] == [
        (SECRET, "Test"),
        (SECRET, "Resolved"),
    ]
    assert list(Attempt.objects.order_by("pk").values_list("result", flat=True)) == ["accepted", "final"]
    assert "not for paging" in shown
    assert "did not accept the key or the password (HTTP 403)" in shown
    assert SECRET not in shown + caplog.text + str(list(Attempt.objects.values()))


def test_pages_mark_it_as_not_for_paging(db: None) -> None:
    client = client_of(Role.ADMIN)

    seen = client.get("/channels/").content.decode()
    form = client.get("/channels/new/apprise/").content.decode()

    assert 'Any other service (Apprise) <span class="soft">(not for paging)</span>' in seen
    assert "not for paging" in form
    assert "not for paging" not in client.get("/channels/new/pagerduty/").content.decode()
