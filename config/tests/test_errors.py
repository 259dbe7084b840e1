import logging
import sys
from collections.abc import Iterator
from io import StringIO
from urllib.parse import quote

import pytest
from django.conf import settings
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db.utils import ConnectionHandler
from django.http import HttpRequest, HttpResponse
from django.test import Client, override_settings
from django.urls import include, path

from accounts.models import Role
from accounts.tests.cast import client_of
from config.refusals import WithoutTraceback
from fleet.models import Cache


def broken(request: HttpRequest) -> HttpResponse:
    raise RuntimeError("the password is hush-hush")


def away(request: HttpRequest) -> HttpResponse:
    nobody = ConnectionHandler({"default": {**settings.DATABASES["default"], "HOST": "127.0.0.1", "PORT": "1"}})
    nobody["default"].ensure_connection()
    raise AssertionError("somebody answered")


def suspicious(request: HttpRequest) -> HttpResponse:
    raise SuspiciousOperation("hush-hush")


def closed(request: HttpRequest) -> HttpResponse:
    raise PermissionDenied("You need a key.")


handler400 = "config.errors.bad_request"
handler403 = "config.errors.forbidden"
handler404 = "config.errors.not_found"
handler500 = "config.errors.server_error"
urlpatterns = [
    path("broken/", broken),
    path("away/", away),
    path("api/v1/away/", away),
    path("suspicious/", suspicious),
    path("closed/", closed),
    path("api/v1/broken/", broken),
    path("", include("config.urls")),
]
pytestmark = [pytest.mark.django_db, pytest.mark.urls("config.tests.test_errors")]


@pytest.mark.parametrize(
    ("address", "status", "words"),
    [
        ("/nothing/", 404, "There is no page at this address."),
        ("/closed/", 403, "You need a key."),
        ("/suspicious/", 400, "Bad request"),
        ("/broken/", 500, "The caches are watched all the same."),
        ("/away/", 503, "The database does not answer"),
    ],
)
def test_it_says_calmly_what_happened(address: str, status: int, words: str) -> None:
    client = client_of(Role.VIEWER)
    client.raise_request_exception = False

    answer = client.get(address)

    assert (answer.status_code, "hush-hush" in answer.content.decode()) == (status, False)
    assert words in answer.content.decode()


@pytest.fixture
def log() -> Iterator[StringIO]:
    """What our own handler writes meanwhile."""
    (handler,) = (one for one in logging.root.handlers if any(isinstance(f, WithoutTraceback) for f in one.filters))
    assert isinstance(handler, logging.StreamHandler)
    before = handler.setStream(written := StringIO())
    yield written
    handler.setStream(before or sys.stderr)


@pytest.mark.parametrize(
    ("address", "line", "has_traceback"),
    [
        ("/closed/", "Forbidden (Permission denied): /closed/", False),
        ("/users/", "Forbidden (Permission denied): /users/", False),
        ("/nothing/", "Not Found: /nothing/", False),
        ("/broken/", "Internal Server Error: /broken/", True),
    ],
)
def test_the_log_has_tracebacks_of_our_own_errors_alone(
    address: str, line: str, has_traceback: bool, log: StringIO
) -> None:
    client = client_of(Role.VIEWER)
    client.raise_request_exception = False

    client.get(address)

    assert line in log.getvalue()
    assert ("Traceback" in log.getvalue()) is has_traceback


ESCAPE = "\x1b[2J\x9b\u202e\x07"


@pytest.mark.parametrize(
    "query",
    [
        f"metric=used{ESCAPE}memory",
        f"metric=used_memory&from={ESCAPE}",
        f"metric=used_memory&step={ESCAPE}",
        f"metric=used_memory&by={ESCAPE}",
        f"{ESCAPE}=1&metric=x",
    ],
)
def test_the_api_repeats_nothing_that_drives_a_terminal(query: str) -> None:
    Cache.objects.create(name="game", address="redis://127.0.0.1:1")

    answer = client_of(Role.VIEWER).get(f"/api/v1/caches/game/series?{quote(query, safe='=&')}")

    assert answer.status_code == 400
    assert all(words.isprintable() for words in answer.json().values())


@pytest.mark.parametrize("body", [{"name": ESCAPE, "address": "x"}, {"name": "a", "address": f"redis://{ESCAPE}"}])
def test_the_api_refuses_a_cache_in_words_that_can_be_printed(body: dict[str, str]) -> None:
    answer = client_of(Role.OPERATOR).post("/api/v1/caches", {**body, ESCAPE: 1}, content_type="application/json")

    assert answer.status_code in {400, 403}
    assert all(words.isprintable() for words in answer.json().values())


BROWSER = {"Accept": "text/html,*/*;q=0.8"}


@pytest.mark.parametrize(
    ("method", "address", "allowed", "words"),
    [
        ("get", "/scans/1/pause/", "POST", "use its button or form again"),
        ("get", "/account/tokens/", "POST", "use its button or form again"),
        ("post", "/scans/", "GET, HEAD", "This address takes GET, HEAD only."),
    ],
)
def test_it_says_how_an_address_is_used(method: str, address: str, allowed: str, words: str) -> None:
    answer = getattr(client_of(Role.OPERATOR), method)(address, headers=BROWSER)

    assert (answer.status_code, answer["Allow"]) == (405, allowed)
    assert words in answer.content.decode()


def test_it_says_so_to_programs_in_a_line() -> None:
    answer = client_of(Role.OPERATOR).get("/scans/1/pause/", headers={"Accept": "*/*"})

    assert answer["Content-Type"].startswith("text/plain")
    assert answer.content.decode() == "This address takes POST only.\n"


def test_it_shows_a_missing_page_to_visitors_too() -> None:
    assert Client().get("/nothing/").status_code == 404


@pytest.mark.parametrize(
    ("address", "status"), [("/api/v1/broken/", 500), ("/api/v1/away/", 503), ("/api/v1/nothing", 404)]
)
def test_it_answers_programs_in_json(address: str, status: int) -> None:
    client = client_of(Role.VIEWER)
    client.raise_request_exception = False

    answer = client.get(address)

    assert (answer.status_code, list(answer.json())) == (status, ["error"])


@pytest.mark.parametrize("address", ["/away/", "/api/v1/away/"])
def test_it_says_when_to_ask_an_absent_database_again(address: str, log: StringIO) -> None:
    client = client_of(Role.VIEWER)
    client.raise_request_exception = False

    answer = client.get(address)

    assert answer["Retry-After"] == "5"
    assert ("Connection refused" in log.getvalue(), "Traceback" in log.getvalue()) == (True, False)


def test_it_refuses_a_foreign_host_name() -> None:
    answer = Client().get("/login/", headers={"Host": "evil.example"})

    assert answer.status_code == 400
    assert "SHARDWATCH_ALLOWED_HOSTS" in answer.content.decode()


@override_settings(DEBUG=False)
def test_it_needs_no_database_for_the_page_of_an_error(django_assert_num_queries: pytest.FixtureRequest) -> None:
    client = Client(raise_request_exception=False)

    with django_assert_num_queries(0):  # type: ignore[operator]
        assert client.get("/api/v1/broken/").status_code in {302, 500}
