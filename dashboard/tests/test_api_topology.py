"""How caches are laid out, and what they are asked, by the API."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import Role
from accounts.tests.cast import bearer_of
from collectors.models import CommandSupport, NodeFact, NodeStatus
from collectors.tests.cast import cache_with_nodes
from dashboard.tests.api import ROOT, call
from dashboard.tests.test_fleet import sampled
from fleet.models import Cache, Node, Shard

pytestmark = pytest.mark.django_db
QUERIES = 12


def test_it_puts_nodes_into_their_shards() -> None:
    cache = cache_with_nodes(2, 1)
    sampled(cache, replication_lag_bytes=7, master_link_up=True)
    Shard.objects.filter(number=1).update(slots=[[0, 5460], [9000, 9000]])

    answer = call(Role.VIEWER, "get", "/caches/game/topology").json()

    assert [(shard["number"], shard["slot_count"]) for shard in answer["shards"]] == [(1, 5462), (2, 0)]
    assert [node["role"] for node in answer["shards"][0]["nodes"]] == ["primary", "replica"]
    replica = answer["shards"][0]["nodes"][1]
    assert (replica["replication_lag_bytes"], replica["master_link_up"], replica["answers"]) == (7, True, True)
    assert answer["unplaced"] == []


def test_it_says_null_of_silent_nodes() -> None:
    cache = cache_with_nodes()
    sampled(cache, replication_lag_bytes=7)
    since = timezone.now() - timedelta(minutes=3)
    NodeStatus.objects.create(node=cache.nodes.get(), failing_since=since, failed_step="ping")

    node = call(Role.VIEWER, "get", "/caches/game/topology").json()["shards"][0]["nodes"][0]

    assert (node["answers"], node["replication_lag_bytes"], node["version"]) == (False, None, None)


def test_it_keeps_nodes_without_a_shard() -> None:
    cache = Cache.objects.create(name="game", address="redis://127.0.0.1")
    Node.objects.create(cache=cache, identity="one", host="127.0.0.1", port=7000)

    answer = call(Role.VIEWER, "get", "/caches/game/topology").json()

    assert (answer["shards"], [node["node"] for node in answer["unplaced"]]) == ([], ["127.0.0.1:7000"])


def test_it_names_versions() -> None:
    node = cache_with_nodes().nodes.get()
    NodeFact.objects.create(node=node, name="valkey_version", value="9.1.0", since=timezone.now())

    answer = call(Role.VIEWER, "get", "/caches/game/topology").json()

    assert answer["shards"][0]["nodes"][0]["version"] == "Valkey 9.1.0"


def test_it_says_what_nodes_are_asked_and_what_they_refuse() -> None:
    cache = cache_with_nodes(2)
    node = cache.nodes.all()[0]
    CommandSupport.objects.create(node=node, command="CONFIG GET", state="refused", reason="NOPERM no")

    answer = call(Role.VIEWER, "get", "/caches/game/load").json()

    info = next(one for one in answer["commands"] if one["command"] == "INFO")
    assert (info["every_seconds"], info["once_a_cache"]) == (15, False)
    assert answer["usec_per_minute"] > 4 * info["usec"]
    assert answer["time_share"] == pytest.approx(answer["usec_per_minute"] / 60e6)
    assert answer["refused"] == [{"command": "CONFIG GET", "reason": "NOPERM no", "count": 1, "nodes": 2}]


@pytest.mark.parametrize("path", ["topology", "load"])
def test_it_refuses_strangers_and_unknown_caches(path: str) -> None:
    assert call(Role.VIEWER, "get", f"/caches/nowhere/{path}").status_code == 404
    assert call("", "get", f"/caches/game/{path}").status_code == 401


@pytest.mark.parametrize("path", ["topology", "load"])
@pytest.mark.parametrize("shards", [1, 12])
def test_it_asks_no_more_often_for_more_nodes(
    path: str, shards: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    sampled(cache_with_nodes(shards, 1), used_memory=1)
    headers = bearer_of()

    with django_assert_max_num_queries(QUERIES):
        Client().get(f"{ROOT}/caches/game/{path}", headers=headers)
