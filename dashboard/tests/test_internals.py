"""The page and the API of replication, cluster, persistence and memory, held against the servers' own INFO."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from pytest_django.fixtures import Settings

from accounts.models import Role
from accounts.tests.cast import client_of
from collectors import latest_details, samples
from collectors.metrics.detail import DETAIL
from collectors.metrics.hot import HOT
from collectors.models import CommandSupport, NodeFact, NodeStatus
from collectors.sources.fields import plain_number
from collectors.tests.cast import cache_with_nodes, reading
from collectors.tests.conftest import Poller
from collectors.tests.conftest import cache_at as cache_at
from collectors.tests.conftest import poller as poller
from dashboard.internals import SECTION_OF, SECTIONS, gaps_between, internals_of
from dashboard.tests.api import call
from dashboard.tests.test_fleet import HOSTILE
from fleet.models import Cache, Node, Shard, Topology
from launcher.valkey import Valkey

pytestmark = pytest.mark.django_db
CacheAt = Callable[..., Cache]
ClusterFactory = Callable[..., list[Valkey]]
QUERIES = 14
# What changes between two reads of a server.
RESTLESS = {
    *("used_memory_rss", "mem_fragmentation_ratio", "mem_fragmentation_bytes", "rss_overhead_ratio"),
    *("rss_overhead_bytes", "master_last_io_seconds_ago", "used_memory", "used_memory_peak", "used_memory_dataset"),
    *("used_memory_overhead", "used_memory_peak_perc", "used_memory_dataset_perc", "mem_clients_normal"),
    *("master_repl_offset", "replication_lag_bytes", "replication_lag_seconds", "mem_cluster_links"),
    *("slave_repl_offset", "slave_read_repl_offset", "repl_backlog_histlen", "repl_backlog_first_byte_offset"),
}
RESTLESS_BEGINNINGS = ("allocator_", "cluster_stats_", "mem_total_repl", "mem_replication", "mem_clients_slaves")
WORDS = {"ok": 1.0, "err": 0.0, "up": 1.0, "down": 0.0, "yes": 1.0, "no": 0.0}


def own_numbers(server: Valkey, *command: str) -> dict[str, float]:
    """Return what the server itself says, by its own names."""
    lines = str(server.ask(*(command or ("INFO", "everything")))).splitlines()
    texts = dict(line.split(":", 1) for line in lines if ":" in line)
    numbers = {name: WORDS.get(text, plain_number(text.rstrip("%").encode())) for name, text in texts.items()}
    return {name: number for name, number in numbers.items() if number is not None}


def is_steady(name: str) -> bool:
    return name not in RESTLESS and not name.startswith(RESTLESS_BEGINNINGS)


def page(name: str = "game") -> str:
    answer = client_of().get(f"/caches/{name}/internals/")
    assert answer.status_code == 200
    return answer.content.decode()


def api(name: str = "game") -> Any:
    return call(Role.VIEWER, "get", f"/caches/{name}/internals").json()


@pytest.fixture
def at_every_poll(settings: Settings) -> None:
    settings.DETAIL_INTERVAL_SECONDS = settings.POLL_INTERVAL_SECONDS


def polled(poller: Poller, *caches: Cache) -> None:
    for _ in range(3):
        poller.poll(*caches)


def bring_near(poller: Poller) -> None:
    """Let the next polls be of now: pages show no details of long ago."""
    poller.tick += 1_740


@pytest.mark.parametrize("kind", ["valkey", "redis"])
def test_the_numbers_are_the_servers_own(
    kind: str, at_every_poll: None, poller: Poller, cache_at: CacheAt, request: pytest.FixtureRequest
) -> None:
    server: Valkey = request.getfixturevalue(f"{kind}_server")("--appendonly", "yes", "--save", "3600 1")
    server.ask("SET", "a", "x" * 1_000)
    server.ask("EVAL", "return 1", "0")
    server.ask("SAVE")
    cache = cache_at(server.url, name="game")
    bring_near(poller)
    polled(poller, cache)

    own = own_numbers(server)
    (node,) = api()["nodes"]

    shown = {name: number for section in SECTIONS for name, number in node[section].items() if number is not None}
    common = {name for name in shown.keys() & own.keys() if is_steady(name)}
    assert {name: shown[name] for name in common} == {name: pytest.approx(own[name]) for name in common}
    needed = {"rdb_last_save_time", "aof_enabled", "latest_fork_usec", "number_of_cached_scripts", "mem_aof_buffer"}
    assert needed <= common
    assert len(common) > 45
    assert shown["used_memory"] == pytest.approx(own["used_memory"], rel=0.1)
    html = page()
    assert "not answering" not in html
    assert str(NodeFact.objects.get(name="mem_allocator").value) in html


def test_a_cluster_is_told_as_its_nodes_see_it(
    at_every_poll: None, poller: Poller, cache_at: CacheAt, valkey_cluster: list[Valkey]
) -> None:
    cache = cache_at(valkey_cluster[0].url, name="game")
    bring_near(poller)
    polled(poller, cache)

    found = internals_of(Cache.objects.get())
    told = {node["node"]: node for node in api()["nodes"]}

    for server in valkey_cluster:
        own = own_numbers(server, "CLUSTER", "INFO") | own_numbers(server, "INFO", "replication")
        shown = told[f"127.0.0.1:{server.port}"]
        for section in ("cluster", "replication"):
            common = {name for name in shown[section].keys() & own.keys() if is_steady(name)}
            assert {name: shown[section][name] for name in common} == {name: own[name] for name in common}
        assert shown["cluster"]["cluster_slots_assigned"] == 16_384
    assert (found.uncovered, found.disagreeing, found.orphans) == ([], [], [])
    assert len(found.replicated) == 6
    assert all(
        node["replication"]["replication_lag_bytes"] is not None for node in told.values() if node["role"] == "replica"
    )
    assert "All slots have a working primary" in page()


def test_a_node_that_is_cut_off_disagrees(
    at_every_poll: None, poller: Poller, cache_at: CacheAt, own_valkey_cluster: ClusterFactory
) -> None:
    nodes = own_valkey_cluster(shards=3, replicas=0)
    cache = cache_at(nodes[0].url, name="game")
    bring_near(poller)
    polled(poller, cache)
    nodes[1].ask("CLUSTER", "BUMPEPOCH")
    nodes[1].ask("CLUSTER", "FORGET", str(nodes[2].ask("CLUSTER", "MYID")))
    odd: dict[int, frozenset[str]] = {}
    for _ in range(20):
        poller.poll(cache)
        odd = {node.watched.node.port: node.differs_in for node in internals_of(Cache.objects.get()).disagreeing}
        if nodes[1].port in odd:
            break

    assert "cluster_known_nodes" in odd[nodes[1].port]
    html = page()
    assert "disagree" in html
    assert "<code>cluster_known_nodes</code>" in html


@pytest.fixture
def cache() -> Cache:
    cache = cache_with_nodes(2, 1)
    Cache.objects.update(topology=Topology.CLUSTER)
    Shard.objects.filter(number=1).update(slots=[[0, 99]])
    Shard.objects.filter(number=2).update(slots=[[100, 16_383]])
    cache.refresh_from_db()
    return cache


def have(cache: Cache, detail: dict[str, float] | None = None, **hot: Any) -> None:
    now = int(timezone.now().timestamp()) // 15 * 15
    rows = [reading(node, **hot) for node in cache.nodes.all()]
    for row in rows:
        row.tick, row.detail = now, detail
    samples.write(rows)


def replica(cache: Cache) -> Node:
    return cache.nodes.filter(role="replica").order_by("port")[0]


def test_it_tells_lag_link_and_copies_of_a_replica(cache: Cache) -> None:
    have(cache, {"repl_backlog_size": 2**20, "repl_backlog_histlen": 2**19}, sync_full=3, sync_partial_err=7)
    samples.write(
        [late(replica(cache), replication_lag_bytes=2**21, replication_lag_seconds=3.0, master_link_up=False)]
    )

    html = page()

    assert "2\u00a0MiB" in html
    assert "1 replica follows nobody" in html
    assert "of 1\u00a0MiB" in html
    assert [node.watched.node for node in internals_of(cache).orphans] == [replica(cache)]


def late(node: Node, **hot: Any) -> samples.NodeReading:
    row = reading(node, **hot)
    row.tick = int(timezone.now().timestamp()) // 15 * 15 + 15
    return row


def test_what_is_not_reported_is_not_zero(cache: Cache) -> None:
    have(cache, used_memory=1)

    html = page()

    assert "0\u00a0B" not in html
    assert html.count("not reported") > 40
    assert api()["nodes"][0]["memory"]["mem_fragmentation_bytes"] is None


def test_a_figure_that_is_missing_has_no_note_beside_it(cache: Cache) -> None:
    have(cache, used_memory=1)

    assert "of <span" not in page()
    assert "cached" not in page()


def test_a_save_that_failed_is_told(cache: Cache) -> None:
    have(
        cache, {"rdb_last_bgsave_time_sec": -1, "aof_enabled": 1, "aof_last_write_status": 0}, rdb_last_bgsave_ok=False
    )

    html = page()

    assert html.count("failed</span>") == 8
    assert html.count("never") == 4


def test_a_silent_node_has_no_numbers(cache: Cache) -> None:
    have(cache, used_memory=2**20)
    NodeStatus.objects.create(node=cache.nodes.all()[0], failing_since=timezone.now(), failed_step="connect")

    html = page()

    assert html.count("not answering") >= 3
    silent = next(node for node in api()["nodes"] if node["is_silent"])
    assert set(silent["memory"].values()) == {None}


def test_slots_without_a_working_primary_are_named(cache: Cache) -> None:
    have(cache)
    first = cache.nodes.get(role="primary", shard__number=1)
    NodeStatus.objects.create(node=first, failing_since=timezone.now(), failed_step="connect")

    assert "100 slots have no working primary: 0–99" in page()
    assert api()["uncovered_slots"] == [[0, 99]]


@pytest.mark.parametrize(
    ("held", "gaps"),
    [
        ([], [(0, 16_383)]),
        ([(0, 16_383)], []),
        ([(5, 5)], [(0, 4), (6, 16_383)]),
        ([(0, 10), (5, 7), (12, 16_383)], [(11, 11)]),
        ([(0, 8_000), (8_001, 16_382)], [(16_383, 16_383)]),
    ],
)
def test_gaps_lie_between_what_is_held(held: list[tuple[int, int]], gaps: list[tuple[int, int]]) -> None:
    assert list(gaps_between(held)) == gaps


def test_details_of_long_ago_tell_nothing_of_now(cache: Cache) -> None:
    have(cache, {"total_forks": 5})
    ids = [node.pk for node in cache.nodes.all()]

    assert latest_details.read(ids, timezone.now() + timedelta(seconds=60))[ids[0]].numbers == {"total_forks": 5}
    assert latest_details.read(ids, timezone.now() + timedelta(hours=1)) == {}


def test_details_that_came_in_parts_are_put_together(cache: Cache) -> None:
    have(cache, {"total_forks": 5, "aof_enabled": 1})
    node = cache.nodes.all()[0]
    row = late(node)
    row.detail = {"cluster_size": 3, "total_forks": 6}
    samples.write([row])

    found = latest_details.read([node.pk], row.at)[node.pk]

    assert (found.at, found.numbers) == (row.at, {"total_forks": 6, "aof_enabled": 1, "cluster_size": 3})


def test_every_number_of_these_sections_is_answered() -> None:
    names = {metric.name for metric in (*HOT, *DETAIL) if metric.section in SECTIONS}

    assert names <= {name for name, section in SECTION_OF.items() if section in SECTIONS}


def test_servers_outside_a_cluster_have_no_views(cache: Cache) -> None:
    Cache.objects.update(topology=Topology.STANDALONE)
    have(cache)

    assert "as each node sees it" not in page()
    assert api()["uncovered_slots"] == []


def test_it_says_what_is_refused(cache: Cache) -> None:
    CommandSupport.objects.create(node=replica(cache), command="CLUSTER INFO", state="refused", reason=HOSTILE)

    html = page()

    assert "CLUSTER INFO" in html
    assert HOSTILE not in html


@pytest.mark.parametrize("shards", [1, 9])
def test_it_asks_the_database_no_more_often_for_more_nodes(
    shards: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    have(cache_with_nodes(shards, 1), {"total_forks": 5}, used_memory=1)
    client = client_of()

    with django_assert_max_num_queries(QUERIES):
        client.get("/caches/game/internals/")
