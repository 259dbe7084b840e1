"""The page of commands and errors of a cache."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import Role
from accounts.tests.cast import client_of
from collectors import tallies
from collectors.models import CommandSupport
from collectors.tallies import COMMAND, ERROR, NodeTallies, Tally
from collectors.tests.cast import cache_with_nodes
from dashboard.command_charts import CHARTS
from dashboard.tests.test_fleet import HOSTILE, REFRESH
from fleet.models import Cache, Node

pytestmark = pytest.mark.django_db
QUERIES = 32


def did(node: Node, kind: str = COMMAND, minutes_ago: int = 3, /, **by_name: Tally) -> None:
    at = timezone.now().replace(microsecond=0) - timedelta(minutes=minutes_ago)
    tallies.write([NodeTallies(node.pk, at, 60, kind, by_name, is_primary=node.role == "primary")])


def page(query: str = "", role: str = Role.VIEWER) -> str:
    answer = client_of(role).get(f"/caches/game/commands/{query}")
    assert answer.status_code == 200
    return answer.content.decode()


def named(html: str) -> list[str]:
    """Return the commands in the order of the table."""
    return re.findall(r'id="command-\d+"[^>]*>([^<]+)</a>', html)


def test_it_answers_404_for_a_cache_that_is_not_there() -> None:
    assert client_of().get("/caches/nowhere/commands/").status_code == 404


def test_it_lists_commands_with_their_share_of_time() -> None:
    node = cache_with_nodes().nodes.get()
    did(node, get=Tally(600, 6_000_000, 0, 0, {13: 600}), set=Tally(60, 2_000_000))

    html = page()

    assert named(html) == ["get", "set"]
    assert "75% of all" in html
    assert "mean only" in html
    assert "1 min measured on 1 node." in html


@pytest.mark.parametrize(
    ("sort", "expected"),
    [("-calls", "bac"), ("calls", "cab"), ("name", "abc"), ("-usec", "cab"), ("-failed", "abc"), ("nonsense", "cab")],
)
def test_it_sorts_as_the_url_says(sort: str, expected: str) -> None:
    node = cache_with_nodes().nodes.get()
    did(node, a=Tally(20, 2_000, 0, 5), b=Tally(30, 300, 0, 2), c=Tally(10, 90_000))

    assert "".join(named(page(f"?sort={sort}"))) == expected


def test_it_counts_the_chosen_nodes() -> None:
    cache = cache_with_nodes(replicas=1)
    primary, replica = cache.nodes.get(role="primary"), cache.nodes.get(role="replica")
    did(primary, get=Tally(1))
    did(replica, hget=Tally(1))

    assert named(page()) == ["get"]
    assert named(page("?nodes=replica")) == named(page(f"?nodes={replica.pk}")) == ["hget"]
    assert sorted(named(page("?nodes=all"))) == ["get", "hget"]


def test_it_says_what_to_do_instead_of_costly_commands() -> None:
    node = cache_with_nodes().nodes.get()
    did(node, keys=Tally(1, 10), hgetall=Tally(10, 100_000), smembers=Tally(10, 10), eval=Tally(1, 10))

    html = page()

    assert "use SCAN" in html
    assert "HSCAN" in html
    assert "SSCAN" not in html
    assert html.count('class="has-advice"') == 2


@pytest.mark.parametrize(("calls", "is_flagged"), [(6, False), (600, True)])
def test_it_names_a_missing_slot_cache(calls: int, is_flagged: bool) -> None:
    did(cache_with_nodes().nodes.get(), **{"cluster|slots": Tally(calls, calls)})

    assert ("redis.clusters.cache_slots=1" in page()) is is_flagged


@pytest.mark.parametrize(
    ("topology", "calls", "is_told"), [("cluster", 600, True), ("cluster", 6, False), ("standalone", 600, False)]
)
def test_it_says_what_publishing_costs_a_cluster(topology: str, calls: int, is_told: bool) -> None:
    cache = cache_with_nodes()
    Cache.objects.update(topology=topology)
    did(cache.nodes.get(), publish=Tally(calls, calls))

    assert ("SPUBLISH" in page()) is is_told


def test_it_explains_errors() -> None:
    node = cache_with_nodes().nodes.get()
    did(node, ERROR, OOM=Tally(120), MYWORD=Tally(1))

    html = page()

    assert "Memory is full" in html
    assert "a script or a module" in html
    assert "2/s" in html


def test_it_tells_no_errors_from_not_reported() -> None:
    node = cache_with_nodes().nodes.get()
    did(node, get=Tally(1))
    assert "Not reported in this range" in page()

    did(node, ERROR)

    assert "No errors in this range" in page()


def test_it_says_that_nothing_was_measured() -> None:
    cache_with_nodes()

    html = page()

    assert "Nothing was measured in this range" in html
    assert "No replica was measured" in page("?nodes=replica")
    assert "commands-table" not in html


def test_it_says_which_commands_are_refused_and_what_that_costs() -> None:
    cache = cache_with_nodes(2)
    for node in cache.nodes.all():
        CommandSupport.objects.create(node=node, command="LATENCY HISTOGRAM", state="refused", reason="NOPERM no")
    CommandSupport.objects.create(node=node, command="INFO commandstats", state="refused", reason=HOSTILE)

    html = page()

    assert "LATENCY HISTOGRAM is refused by 2 of 2 nodes: only the mean of their calls is known." in html
    assert "INFO commandstats is refused by 1 of 2 nodes" in html
    assert "NOPERM no" in html


def test_it_compares_one_command_over_nodes() -> None:
    cache = cache_with_nodes(3)
    for number, node in enumerate(cache.nodes.all(), start=1):
        did(node, get=Tally(60 * number, 60 * number))

    html = page("?command=get")

    part = html[html.index('id="by-node"') :]
    assert "get, node by node" in part
    assert part.index("shard 3") < part.index("shard 2") < part.index("shard 1")


def test_it_escapes_what_servers_say() -> None:
    node = cache_with_nodes().nodes.get()
    did(node, **{HOSTILE[:40]: Tally(9, 9)})
    did(node, ERROR, **{HOSTILE[:40]: Tally(9)})
    CommandSupport.objects.create(node=node, command="LATENCY HISTOGRAM", state="refused", reason=HOSTILE)

    html = page(f"?command={HOSTILE}&sort={HOSTILE}&nodes={HOSTILE}&from={HOSTILE}&span={HOSTILE}")

    assert HOSTILE not in html
    assert "<script>alert" not in html


@pytest.mark.parametrize(
    "query",
    [
        "?span=-1",
        "?span=" + "9" * 50,
        "?from=yesterday",
        "?from=2026-05-02&to=2026-05-01",
        "?to=2026-05-01",
        "?from=2999-01-01",
        "?nodes=" + "9" * 50,
        "?nodes=²",
        "?span=²",
    ],
)
def test_odd_queries_fall_back(query: str) -> None:
    did(cache_with_nodes().nodes.get(), get=Tally(1))

    assert "Commands" in page(query)


def test_a_node_of_another_cache_is_not_there() -> None:
    cache_with_nodes()
    other = cache_with_nodes(name="other").nodes.get()

    assert client_of().get(f"/caches/game/commands/?nodes={other.pk}").status_code == 404


def test_it_reads_a_fixed_range() -> None:
    did(cache_with_nodes().nodes.get(), get=Tally(1))
    before = (timezone.now() - timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M:%SZ")

    assert named(page(f"?from={before}")) == ["get"]
    assert named(page(f"?from={before}&to={before.replace('Z', '.5Z')}")) == []


def test_it_keeps_the_url_of_a_view_in_its_links() -> None:
    did(cache_with_nodes().nodes.get(), get=Tally(1))

    html = page("?span=900&nodes=all&sort=-calls")

    assert "?span=900&amp;nodes=all&amp;sort=calls" in html
    assert "?span=900&amp;nodes=all&amp;sort=-calls&amp;command=get" in html


def test_it_refreshes_only_with_news() -> None:
    node = cache_with_nodes().nodes.get()
    did(node, get=Tally(1))
    client = client_of()
    part = client.get("/caches/game/commands/", headers=REFRESH).content.decode()
    version = re.search(r"version=(\w+)", part)
    assert version is not None

    same = client.get(f"/caches/game/commands/?version={version[1]}", headers=REFRESH)
    did(node, COMMAND, 1, get=Tally(5))
    news = client.get(f"/caches/game/commands/?version={version[1]}", headers=REFRESH)

    assert "<canvas" not in part
    assert (same.status_code, news.status_code) == (204, 200)


@pytest.mark.parametrize(("shards", "replicas"), [(1, 0), (10, 2)])
def test_it_asks_the_database_no_more_often_for_more_nodes(
    shards: int, replicas: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for node in cache_with_nodes(shards, replicas).nodes.all():
        did(node, get=Tally(1))
    client = client_of()

    with django_assert_max_num_queries(QUERIES):
        client.get("/caches/game/commands/?command=get")


def test_it_says_that_polling_is_paused() -> None:
    cache_with_nodes()
    Cache.objects.update(is_paused=True)

    assert "Polling is paused" in page()


def test_it_hands_the_charts_to_the_script() -> None:
    cache_with_nodes()

    html = page()

    assert [f'data-chart="{chart.key}"' in html for chart in CHARTS] == [True] * len(CHARTS)
    assert 'data-base-url="/api/v1/caches/game/"' in html


@pytest.mark.parametrize(("buckets", "shown", "absent"), [({}, "mean", "p99"), ({6: 600}, "p99", "mean")])
def test_the_chart_of_latency_shows_means_where_there_are_no_percentiles(
    buckets: dict[int, int], shown: str, absent: str
) -> None:
    did(cache_with_nodes().nodes.get(), get=Tally(600, 60_000, 0, 0, buckets))

    html = page()

    assert f'data-chart="command-{shown}"' in html
    assert f'data-chart="command-{absent}"' not in html


def test_it_speaks_of_every_tab_of_a_cache() -> None:
    cache_with_nodes()

    assert re.search(r'href="/caches/game/commands/" aria-current="page"', page())
    assert 'href="/caches/game/commands/"' in client_of().get("/caches/game/").content.decode()
