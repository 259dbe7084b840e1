"""The MySQL behind a Memcached, given by the form and the API: kept secret, tried, audited, shown as it is."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from accounts.models import AuditEntry, Role
from accounts.tests.cast import bearer_of, client_of
from collectors.models import MysqlPlugin
from collectors.tests.mysql import mysql
from collectors.tests.peers import Peer
from dashboard.tests.api import ROOT, call
from fleet.engines import Engine
from fleet.models import Cache

pytestmark = pytest.mark.django_db
VARIABLES = {"daemon_memcached_w_batch_size": "1"}
# Nothing listens on the discard port here.
NEW = {"name": "pages", "address": "memcached://127.0.0.1:9"}
FORM = {**NEW, "poll_interval_seconds": "15", "tls_check_hostname": "on", "mysql_check_hostname": "on"}


@pytest.fixture
def dsn() -> Iterator[str]:
    server = Peer(mysql(VARIABLES, word="hush-hush"))
    yield f"mysql://watch:hush-hush@127.0.0.1:{server.port}"
    server.close()


@pytest.fixture
def known(dsn: str) -> Cache:
    cache = Cache.objects.create(**NEW, engine=Engine.MEMCACHED)
    MysqlPlugin.objects.create(cache=cache, dsn=dsn)
    return cache


def page(path: str) -> str:
    return str(client_of(Role.ADMIN).get(path).content.decode())


def sent(path: str, **given: Any) -> Any:
    return client_of(Role.OPERATOR).post(path, {**FORM, **given})


def test_the_form_stores_an_address_and_reads_there_at_once(dsn: str) -> None:
    answer = sent("/caches/new/", mysql_dsn=dsn)

    plugin = MysqlPlugin.objects.get()
    assert (answer.status_code, plugin.dsn.reveal()) == (302, dsn)
    assert plugin.variables == VARIABLES


@pytest.mark.usefixtures("known")
def test_the_form_never_shows_it_again() -> None:
    for html in (page("/caches/pages/edit/"), page("/caches/pages/internals/"), page("/audit/")):
        assert "hush-hush" not in html
        assert "mysql://watch" not in html
    assert "Forget the stored address of MySQL" in page("/caches/pages/edit/")


def test_a_form_that_comes_back_holds_no_secret(dsn: str) -> None:
    answer = sent("/caches/new/", mysql_dsn=dsn, address="redis://127.0.0.1:9")

    assert (answer.status_code, "Only a Memcached" in answer.content.decode()) == (400, True)
    assert "hush-hush" not in answer.content.decode()
    assert not Cache.objects.exists()


def test_an_empty_field_keeps_it_and_a_ticked_box_forgets_it(known: Cache) -> None:
    sent("/caches/pages/edit/", mysql_dsn="")
    assert MysqlPlugin.objects.exists()

    sent("/caches/pages/edit/", clear_mysql_dsn="on")
    assert not MysqlPlugin.objects.exists()


def test_the_audit_tells_that_it_changed_and_not_how(dsn: str) -> None:
    sent("/caches/new/", mysql_dsn=dsn)
    sent("/caches/pages/edit/", mysql_check_hostname="")

    added, changed = AuditEntry.objects.filter(action__startswith="cache.").order_by("pk")
    assert added.detail["mysql_dsn"] == "changed"
    assert changed.detail == {"mysql_check_hostname": "True -> False"}


def test_a_test_of_the_connection_reads_mysql_too(dsn: str) -> None:
    html = sent("/caches/test/", mysql_dsn=dsn).content.decode()

    assert "It tells 1 setting." in html
    assert "begin the address with mysqls://" in html
    assert "hush-hush" not in html


def test_a_page_says_whether_the_connection_is_safe(known: Cache) -> None:
    assert "plain text where MySQL offers no TLS" in page("/caches/pages/internals/")

    MysqlPlugin.objects.update(is_encrypted=True)

    assert "its certificate is checked" in page("/caches/pages/internals/")


def test_the_api_takes_it_and_never_answers_it(dsn: str) -> None:
    created = call(Role.OPERATOR, "post", "/caches", {**NEW, "mysql_dsn": dsn})
    shown = call(Role.ADMIN, "get", "/caches/pages")

    for answer in (created, shown):
        assert (answer.json()["has_mysql_dsn"], answer.json()["mysql_is_encrypted"]) == (True, False)
        assert "hush-hush" not in answer.content.decode()


def test_the_api_forgets_it(known: Cache) -> None:
    answer = call(Role.OPERATOR, "patch", "/caches/pages", {"mysql_dsn": ""}).json()

    assert (answer["has_mysql_dsn"], answer["revision"]) == (False, 2)
    assert not MysqlPlugin.objects.exists()


def test_the_api_changes_how_a_certificate_is_checked(known: Cache) -> None:
    answer = call(Role.OPERATOR, "patch", "/caches/pages", {"mysql_check_hostname": False}).json()

    assert (answer["has_mysql_dsn"], answer["mysql_check_hostname"]) == (True, False)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"mysql_dsn": "mysql://h"}, "mysql_dsn"),
        ({"mysql_ca_bundle": "x"}, "mysql_ca_bundle"),
        ({"address": "redis://127.0.0.1:9", "mysql_dsn": "mysql://u@127.0.0.1:1"}, "mysql_dsn"),
    ],
)
def test_the_api_names_the_field_that_is_wrong(given: dict[str, str], field: str) -> None:
    answer = call(Role.OPERATOR, "post", "/caches", {**NEW, **given})

    assert (answer.status_code, answer.json()["field"]) == (400, field)
    assert not Cache.objects.exists()


def test_the_api_tries_it_without_storing_anything(known: Cache) -> None:
    steps = call(Role.OPERATOR, "post", "/caches/test", {"cache": "pages"}).json()["steps"]

    assert (steps[-1]["step"], steps[-1]["ok"]) == ("mysql", True)


def test_a_list_of_caches_asks_for_no_plugin_by_itself(known: Cache, django_assert_max_num_queries: Any) -> None:
    headers = bearer_of()

    with django_assert_max_num_queries(4):
        (answer,) = Client().get(f"{ROOT}/caches", headers=headers).json()["caches"]

    assert answer["has_mysql_dsn"]
