"""The page and the API of who holds the connections."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from pytest_django.fixtures import Settings

from accounts.models import AuditEntry, Role
from accounts.tests.cast import client_of
from collectors.client_list import ClientList
from collectors.models import ClientReading, ClientRows, ClientTurn, CommandSupport
from collectors.tests.cast import cache_with_nodes
from dashboard.client_groups import ClientNode, clients_of
from dashboard.tests.api import call
from dashboard.tests.cast import NOW, member
from dashboard.tests.test_fleet import HOSTILE, sampled
from fleet.models import Cache, Node
from launcher.valkey import Valkey

pytestmark = pytest.mark.django_db
QUERIES = 12
LINE = "addr=10.0.%d.1:%d name=%s age=900 idle=%d flags=N qbuf=5 omem=7 tot-mem=%d cmd=get user=default lib-name=jedis"


def page(address: str = "", role: str = Role.VIEWER) -> str:
    answer = client_of(role).get(f"/caches/game/clients/{address}")
    assert answer.status_code == 200
    return answer.content.decode()


def have_read(node: Node, *names: str, minutes: float = 1) -> ClientReading:
    """Keep a reading of a node to which one connection of each name is open."""
    seen = ClientList()
    for number, name in enumerate(names):
        seen.take((LINE % (number % 3, 5000 + number, name, number, 1000 * (number + 1))).encode())
    read_at = timezone.now() - timedelta(minutes=minutes)
    ClientRows.objects.update_or_create(node=node, defaults={"read_at": read_at, "rows": seen.rows()})
    return ClientReading.objects.create(
        node=node, read_at=read_at, connections=seen.connections, own=2, replication=1, groups=seen.groups()
    )


@pytest.fixture
def cache() -> Cache:
    cache = cache_with_nodes(2)
    sampled(cache, connected_clients=9)
    return cache


def test_it_adds_groups_up_over_nodes(cache: Cache) -> None:
    first, second = cache.nodes.all()
    have_read(first, "shop", "shop", "")
    have_read(second, "shop", "mail")

    found = clients_of(cache, "name")

    assert [(group.label, group.connections) for group in found.groups] == [("shop", 3), ("", 1), ("mail", 1)]
    assert (found.connections, found.own, found.replication) == (5, 4, 2)
    html = page()
    assert "no name" in html
    assert "5 connections, not counting 4 of Shardwatch and 2 of replication" in html


def test_it_groups_and_filters_by_the_address(cache: Cache) -> None:
    first, second = cache.nodes.all()
    have_read(first, "shop", "mail")
    have_read(second, "chat")

    assert "10.0.1.0/24" in page("?by=network")
    assert "<code>chat</code>" not in page(f"?node={first.pk}")
    assert page("?by=library").count("<code>jedis</code>") == 1


def test_only_the_last_reading_counts(cache: Cache) -> None:
    node = cache.nodes.all()[0]
    have_read(node, "shop", minutes=9)
    have_read(node, "mail", minutes=1)

    assert [group.label for group in clients_of(cache, "name").groups] == ["mail"]


def test_it_folds_what_is_beyond_fifty(cache: Cache) -> None:
    for node in cache.nodes.all():
        have_read(node, *[f"{node.pk}-{number}" for number in range(40)])

    groups = clients_of(cache, "name").groups

    assert len(groups) == 51
    assert (groups[-1].is_rest, groups[-1].connections) == (True, 30)
    assert "other" in page()


def test_it_says_why_a_node_is_not_read(cache: Cache, settings: Settings) -> None:
    first = cache.nodes.all()[0]
    ClientReading.objects.create(
        node=first, read_at=timezone.now(), failed_cause="other", failed_words="NOPERM no clients"
    )
    settings.CLIENTS_LIMIT = 8

    html = page()

    assert "NOPERM no clients" in html
    assert "over 8 connections: read only when an operator asks for it" in html
    assert "No client list can be read" in html


def test_single_connections_are_shown_for_minutes(cache: Cache) -> None:
    have_read(cache.nodes.all()[0], "shop", "mail")
    assert "10.0.1.1:5001" in page("?sort=idle")

    ClientRows.objects.update(read_at=timezone.now() - timedelta(minutes=11))

    assert "10.0.1.1:5001" not in page()


@pytest.mark.parametrize(("seconds", "rate"), [(2, 2 - 1 / 15), (15, 2), (-1, 2), (300, 2)])
def test_it_leaves_our_own_connection_out_of_the_churn(seconds: int, rate: float) -> None:
    reading = ClientReading(read_at=NOW - timedelta(seconds=seconds))

    node = ClientNode(member(connections_received_per_second=2.0), reading, interval_seconds=15)

    assert node.new_per_second == pytest.approx(rate)


def test_churn_that_is_not_known_is_not_zero() -> None:
    assert ClientNode(member(), None, 15).new_per_second is None


def test_hostile_names_are_harmless(cache: Cache) -> None:
    have_read(cache.nodes.all()[0], HOSTILE.replace(" ", ""), "<b>x</b>", "\u202ex", "../../etc", "x" * 10_000)

    for by in ("name", "network"):
        html = page(f"?by={by}")
        assert HOSTILE.replace(" ", "") not in html
        assert "<b>x</b>" not in html


@pytest.mark.parametrize(
    "address", ["?by=x", "?node=x", "?node=²", f"?node={10**30}", "?sort=x", "?by=name&by=&node=-1"]
)
def test_bad_values_fall_back(cache: Cache, address: str) -> None:
    assert "Connections" in page(address)


@pytest.mark.parametrize("shards", [1, 12])
def test_it_asks_the_database_no_more_often_for_more_nodes(
    shards: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    cache = cache_with_nodes(shards, 1)
    for node in cache.nodes.all():
        have_read(node, "shop", "mail")
    client = client_of()

    with django_assert_max_num_queries(QUERIES):
        client.get("/caches/game/clients/")


def test_only_operators_may_have_it_read(cache: Cache) -> None:
    assert "Read the client list now" not in page()
    assert "Read the client list now" in page(role=Role.OPERATOR)

    assert client_of().post("/caches/game/clients/read/").status_code == 403
    assert call(Role.VIEWER, "post", "/caches/game/clients/read").status_code == 403
    assert client_of(Role.OPERATOR).get("/caches/game/clients/read/").status_code == 405
    assert client_of(Role.OPERATOR).post("/caches/nowhere/clients/read/").status_code == 404


def test_an_operator_reads_now(valkey_server: Callable[..., Valkey]) -> None:
    server = valkey_server()
    cache = Cache.objects.create(name="game", address=server.url)
    node = cache.nodes.create(identity="x", host="127.0.0.1", port=server.port)
    browser = client_of(Role.OPERATOR)

    answer = browser.post("/caches/game/clients/read/", {"by": "user", "node": node.pk}, follow=True)

    assert answer.redirect_chain == [(f"/caches/game/clients/?by=user&node={node.pk}&sort=memory", 302)]
    assert "The client lists were read." in answer.content.decode()
    assert ClientReading.objects.get().failure == ""
    entry = AuditEntry.objects.get(action="clients.read")
    assert (entry.target, entry.detail) == ("game", {"node": node.pk})
    again = browser.post("/caches/game/clients/read/", {}, follow=True).content.decode()
    assert "read just now" in again
    assert ClientReading.objects.count() == 1


def test_a_paused_cache_is_not_read(cache: Cache) -> None:
    Cache.objects.update(is_paused=True)

    html = client_of(Role.OPERATOR).post("/caches/game/clients/read/", follow=True).content.decode()
    answer = call(Role.OPERATOR, "post", "/caches/game/clients/read")

    assert "The cache is paused" in html
    assert (answer.status_code, answer.json()["error"][:19]) == (409, "The cache is paused")
    assert not ClientTurn.objects.exists()
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize("is_known", [True, False])
def test_it_says_that_no_list_can_be_read(cache: Cache, is_known: bool) -> None:
    for node in cache.nodes.all():
        if is_known:
            CommandSupport.objects.create(
                node=node, command="CLIENT LIST", state="refused", reason="NOPERM", checked_at=timezone.now()
            )
        else:
            ClientReading.objects.create(node=node, read_at=timezone.now(), failed_cause="no_permission")

    html = page()

    assert "No client list can be read" in html
    assert ("Commands that the servers refuse" in html) is is_known


def test_the_api_tells_the_same(cache: Cache) -> None:
    first, _second = cache.nodes.all()
    have_read(first, "shop", "shop", "mail")

    answer = call(Role.VIEWER, "get", "/caches/game/clients?by=name").json()

    assert (answer["connections"], answer["own"]) == (3, 2)
    group = answer["groups"][0]
    assert (group["label"], group["connections"], group["tot_mem"]) == ("shop", 2, 3000)
    assert [node["read_at"] is None for node in answer["nodes"]] == [False, True]
    assert len(answer["rows"]) == 3


def test_the_api_reads_now(valkey_server: Callable[..., Valkey]) -> None:
    server = valkey_server()
    cache = Cache.objects.create(name="game", address=server.url)
    cache.nodes.create(identity="x", host="127.0.0.1", port=server.port)

    answer = call(Role.OPERATOR, "post", "/caches/game/clients/read").json()

    assert answer["nodes"][0]["failure"] is None
    assert call(Role.OPERATOR, "post", "/caches/game/clients/read").status_code == 409
    ClientTurn.objects.all().delete()
    assert call("", "post", "/caches/game/clients/read").status_code == 401


@pytest.mark.parametrize("query", ["by=x", "node=-1", "node=x", "sort=x", "by=%00"])
def test_the_api_refuses_bad_values(cache: Cache, query: str) -> None:
    answer: Any = call(Role.VIEWER, "get", f"/caches/game/clients?{query}")

    assert answer.status_code == 400


def test_a_leak_shows_in_its_group(cache: Cache) -> None:
    node = cache.nodes.all()[0]
    for hours, shop in ((20, 1), (10, 4), (0.1, 9)):
        have_read(node, *["shop"] * shop, "mail", minutes=60 * hours)

    html = page()

    assert "+8" in html
    assert "±0" in html
    assert html.count('<svg class="spark"') == 2
    group = call(Role.VIEWER, "get", "/caches/game/clients").json()["groups"][0]
    assert (group["label"], group["change"], group["trend"][-1]) == ("shop", 8, 9)
    assert len(group["trend"]) == 48
    assert None in group["trend"]


def test_one_reading_alone_is_no_change(cache: Cache) -> None:
    node = cache.nodes.all()[0]
    have_read(node, "shop", minutes=60 * 25)
    ClientReading.objects.update(groups={"name": []})

    assert clients_of(cache, "name").groups == []
