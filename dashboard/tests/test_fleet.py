"""The fleet page."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import Role
from accounts.tests.cast import client_of
from collectors import samples
from collectors.models import NodeFact, NodeStatus
from collectors.tests.cast import cache_with_nodes, reading
from fleet.models import Cache, Node

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert(1)</script>"
# Session and user, caches, summaries, uneasy nodes, instances in Google Cloud, alerts, projects; then nodes, shards,
# statuses, latest and facts of suspects.
QUERIES = 15
REFRESH = {"HX-Request": "true"}


def sampled(cache: Cache, **hot: Any) -> None:
    """Give every node of the cache a sample of this minute."""
    now = int(timezone.now().timestamp()) // 15 * 15
    rows = [reading(node, **hot) for node in cache.nodes.all()]
    for row in rows:
        row.tick = now
    samples.write(rows)


def names_in(html: str) -> list[str]:
    return re.findall(r'id="cache-\d+"[^>]*>([^<]+)</a>', html)


def page(query: str = "", role: str = Role.VIEWER, **headers: str) -> str:
    return client_of(role).get(f"/{query}", headers=headers).content.decode()


def test_it_tells_an_operator_what_to_do_first() -> None:
    html = page(role=Role.OPERATOR)

    assert "No caches yet" in html
    assert 'href="/caches/new/"' in html
    assert "/caches/new/" not in page(role=Role.VIEWER)


def test_it_waits_for_the_first_sample() -> None:
    cache_with_nodes()

    html = page()

    assert "waiting" in html
    assert "The first figures appear within 15 seconds" in html


def test_it_shows_memory_connections_and_health() -> None:
    sampled(cache_with_nodes(), used_memory=2**30, maxmemory=2**31, connected_clients=812, maxclients=10_000)

    html = page()

    assert "1\u00a0GiB" in html
    assert "of 2\u00a0GiB" in html
    assert "812" in html
    assert "of 10\u202f000" in html
    assert "Nothing needs attention" in html


def test_it_says_no_limit_rather_than_a_percentage() -> None:
    sampled(cache_with_nodes(), used_memory=2**30, maxmemory=0)

    assert "no limit" in page()


@pytest.mark.parametrize(("shards", "replicas"), [(1, 0), (8, 2)])
def test_it_asks_the_database_no_more_often_for_more_nodes(
    shards: int, replicas: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    client = client_of()
    for name in ("one", "two", "three"):
        sampled(cache_with_nodes(shards, replicas, name), used_memory=95, maxmemory=100)

    with django_assert_max_num_queries(QUERIES):
        html = client.get("/").content.decode()

    assert html.count("state-critical") >= 3


def test_it_names_a_cache_that_does_not_answer_and_why() -> None:
    cache = cache_with_nodes()
    since = timezone.now() - timedelta(minutes=3)
    NodeStatus.objects.create(
        node=cache.nodes.get(), failing_since=since, failed_step="connect", failed_cause="other", failed_words="refused"
    )

    html = page()

    assert "game has not answered for 3 min: connect: refused" in html
    assert "state-unreachable" in html


def test_it_escapes_what_servers_say() -> None:
    cache = cache_with_nodes()
    since = timezone.now() - timedelta(minutes=3)
    NodeStatus.objects.create(
        node=cache.nodes.get(),
        failing_since=since,
        failed_step="info",
        failed_words=HOSTILE,
        failed_cause="error_reply",
    )
    Cache.objects.filter(pk=cache.pk).update(labels={"team": HOSTILE})

    html = page(f"?q={HOSTILE}")

    assert HOSTILE not in html
    assert "&lt;script&gt;" in html


def test_it_filters_by_words_and_label_and_keeps_both_in_its_links() -> None:
    for name, team in (("game-cache", "game"), ("game-store", "shop"), ("chat", "game")):
        cache_with_nodes(name=name)
        Cache.objects.filter(name=name).update(labels={"team": team})

    html = page("?q=game&label=team%3Dgame")

    assert names_in(html) == ["chat", "game-cache"]
    assert "?q=game&amp;label=team%3Dgame&amp;view=tiles" in html


def test_it_sorts_by_the_column_that_the_address_names() -> None:
    for name, used in (("small", 10), ("large", 70), ("middle", 40)):
        sampled(cache_with_nodes(name=name), used_memory=used, maxmemory=100)
    cache_with_nodes(name="unknown")

    assert names_in(page("?sort=-memory")) == ["large", "middle", "small", "unknown"]
    assert names_in(page("?sort=memory")) == ["small", "middle", "large", "unknown"]
    assert 'aria-sort="descending"' in page("?sort=-memory")


def test_it_puts_trouble_first_unless_told_otherwise() -> None:
    sampled(cache_with_nodes(name="a-well"), used_memory=10, maxmemory=100)
    sampled(cache_with_nodes(name="b-full"), used_memory=99, maxmemory=100)

    assert names_in(page()) == ["b-full", "a-well"]
    assert names_in(page("?state=critical")) == ["b-full"]


@pytest.mark.parametrize(
    "query", ["?sort=bogus", "?view=x&state=bogus&label=%F0%9F", "?q=" + "x" * 5000, "?findings=all"]
)
def test_it_falls_back_on_nonsense(query: str) -> None:
    cache_with_nodes()

    assert client_of().get(f"/{query}").status_code == 200


def test_it_refreshes_only_the_living_part_and_only_when_it_changed() -> None:
    cache = cache_with_nodes()
    sampled(cache, used_memory=10, maxmemory=100)
    client = client_of()

    part = client.get("/", headers=REFRESH).content.decode()
    version = re.search(r'version=(\w+)"', part)
    assert version is not None
    same = client.get(f"/?version={version[1]}", headers=REFRESH)
    Cache.objects.filter(pk=cache.pk).update(is_paused=True)
    changed = client.get(f"/?version={version[1]}", headers=REFRESH)

    assert "<html" not in part
    assert (same.status_code, changed.status_code) == (204, 200)


def test_it_draws_a_row_again_when_its_cache_has_news() -> None:
    cache = cache_with_nodes()
    sampled(cache, used_memory=10 * 2**20, maxmemory=2**30)
    assert "10\u00a0MiB" in page()

    node = cache.nodes.get()
    fresh = reading(node, used_memory=20 * 2**20, maxmemory=2**30)
    fresh.tick = int(timezone.now().timestamp()) // 15 * 15 + 15
    samples.write([fresh])

    assert "20\u00a0MiB" in page()


def test_it_gives_one_sentence_to_many_caches_without_news() -> None:
    old = int((datetime.now(UTC) - timedelta(minutes=10)).timestamp()) // 15 * 15
    for name in ("one", "two", "three"):
        row = reading(cache_with_nodes(name=name).nodes.get(), used_memory=1)
        row.tick = old
        samples.write([row])

    html = page()

    assert "3 caches have no new samples" in html
    assert html.count("Shardwatch itself may be stuck") == 1


def test_it_tells_of_its_own_standstill_before_all_else() -> None:
    old = int((datetime.now(UTC) - timedelta(minutes=10)).timestamp()) // 15 * 15
    for name, used in (("a-full", 100), ("b-stuck", 1)):
        row = reading(cache_with_nodes(name=name).nodes.get(), used_memory=used, maxmemory=100)
        row.tick = old if name == "b-stuck" else old + 600
        samples.write([row])

    html = page()

    assert "a-full uses 100% of maxmemory" in html
    assert html.index("Shardwatch itself may be stuck") < html.index("a-full uses 100% of maxmemory")


def test_it_offers_tiles_and_remembers_them_in_its_links() -> None:
    sampled(cache_with_nodes(), used_memory=10, maxmemory=100)

    html = page("?view=tiles")

    assert 'class="tiles"' in html
    assert "?sort=-memory&amp;view=tiles" not in page()
    assert "view=tiles" in re.findall(r'id="state-all" href="([^"]+)"', html)[0]


def test_it_counts_nodes_that_left_no_more() -> None:
    cache = cache_with_nodes(2)
    sampled(cache, used_memory=10, maxmemory=100)
    Node.objects.filter(pk=cache.nodes.all()[0].pk).update(left_at=timezone.now())
    sampled(cache, used_memory=10, maxmemory=100)

    assert "1 node<" in page()


def test_it_leaves_paused_caches_out_of_the_findings() -> None:
    sampled(cache_with_nodes(name="full"), used_memory=99, maxmemory=100)
    Cache.objects.update(is_paused=True)

    html = page()

    assert "Nothing needs attention" in html
    assert "state-paused" in html


def test_it_draws_a_full_cache_that_evicts_calmly() -> None:
    cache = cache_with_nodes()
    sampled(cache, used_memory=100, maxmemory=100)
    assert "bar-critical" in page()

    NodeFact.objects.create(node=cache.nodes.get(), name="maxmemory_policy", value="allkeys-lru", since=timezone.now())

    html = page()
    assert "bar-critical" not in html
    assert "Nothing needs attention" in html
