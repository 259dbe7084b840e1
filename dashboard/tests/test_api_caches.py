from typing import Any

import pytest
from django.test import Client

from accounts.models import AuditEntry, Role
from accounts.tests.cast import bearer_of
from dashboard.tests.api import ROOT, call
from fleet.models import Cache
from fleet.registration import register
from fleet.tests.certificates import made_pair

pytestmark = pytest.mark.django_db
# Nothing listens on the discard port here.
NEW = {"name": "game", "address": "redis://127.0.0.1:9"}


def test_it_registers_a_cache_and_says_what_was_found() -> None:
    answer = call(Role.OPERATOR, "post", "/caches", {**NEW, "labels": {"env": "test"}})

    assert answer.status_code == 201
    assert answer.json()["discovery"]
    assert Cache.objects.get().labels == {"env": "test"}


def test_it_never_answers_a_secret() -> None:
    certificate, key = made_pair()
    secrets = {"password": "hush-hush", "client_certificate": certificate, "client_key": key, "ca_bundle": certificate}

    created = call(Role.OPERATOR, "post", "/caches", {"name": "game", "address": "rediss://127.0.0.1:9", **secrets})
    shown = call(Role.ADMIN, "get", "/caches/game")

    for answer in (created, shown):
        assert (answer.json()["has_password"], answer.json()["has_client_certificate"]) == (True, True)
        assert "hush-hush" not in answer.content.decode()
        assert "BEGIN" not in answer.content.decode()


def test_it_keeps_secrets_out_of_the_audit_and_the_log(caplog: pytest.LogCaptureFixture) -> None:
    call(Role.OPERATOR, "post", "/caches", {**NEW, "address": "redis://u:hush-hush@127.0.0.1:9"})
    call(Role.OPERATOR, "patch", "/caches/game", {"password": "hush-again"})

    told = "".join(f"{entry} {entry.detail}" for entry in AuditEntry.objects.all()) + caplog.text
    assert "'password': 'changed'" in told
    assert "hush" not in told


def test_it_says_that_a_name_is_taken() -> None:
    register(NEW)

    answer = call(Role.OPERATOR, "post", "/caches", NEW)

    assert (answer.status_code, answer.json()["field"]) == (409, "name")


def test_it_changes_what_is_named_and_keeps_the_rest() -> None:
    register({**NEW, "password": "secret", "plan_maxclients": 100})

    answer = call(Role.OPERATOR, "patch", "/caches/game", {"poll_interval_seconds": 60, "plan_maxclients": None})

    assert (answer.json()["poll_interval_seconds"], answer.json()["plan_maxclients"]) == (60, None)
    assert Cache.objects.get().password.reveal() == "secret"


def test_it_forgets_a_secret_that_is_set_to_nothing() -> None:
    register({**NEW, "password": "secret"})

    assert call(Role.OPERATOR, "patch", "/caches/game", {"password": ""}).json()["has_password"] is False


def test_it_refuses_a_change_of_an_older_revision() -> None:
    register(NEW)
    call(Role.OPERATOR, "patch", "/caches/game", {"is_paused": True, "revision": 1})

    answer = call(Role.OPERATOR, "patch", "/caches/game", {"is_paused": False, "revision": 1})

    assert answer.status_code == 409
    assert Cache.objects.get().is_paused


def test_it_survives_the_largest_revision() -> None:
    register(NEW)

    assert call(Role.OPERATOR, "patch", "/caches/game", {"revision": 2**31 - 1}).status_code == 409


def test_it_takes_whole_numbers_as_json_writes_them() -> None:
    answer = call(Role.OPERATOR, "post", "/caches", b'{"name": "game", "address": "a", "poll_interval_seconds": 30.0}')

    assert answer.json()["poll_interval_seconds"] == 30


def test_it_removes_a_cache() -> None:
    register(NEW)

    assert call(Role.OPERATOR, "delete", "/caches/game").status_code == 204
    assert call(Role.OPERATOR, "get", "/caches/game").status_code == 404
    assert AuditEntry.objects.get(action="cache.delete").target == "game"


def test_it_finds_by_label_and_text_and_pages() -> None:
    for number in range(5):
        register({"name": f"game-{number}", "address": "redis://a", "labels": {"env": "prod" if number else "test"}})

    answer = call(Role.VIEWER, "get", "/caches?label=env%3Dprod&text=GAME&page=2&page_size=3").json()

    assert (answer["count"], [cache["name"] for cache in answer["caches"]]) == (4, ["game-4"])


def test_it_needs_the_same_queries_for_many_caches(django_assert_max_num_queries: pytest.FixtureRequest) -> None:
    for number in range(20):
        register({"name": f"game-{number}", "address": "redis://a"})
    headers = bearer_of()

    with django_assert_max_num_queries(4):  # type: ignore[operator]
        Client().get(f"{ROOT}/caches", headers=headers)


def test_it_tests_a_connection_without_storing_anything() -> None:
    answer = call(Role.OPERATOR, "post", "/caches/test", {"address": "redis://127.0.0.1:9"})

    assert (answer.status_code, answer.json()["ok"]) == (200, False)
    assert not answer.json()["steps"][-1]["ok"]
    assert not Cache.objects.exists()


def test_it_tests_a_registered_cache_with_its_secrets() -> None:
    register({**NEW, "password": "hush-hush"})

    answer = call(Role.OPERATOR, "post", "/caches/test", {"cache": "game"})

    assert answer.status_code == 200
    assert "hush-hush" not in answer.content.decode()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"address": "redis://a"}, "name"),
        ({"name": "game"}, "address"),
        ({**NEW, "name": "Game"}, "name"),
        ({**NEW, "name": "a" * 64}, "name"),
        ({**NEW, "name": "test"}, "name"),
        ({**NEW, "name": None}, "name"),
        ({**NEW, "name": ["a"]}, "name"),
        ({**NEW, "address": "http://a"}, "address"),
        ({**NEW, "address": "redis://a:0x10"}, "address"),
        ({**NEW, "address": "x" * 4001}, "address"),
        ({**NEW, "address": "redis://" + "ｅ" * 300}, "address"),
        ({**NEW, "poll_interval_seconds": 0}, "poll_interval_seconds"),
        ({**NEW, "poll_interval_seconds": 10**30}, "poll_interval_seconds"),
        ({**NEW, "poll_interval_seconds": 1.5}, "poll_interval_seconds"),
        ({**NEW, "poll_interval_seconds": True}, "poll_interval_seconds"),
        ({**NEW, "plan_memory_bytes": 2**63}, "plan_memory_bytes"),
        ({**NEW, "plan_maxclients": -1}, "plan_maxclients"),
        ({**NEW, "labels": {"ENV": "x"}}, "labels.ENV.[key]"),
        ({**NEW, "labels": {"env": 1}}, "labels.env"),
        ({**NEW, "labels": {"env": "a\nb"}}, "labels"),
        ({**NEW, "labels": {f"k{n}": "v" for n in range(31)}}, "labels"),
        ({**NEW, "labels": []}, "labels"),
        ({**NEW, "ca_bundle": "x"}, "address"),
        ({**NEW, "address": "rediss://a", "ca_bundle": "x"}, "ca_bundle"),
        ({**NEW, "address": "rediss://a", "client_key": "x"}, "client_key"),
        ({**NEW, "tls_check_hostname": "yes"}, "tls_check_hostname"),
        ({**NEW, "engine": "redis"}, "engine"),
    ],
)
def test_it_names_the_field_that_is_wrong(body: dict[str, Any], field: str) -> None:
    answer = call(Role.OPERATOR, "post", "/caches", body)

    assert (answer.status_code, answer.json().get("field")) == (400, field)
    assert not Cache.objects.exists()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"text"',
        b"\xff\xfe",
        b'{"name": "\\ud800", "address": "redis://a"}',
        b'{"name": "a\\u0000", "address": "redis://a"}',
        b'{"name": "a", "address": "redis://a", "password": "\\u0000"}',
        b'{"name": "a", "address": "redis://a", "labels": {"a\\u0000": "b"}}',
        b'{"name": "a", "address": "redis://a", "poll_interval_seconds": 1' + b"0" * 5000 + b"}",
        b'{"name": "a", "address": "redis://a", "poll_interval_seconds": NaN}',
        b'{"a":' * 2000 + b"1" + b"}" * 2000,
    ],
)
def test_it_refuses_bodies_that_are_no_cache(body: bytes) -> None:
    answer = call(Role.OPERATOR, "post", "/caches", body)

    assert answer.status_code == 400
    assert answer.json()["error"]


def test_it_refuses_a_huge_body() -> None:
    assert call(Role.OPERATOR, "post", "/caches", b" " * 3_000_000).status_code == 413


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
def test_it_takes_json_only(kind: str) -> None:
    assert call(Role.OPERATOR, "post", "/caches", b"name=a", content_type=kind).status_code == 415


@pytest.mark.parametrize(
    "query",
    [
        "page=0",
        "page=x",
        "page=" + "9" * 50,
        "page_size=501",
        "text=%00",
        "label=env",
        "label=ENV%3Dx",
        "label=a%3D%00",
        "label=a%3Db&label=a%3Dc",
        "text=" + "x" * 201,
    ],
)
def test_it_refuses_odd_filters(query: str) -> None:
    assert call(Role.VIEWER, "get", f"/caches?{query}").status_code == 400


@pytest.mark.parametrize("name", ["%01", "%ff", "GAME", "a" * 300, "é", "..", "%F0%9F%98%80"])
@pytest.mark.parametrize("rest", ["", "/nodes", "/series?metric=used_memory"])
def test_it_knows_no_cache_of_an_odd_name(name: str, rest: str) -> None:
    assert call(Role.VIEWER, "get", f"/caches/{name}{rest}").status_code == 404
