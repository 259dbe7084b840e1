"""Findings by the API."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import Role
from accounts.tests.cast import bearer_of, client_of
from collectors.models import NodeStatus
from collectors.tests.cast import cache_with_nodes
from dashboard.tests.api import ROOT, call
from dashboard.tests.test_fleet import sampled
from fleet.models import Cache

pytestmark = pytest.mark.django_db
FLEET_QUERIES = 17


def silent(cache: Cache) -> None:
    for node in cache.nodes.all():
        NodeStatus.objects.create(
            node=node,
            failing_since=timezone.now() - timedelta(minutes=3),
            failed_step="connect",
            failed_cause="other",
            failed_words="refused",
        )


@pytest.fixture
def fleet() -> None:
    """Three caches: one is silent, one is nearly full, one is well."""
    for number, name in enumerate(("silent", "full", "well")):
        cache = cache_with_nodes(name=name)
        cache.nodes.update(port=7000 + number)
        if name == "silent":
            silent(cache)
        else:
            sampled(cache, used_memory=99 if name == "full" else 1, maxmemory=100)


@pytest.mark.usefixtures("fleet")
def test_it_lists_what_is_worst_first() -> None:
    answer = call(Role.VIEWER, "get", "/findings").json()

    assert [(one["cache"], one["state"]) for one in answer["findings"]] == [
        ("silent", "unreachable"),
        ("full", "critical"),
    ]
    assert answer["findings"][0]["sentence"] == "silent has not answered for 3 min: connect: refused"
    assert answer["findings"][0]["url"] == "http://testserver/caches/silent/#nodes"


@pytest.mark.usefixtures("fleet")
@pytest.mark.parametrize(
    ("query", "count"),
    [("", 2), ("state=unreachable", 1), ("state=critical&state=unreachable", 2), ("state=warning", 0)],
)
def test_it_lists_the_states_asked_for(query: str, count: int) -> None:
    assert call(Role.VIEWER, "get", f"/findings?{query}").json()["count"] == count


@pytest.mark.usefixtures("fleet")
def test_it_gives_pages() -> None:
    first, second = (call(Role.VIEWER, "get", f"/findings?page_size=1&page={page}").json() for page in (1, 2))

    assert [one["cache"] for one in first["findings"] + second["findings"]] == ["silent", "full"]
    assert call(Role.VIEWER, "get", "/findings?page=3").json()["findings"] == []


@pytest.mark.usefixtures("fleet")
def test_it_leaves_out_paused_caches() -> None:
    Cache.objects.update(is_paused=True)

    assert call(Role.VIEWER, "get", "/findings").json()["count"] == 0


@pytest.mark.parametrize("query", ["state=bad", "page=0", "page_size=501", "page=x"])
def test_it_refuses_what_it_does_not_know(query: str) -> None:
    answer = call(Role.VIEWER, "get", f"/findings?{query}")

    assert answer.status_code == 400
    assert answer.json()["field"]


def test_it_wants_a_caller() -> None:
    assert call("", "get", "/findings").status_code == 401
    assert call("", "get", "/caches/game/findings").status_code == 401


def test_it_lists_findings_and_advice_of_one_cache_as_its_page_does() -> None:
    sampled(cache_with_nodes(), used_memory=1, latest_fork_usec=2_000_000, maxmemory=100, maxclients=0)

    found = call(Role.VIEWER, "get", "/caches/game/findings").json()["findings"]
    page = client_of().get("/caches/game/").content.decode()

    assert {"slow fork", "no connection limit"} <= {one["reason"] for one in found}
    assert all(one["sentence"] in page for one in found)


def test_it_does_not_know_other_caches() -> None:
    assert call(Role.VIEWER, "get", "/caches/nowhere/findings").status_code == 404


@pytest.mark.parametrize("caches", [1, 8])
def test_it_asks_no_more_often_for_more_caches(
    caches: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(caches):
        cache = cache_with_nodes(name=f"cache-{number}")
        cache.nodes.update(port=7000 + number)
        sampled(cache, used_memory=99, maxmemory=100)
    headers = bearer_of()

    with django_assert_max_num_queries(FLEET_QUERIES):
        Client().get(f"{ROOT}/findings", headers=headers)
