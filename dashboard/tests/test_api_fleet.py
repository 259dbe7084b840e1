"""The fleet page by the API."""

import pytest

from accounts.models import Role
from collectors.tests.cast import cache_with_nodes
from dashboard.tests.api import call
from dashboard.tests.service_cast import in_cloud
from dashboard.tests.test_fleet import sampled
from fleet.models import Cache

pytestmark = pytest.mark.django_db
MEMORY = {"alpha": 10, "beta": 90, "gamma": 40}


@pytest.fixture(autouse=True)
def fleet() -> None:
    for number, (name, used) in enumerate(MEMORY.items()):
        cache = cache_with_nodes(name=name)
        cache.nodes.update(port=7000 + number)
        Cache.objects.filter(pk=cache.pk).update(labels={"env": "live" if number else "test"}, engine="valkey")
        sampled(cache, used_memory=used, maxmemory=100, connected_clients=number)


def names(query: str = "") -> list[str]:
    return [one["cache"] for one in call(Role.VIEWER, "get", f"/fleet{query}").json()["caches"]]


def test_it_shows_figures_and_health() -> None:
    beta = call(Role.VIEWER, "get", "/fleet?text=beta").json()["caches"][0]

    assert (beta["health"], beta["used_memory"], beta["memory_used_ratio"]) == ("warning", 90, pytest.approx(0.9))
    assert beta["reason"] == "memory 90%"
    assert (beta["nodes"], beta["answering"], beta["url"]) == (1, 1, "http://testserver/caches/beta/")


def test_it_says_null_where_nothing_is_known() -> None:
    Cache.objects.create(name="new", address="redis://10.0.0.9")

    new = call(Role.VIEWER, "get", "/fleet?text=new").json()["caches"][0]

    assert (new["health"], new["sampled_at"], new["used_memory"], new["nodes"]) == ("waiting", None, None, None)


def test_it_tells_what_the_service_tells_of_a_cache_that_nobody_reaches() -> None:
    in_cloud(Cache.objects.create(name="far", address="redis://10.0.0.9", reach="service"))

    far = call(Role.VIEWER, "get", "/fleet?text=far").json()["caches"][0]

    assert (far["engine"], far["version"], far["told_by"]) == ("valkey", "8.0", "google-api")
    assert (far["shards"], far["nodes"], far["replicas"], far["answering"]) == (3, 6, 3, None)


def test_it_tells_what_nodes_tell_of_the_others() -> None:
    beta = call(Role.VIEWER, "get", "/fleet?text=beta").json()["caches"][0]

    assert (beta["engine"], beta["version"], beta["told_by"], beta["replicas"]) == ("valkey", None, "nodes", 0)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["beta", "alpha", "gamma"]),
        ("?sort=name", ["alpha", "beta", "gamma"]),
        ("?sort=memory", ["beta", "gamma", "alpha"]),
        ("?sort=connections", ["alpha", "beta", "gamma"]),
        ("?label=env%3Dlive&sort=name", ["beta", "gamma"]),
        ("?text=env%3Dtest", ["alpha"]),
        ("?text=valkey%20gam", ["gamma"]),
        ("?state=attention", ["beta"]),
        ("?state=ok&sort=name", ["alpha", "gamma"]),
        ("?state=paused", []),
        ("?sort=name&page_size=2", ["alpha", "beta"]),
        ("?sort=name&page_size=2&page=2", ["gamma"]),
        ("?page=9", []),
    ],
)
def test_it_filters_sorts_and_gives_pages(query: str, expected: list[str]) -> None:
    assert names(query) == expected


def test_it_counts_what_fits() -> None:
    answer = call(Role.VIEWER, "get", "/fleet?label=env%3Dlive&page_size=1").json()

    assert (answer["count"], len(answer["caches"])) == (2, 1)


@pytest.mark.parametrize("query", ["sort=size", "state=bad", "page=0", "page_size=0", "label=live", "text=%00"])
def test_it_refuses_what_it_does_not_know(query: str) -> None:
    assert call(Role.VIEWER, "get", f"/fleet?{query}").status_code == 400


def test_it_wants_a_caller() -> None:
    assert call("", "get", "/fleet").status_code == 401
