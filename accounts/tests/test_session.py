import pytest
from django.conf import settings
from django.test import Client

from accounts.models import AuditEntry
from accounts.tests.cast import PASSWORD, client_of, person

pytestmark = pytest.mark.django_db


def sign_in(client: Client, password: str = PASSWORD, **extra: str) -> int:
    return client.post("/login/", {"username": "viewer", "password": password, **extra}).status_code


@pytest.mark.parametrize("path", ["/", "/account/", "/users/", "/audit/", "/caches/new/", "/health/"])
def test_it_sends_visitors_to_the_sign_in_page(path: str) -> None:
    response = Client().get(path)

    assert (response.status_code, response["Location"]) == (302, f"/login/?next={path}")


def test_it_signs_in_and_notes_it() -> None:
    person()

    response = Client().post("/login/", {"username": "viewer", "password": PASSWORD, "next": "/account/"})

    assert (response.status_code, response["Location"]) == (302, "/account/")
    assert AuditEntry.objects.get().action == "session.open"


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
def test_it_never_leads_to_another_site(target: str) -> None:
    person()

    response = Client().post("/login/", {"username": "viewer", "password": PASSWORD, "next": target})

    assert response["Location"] == "/"


def test_it_says_that_user_or_password_is_wrong() -> None:
    person()

    response = Client().post("/login/", {"username": "viewer", "password": "wrong"})

    assert "correct username and password" in response.content.decode()


def test_it_locks_out_after_too_many_failures_and_says_how_long() -> None:
    person()
    client = Client()
    statuses = [sign_in(client, "wrong") for _ in range(settings.AXES_FAILURE_LIMIT)]

    response = client.post("/login/", {"username": "viewer", "password": PASSWORD})

    assert statuses[:-1] == [200] * (settings.AXES_FAILURE_LIMIT - 1)
    assert response.status_code == 429
    assert "Wait 15\xa0minutes" in response.content.decode()


def test_it_does_not_lock_out_other_users() -> None:
    person()
    person(username="other")
    client = Client()
    for _ in range(settings.AXES_FAILURE_LIMIT):
        sign_in(client, "wrong")

    response = client.post("/login/", {"username": "other", "password": PASSWORD})

    assert response.status_code == 302


@pytest.mark.parametrize("username", ["a\0b", "x" * 5000, "ユーザー", "\ud7ff"])
def test_it_survives_odd_user_names(username: str) -> None:
    assert Client().post("/login/", {"username": username, "password": "x"}).status_code == 200


def test_it_wants_the_csrf_token() -> None:
    person()

    response = Client(enforce_csrf_checks=True).post("/login/", {"username": "viewer", "password": PASSWORD})

    assert response.status_code == 403
    assert "load the page again" in response.content.decode()


def test_it_signs_out_only_by_post() -> None:
    client = client_of()

    assert client.get("/logout/").status_code == 405
    assert client.post("/logout/")["Location"] == "/login/"
    assert client.get("/account/").status_code == 302


def test_it_sends_the_whole_page_to_sign_in_when_a_part_of_it_refreshes() -> None:
    headers = {"HX-Request": "true", "HX-Current-URL": "https://watch.example/account/?a=1"}

    response = Client().get("/account/", headers=headers)

    assert (response.status_code, response["HX-Redirect"]) == (401, "/login/?next=/account/%3Fa%3D1")


def test_it_offers_the_languages_before_signing_in() -> None:
    client = Client()

    client.post("/i18n/setlang/", {"language": "ja", "next": "/login/"})

    assert '<html lang="ja"' in client.get("/login/").content.decode()
