"""Shardwatch's own health by the API."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import Role
from collectors.models import NodeStatus, PollLease, PollWorker
from collectors.tests.cast import cache_with_nodes
from dashboard.tests.api import call
from fleet.models import Cache

pytestmark = pytest.mark.django_db


@pytest.fixture
def cache() -> Cache:
    made = cache_with_nodes(2, 1)
    PollLease.objects.create(cache=made, worker="poll@one", polls=40, late=2, skipped=1, commands=30, connections=4)
    return made


def silence(cache: Cache, *minutes: int) -> None:
    for node, ago in zip(cache.nodes.order_by("pk"), minutes, strict=False):
        NodeStatus.objects.create(node=node, failing_since=timezone.now() - timedelta(minutes=ago), failed_step="ping")


def test_it_names_parts_workers_and_totals(cache: Cache) -> None:
    PollWorker.objects.create(name="poll@one")
    silence(cache, 5)

    answer = call(Role.VIEWER, "get", "/health").json()

    assert "database" in {check["name"] for check in answer["checks"]}
    assert answer["ok"] == all(check["ok"] for check in answer["checks"])
    assert [worker["name"] for worker in answer["workers"]] == ["poll@one"]
    totals = answer["totals"]
    assert (totals["nodes"], totals["failing"], totals["answering"]) == (4, 1, 3)
    assert (totals["polls"], totals["late"], totals["commands_per_second"]) == (40, 2, 2.0)


def test_it_says_how_polls_go(cache: Cache) -> None:
    Cache.objects.create(name="new", address="redis://10.0.0.9", is_paused=True)
    silence(cache, 5)

    game, new = call(Role.VIEWER, "get", "/health/polls").json()["caches"]

    assert (game["cache"], game["nodes"], game["failing"], game["worker"], game["skipped"]) == (
        "game",
        4,
        1,
        "poll@one",
        1,
    )
    assert (new["is_paused"], new["worker"], new["polls"], new["commands_per_second"]) == (True, None, None, None)


def test_it_lists_the_longest_silent_first(cache: Cache) -> None:
    silence(cache, 5, 60)

    nodes = call(Role.VIEWER, "get", "/health/silent").json()["nodes"]

    assert [node["node"] for node in nodes] == ["127.0.0.1:7011", "127.0.0.1:7010"]
    assert (nodes[0]["cache"], nodes[0]["role"], nodes[0]["shard"]) == ("game", "replica", 1)
    assert (nodes[0]["failed_step"], nodes[0]["failed_reason"], nodes[0]["answered_at"]) == ("ping", None, None)


@pytest.mark.parametrize(("path", "key", "count"), [("/health/polls", "caches", 1), ("/health/silent", "nodes", 3)])
def test_it_gives_pages(cache: Cache, path: str, key: str, count: int) -> None:
    silence(cache, 5, 6, 7)

    pages = [call(Role.VIEWER, "get", f"{path}?page_size=1&page={page}").json() for page in (1, count, count + 1)]

    assert [len(page[key]) for page in pages] == [1, 1, 0]
    assert pages[0]["count"] == count


@pytest.mark.parametrize("query", ["page=0", "page_size=9999", "page=-1", "page=1.5"])
@pytest.mark.parametrize("path", ["/health/polls", "/health/silent"])
def test_it_refuses_pages_that_are_none(path: str, query: str) -> None:
    assert call(Role.VIEWER, "get", f"{path}?{query}").status_code == 400


@pytest.mark.parametrize("path", ["/health", "/health/polls", "/health/silent"])
def test_it_wants_a_caller(path: str) -> None:
    assert call("", "get", path).status_code == 401
