"""The page of one cache."""

import json
import re
from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import Role
from accounts.tests.cast import client_of
from alerts.measures import measure
from collectors.metrics.lookup import shown
from collectors.models import CommandSupport, NodeFact, NodeStatus
from collectors.tests.cast import cache_with_nodes
from dashboard.charts import CHARTS, Chart
from dashboard.tests.test_fleet import HOSTILE, REFRESH, sampled
from fleet.models import Cache, Shard

pytestmark = pytest.mark.django_db
# With the last hours, which are read once a minute.
FIRST_QUERIES, QUERIES = 39, 19


def page(name: str = "game", role: str = Role.VIEWER, **headers: str) -> str:
    answer = client_of(role).get(f"/caches/{name}/", headers=headers)
    assert answer.status_code == 200
    return answer.content.decode()


def test_it_answers_404_for_a_cache_that_is_not_there() -> None:
    assert client_of().get("/caches/nowhere/").status_code == 404


def test_it_shows_shards_slots_and_roles() -> None:
    sampled(cache_with_nodes(2, 1), used_memory=2**20, maxmemory=2**21, uptime_in_seconds=7_500)
    Shard.objects.filter(number=1).update(slots=[[0, 5460], [9000, 9000]])

    html = page()

    assert "0–5460, 9000–9000" in html
    assert html.count("role-primary") == html.count("role-replica") == 2
    assert "2 h 5 min" in html


@pytest.mark.parametrize(("keys", "words"), [(0, "0 keys<"), (1, "1 key<"), (2, "2 keys<"), (12_345, "12.3k keys<")])
def test_it_counts_keys(keys: int, words: str) -> None:
    sampled(cache_with_nodes(), used_memory=1, keys=keys)

    assert words in page()


def test_it_counts_no_keys_that_are_not_reported() -> None:
    sampled(cache_with_nodes(), used_memory=1)

    assert "keys<" not in page().split('id="charts"')[0].split("Hit ratio")[1][:300]


def test_it_says_since_when_a_node_is_silent_and_why() -> None:
    cache = cache_with_nodes(1, 1)
    sampled(cache, used_memory=1)
    since = timezone.now() - timedelta(minutes=3)
    NodeStatus.objects.create(
        node=cache.nodes.get(role="replica"),
        failing_since=since,
        failed_step="connect",
        failed_cause="other",
        failed_words="refused",
    )

    html = page()

    assert re.search(r"not answering for <time[^>]+>3 min</time>", html)
    assert "connect: refused" in html


@pytest.mark.parametrize(("shards", "replicas"), [(1, 0), (10, 2)])
def test_it_asks_the_database_no_more_often_for_more_nodes(
    shards: int, replicas: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    sampled(cache_with_nodes(shards, replicas), used_memory=1)
    client = client_of()

    with django_assert_max_num_queries(FIRST_QUERIES):
        client.get("/caches/game/")
    with django_assert_max_num_queries(QUERIES):
        client.get("/caches/game/")


def test_it_escapes_what_servers_say() -> None:
    cache = cache_with_nodes()
    sampled(cache, used_memory=1)
    node = cache.nodes.get()
    NodeFact.objects.create(node=node, name="redis_version", value=HOSTILE, since=timezone.now())
    CommandSupport.objects.create(node=node, command="CONFIG GET", state="refused", reason=HOSTILE)

    html = page()

    assert HOSTILE not in html
    assert html.count("&lt;script&gt;") == 2


def test_it_lists_refused_commands_with_the_servers_words() -> None:
    cache = cache_with_nodes(2)
    for node in cache.nodes.all():
        CommandSupport.objects.create(node=node, command="CONFIG GET", state="refused", reason="NOPERM no")
    CommandSupport.objects.create(node=node, command="PING", state="allowed")

    html = page()

    assert "NOPERM no" in html
    assert "2 of 2 nodes" in html
    assert "<code>PING</code>" not in html


def test_it_refreshes_without_the_charts() -> None:
    sampled(cache_with_nodes(), used_memory=1)
    client = client_of()

    part = client.get("/caches/game/", headers=REFRESH).content.decode()
    version = re.search(r'version=(\w+)"', part)
    assert version is not None

    assert "<canvas" not in part
    assert client.get(f"/caches/game/?version={version[1]}", headers=REFRESH).status_code == 204


def test_it_keeps_the_figures_of_a_paused_cache() -> None:
    sampled(cache_with_nodes(), used_memory=2**20)
    Cache.objects.update(is_paused=True)

    html = page()

    assert "Polling is paused" in html
    assert "1\u00a0MiB" in html


def test_it_offers_editing_to_operators_only() -> None:
    cache_with_nodes()

    assert "/caches/game/edit/" in page(role=Role.OPERATOR)
    assert "/caches/game/edit/" not in page()


def test_each_chart_leads_operators_to_a_rule_on_it() -> None:
    sampled(cache_with_nodes(), used_memory=1)

    assert 'href="/rules/new/?metric=used_memory&amp;cache=game"' in page(role=Role.OPERATOR)
    assert "/rules/new/" not in page()


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.key)
def test_a_rule_can_name_what_a_chart_leads_to(chart: Chart) -> None:
    assert measure(chart.judged).name == chart.judged


def test_it_opens_with_a_short_range_while_the_cache_is_new() -> None:
    cache = cache_with_nodes()
    assert 'data-span="900"' in page()

    Cache.objects.filter(pk=cache.pk).update(created_at=timezone.now() - timedelta(hours=2))

    assert 'data-span="3600"' in page()


def test_it_hands_the_charts_to_the_script() -> None:
    cache_with_nodes()

    specs = json.loads(re.findall(r'id="chart-specs" type="application/json">(.+?)</script>', page())[0])

    assert [spec["key"] for spec in specs] == [chart.key for chart in CHARTS]


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.key)
def test_it_draws_only_what_the_catalogue_has(chart: Chart) -> None:
    metrics = [line.metric for line in chart.lines if not line.against] + [metric for metric, _label in chart.by_node]

    units = {shown(metric).unit for metric in metrics}

    assert len(units) == 1
    assert chart.sources
    for line in chart.lines:
        assert line.over != "sum" or shown(line.metric).over_nodes != "max"


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.key)
def test_it_explains_each_chart_with_the_words_of_the_catalogue(chart: Chart) -> None:
    assert chart.about
    assert [field.name for field in chart.fields] == chart.metrics
    assert all(field.meaning and field.unit for field in chart.fields)
    assert len(chart.combined) in {2, 3}


def test_it_says_over_which_nodes_a_chart_adds_up() -> None:
    charts = {chart.key: [str(sentence) for sentence in chart.combined] for chart in CHARTS}

    assert charts["memory"][0].startswith("Totals count primaries only")
    assert charts["connection-rates"][0].startswith("Totals add up all nodes")
    assert "never hides a hot node" in charts["hits"][1]


def test_it_leaves_out_bars_and_tools_on_a_screen_on_the_wall() -> None:
    cache_with_nodes()

    assert "data-tv" not in page().split(">", 2)[1]
    assert 'data-tv="1"' in client_of().get("/caches/game/?tv=1").content.decode().split(">", 2)[1]
