"""Each class of a Memcached node, read on demand: the panel, its part for scripts, and the API."""

from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Role
from accounts.tests.cast import client_of
from collectors.models import NodeStatus
from collectors.tests.cast import cache_with_nodes
from collectors.tests.memcached import answers
from collectors.tests.peers import Peer, captured
from conftest import MemcachedFactory
from dashboard.tests.api import call
from dashboard.tests.test_memcached_pages import pool
from fleet.models import Cache, Node, Reach

pytestmark = pytest.mark.django_db
SCRIPT = {"HX-Request": "true"}


@pytest.fixture
def node(memcached_server: MemcachedFactory) -> Node:
    """The only node of a cache of a real server that holds some items."""
    server = memcached_server()
    server.ask(*(f"set key{number} 0 0 500 noreply\r\n{'x' * 500}" for number in range(20)), "get key1")
    return at(server.port)


def at(port: int) -> Node:
    cache = pool(1, f"memcached://127.0.0.1:{port}")
    cache.nodes.update(host="127.0.0.1", port=port)
    return cache.nodes.get()


def shown(query: str = "", headers: dict[str, str] | None = None) -> str:
    answer = client_of(Role.VIEWER).get(f"/caches/pages/internals/{query}", headers=headers)
    assert answer.status_code == 200
    return str(answer.content.decode().replace("\xa0", " "))


def test_the_panel_is_empty_until_somebody_asks() -> None:
    pool()

    html = shown()

    assert "No node has been read yet: choose one above." in html
    assert html.count("<option") == 2


def test_a_script_gets_the_classes_alone(node: Node) -> None:
    html = shown(f"?slabs={node.pk}", SCRIPT)

    assert "<html" not in html
    assert html.count("<tr>") == 2
    assert "600 B" in html


def test_without_scripts_the_page_comes_with_them(node: Node) -> None:
    html = shown(f"?slabs={node.pk}")

    assert f'<option value="{node.pk}" selected>' in html
    assert "600 B" in html.split('id="slab-classes"')[1]


def test_a_server_without_items_has_no_classes(memcached_server: MemcachedFactory) -> None:
    one = at(memcached_server().port)

    assert "so it has no classes yet" in shown(f"?slabs={one.pk}", SCRIPT)


@pytest.mark.parametrize("query", ["?slabs=", "?slabs=x", "?slabs=²", f"?slabs={10**30}", "?slabs=987654321"])
def test_bad_values_show_the_empty_panel(query: str) -> None:
    pool()

    assert "No node has been read yet" in shown(query, SCRIPT)


def test_a_node_of_another_cache_is_not_read() -> None:
    pool()
    other = cache_with_nodes(1).nodes.all()[0]

    assert "No node has been read yet" in shown(f"?slabs={other.pk}", SCRIPT)


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"is_paused": True}, "The cache is paused"), ({"reach": Reach.SERVICE}, "from Cloud Monitoring")],
)
def test_what_is_not_polled_is_not_asked(changes: dict[str, Any], words: str) -> None:
    node = pool(1).nodes.get()
    Cache.objects.update(**changes)

    assert words in shown(f"?slabs={node.pk}", SCRIPT)
    assert call(Role.VIEWER, "get", f"/caches/pages/slabs?node={node.pk}").status_code == 409


def test_nobody_waits_for_a_node_that_is_known_to_be_silent() -> None:
    node = pool(1).nodes.get()
    NodeStatus.objects.update_or_create(
        node=node, defaults={"failing_since": timezone.now(), "failed_cause": "refused", "failed_step": "connect"}
    )

    assert "Nothing listens on this port" in shown(f"?slabs={node.pk}", SCRIPT)


def test_a_server_that_refuses_says_so() -> None:
    server = Peer(answers({"version": b"VERSION 1.6.18\r\n", "stats": b"SERVER_ERROR <b>no</b>\r\n"}))

    html = shown(f"?slabs={at(server.port).pk}", SCRIPT)
    server.close()

    assert "SERVER_ERROR &lt;b&gt;no" in html


def test_other_engines_have_no_such_panel() -> None:
    cache_with_nodes(1)

    html = client_of(Role.VIEWER).get("/caches/game/internals/?slabs=1").content.decode()

    assert 'id="classes"' not in html


def test_hostile_numbers_are_left_out() -> None:
    slabs = b"STAT 1:chunk_size 96\r\nSTAT 1:used_chunks -1\r\nSTAT 999:chunk_size 1\r\nSTAT 2:chunk_size " + b"9" * 40
    server = Peer(
        answers({"version": b"VERSION 1\r\n", "stats slabs": slabs + b"\r\nEND\r\n", "stats items": b"END\r\n"})
    )

    answer = call(Role.VIEWER, "get", f"/caches/pages/slabs?node={at(server.port).pk}").json()
    server.close()

    assert [(one["number"], one["used_chunks"]) for one in answer["classes"]] == [(1, None)]


def test_the_api_tells_the_same(node: Node) -> None:
    answer = call(Role.VIEWER, "get", f"/caches/pages/slabs?node={node.pk}").json()

    assert (answer["node_id"], answer["failure"]) == (node.pk, None)
    (one,) = answer["classes"]
    assert (one["items"], one["hits"], one["writes"]) == (20, 1, 20)
    assert one["bytes"] >= 20 * one["chunk_size"]


@pytest.mark.parametrize(("query", "status"), [("node=987654321", 404), ("node=0", 400), ("", 400)])
def test_the_api_refuses_what_is_no_node(query: str, status: int) -> None:
    pool()

    assert call(Role.VIEWER, "get", f"/caches/pages/slabs?{query}").status_code == status


def test_the_api_says_that_other_engines_have_none() -> None:
    node = cache_with_nodes(1).nodes.all()[0]

    answer = call(Role.VIEWER, "get", f"/caches/game/slabs?node={node.pk}")

    assert (answer.status_code, "no classes of chunks" in answer.json()["error"]) == (409, True)


def test_captured_classes_are_shown_whole() -> None:
    replies = {name: captured(f"memcached-1.6/{name}.txt") + b"END\r\n" for name in ("slabs", "items")}
    server = Peer(answers({"version": b"VERSION 1\r\n"} | {f"stats {name}": text for name, text in replies.items()}))

    html = shown(f"?slabs={at(server.port).pk}", SCRIPT)
    server.close()

    assert html.count("<tr>") == 6
