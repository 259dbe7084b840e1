"""The page and the API of slow logs."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import Role
from accounts.tests.cast import client_of
from collectors.models import CommandSupport, SlowEntry, SlowMark
from collectors.tests.cast import cache_with_nodes
from dashboard.tests.api import call
from dashboard.tests.test_fleet import HOSTILE
from fleet.models import Cache, Node

pytestmark = pytest.mark.django_db
QUERIES = 12


def page(address: str = "", status: int = 200) -> str:
    answer = client_of().get(f"/caches/game/slowlog/{address}")
    assert answer.status_code == status
    return answer.content.decode()


def logged(node: Node, number: int = 1, hours: float = 0.1, **given: Any) -> SlowEntry:
    known = {"log": "slow", "amount": 25_000, "command": "MGET", "arguments": 37, "key_prefix": "player:*"}
    started_at = timezone.now() - timedelta(hours=hours)
    return SlowEntry.objects.create(node=node, entry_id=number, started_at=started_at, **{**known, **given})


@pytest.fixture
def cache() -> Cache:
    return cache_with_nodes(2)


def test_it_groups_by_command_and_prefix(cache: Cache) -> None:
    for number, node in enumerate(cache.nodes.all()):
        logged(node, number, amount=25_000 * (number + 1))
    logged(cache.nodes.all()[0], 9, log="large-reply", command="HGETALL", amount=3 * 2**20)

    html = page()

    assert "MGET ×37" in html
    assert "player:*" in html
    assert "50\u00a0ms" in html or "50 ms" in html
    assert "3\u00a0MiB" in html
    assert html.index("Slow commands") < html.index("Large replies")


def test_it_filters_by_log_node_and_time(cache: Cache) -> None:
    first, second = cache.nodes.all()
    logged(first, command="HGETALL")
    logged(second, command="SMEMBERS")
    logged(first, 2, hours=30, command="SORT")
    logged(first, 3, log="large-request", command="HSET")

    assert "SORT" not in page()
    assert "SORT" in page("?span=7d")
    assert "SMEMBERS" not in page(f"?node={first.pk}")
    assert "HSET" not in page("?log=slow")


def test_it_shows_the_entries_of_a_group(cache: Cache) -> None:
    node = cache.nodes.all()[0]
    logged(node, 4711, missed=12)
    logged(node, 4712, command="KEYS", key_prefix="")

    html = page("?command=MGET&prefix=player:*&log=slow")

    assert "4711" in html
    assert "12 missing before" in html
    assert "4712" not in html
    assert "4712" in page("?command=KEYS&prefix=")


def test_it_says_where_it_is_refused_and_what_is_missing(cache: Cache) -> None:
    node = cache.nodes.all()[0]
    CommandSupport.objects.create(node=node, command="SLOWLOG GET", state="refused", reason="NOPERM no slowlog")
    logged(node, missed=1_234)
    now = timezone.now()
    SlowMark.objects.create(node=node, log="slow", newest_id=1, newest_at=now, day=now.date(), kept=2_000, dropped=17)

    html = page()

    assert "NOPERM no slowlog" in html
    assert "1 of 2 nodes" in html
    assert "1\u202f234 entries were pushed out" in html
    assert "17 lighter ones" in html


@pytest.mark.parametrize(
    "address",
    ["?span=x", "?log=x", "?node=x", "?node=²", f"?node={10**30}", "?page=-1&command=MGET", f"?command={'x' * 5000}"],
)
def test_bad_values_fall_back(cache: Cache, address: str) -> None:
    logged(cache.nodes.all()[0])

    assert "Slow log" in page(address)


def test_it_escapes_what_servers_say(cache: Cache) -> None:
    node = cache.nodes.all()[0]
    logged(node, command=HOSTILE, key_prefix=HOSTILE)
    CommandSupport.objects.create(node=node, command="COMMANDLOG GET", state="refused", reason=HOSTILE)

    assert HOSTILE not in page(f"?command={HOSTILE}")


def test_it_is_for_people_who_are_signed_in(cache: Cache, client: Any) -> None:
    assert client.get("/caches/game/slowlog/").status_code == 302
    assert call("", "get", "/caches/game/slowlog").status_code == 401
    assert client_of().get("/caches/nowhere/slowlog/").status_code == 404
    assert client_of().post("/caches/game/slowlog/").status_code == 405


@pytest.mark.parametrize("number", [1, 200])
def test_it_asks_the_database_no_more_often_for_more(
    cache: Cache, number: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for entry_id in range(number):
        logged(cache.nodes.all()[entry_id % 2], entry_id, command=f"COMMAND{entry_id % 70}")
    client = client_of()

    with django_assert_max_num_queries(QUERIES):
        client.get("/caches/game/slowlog/?command=COMMAND0&prefix=player:*")


def test_the_api_tells_the_same(cache: Cache) -> None:
    node = cache.nodes.all()[0]
    logged(node, 7, missed=3)
    logged(node, 8, hours=5)

    answer = call(Role.VIEWER, "get", "/caches/game/slowlog?log=slow").json()

    assert (answer["missed"], answer["count"]) == (3, 1)
    (group,) = answer["groups"]
    assert (group["shape"], group["unit"], group["count"]) == ("MGET ×37", "microseconds", 1)
    assert [entry["entry_id"] for entry in answer["entries"]] == [7]


def test_the_api_pages(cache: Cache) -> None:
    for number in range(5):
        logged(cache.nodes.all()[0], number, hours=0.1 * (number + 1))

    answer = call(Role.VIEWER, "get", "/caches/game/slowlog?page=2&page_size=2").json()

    assert [entry["entry_id"] for entry in answer["entries"]] == [2, 3]
    assert answer["count"] == 5


@pytest.mark.parametrize(
    "query", ["log=x", "page=0", "page_size=501", "from=x", "from=5&to=4", "node=-1", "command=%00"]
)
def test_the_api_refuses_bad_values(cache: Cache, query: str) -> None:
    assert call(Role.VIEWER, "get", f"/caches/game/slowlog?{query}").status_code == 400
