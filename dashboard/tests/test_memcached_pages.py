"""Pages of a Memcached: what it has is shown, what it cannot have is left out, and nothing stands empty."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Role
from accounts.tests.cast import client_of
from collectors import client_lists, hot_keys, samples
from collectors.client_list import ClientList
from collectors.keyscan.options import ScanOptions
from collectors.keyscan.reasons import ScanRefusedError
from collectors.keyscan.starting import start
from collectors.metrics.hot import HOT_INDEX, HOT_NAMES
from collectors.models import ClientReading, ClientRows, MysqlPlugin, NodeFact, NodeStatus
from dashboard.engine_charts import charts_of
from dashboard.templatetags.units import bytes_size, grouped
from fleet.engines import Engine, without
from fleet.models import Cache, Node, Shard, Topology

pytestmark = pytest.mark.django_db
HOT: dict[str, Any] = {
    "used_memory": 50 * 2**20,
    "maxmemory": 64 * 2**20,
    "connected_clients": 7,
    "maxclients": 1_024,
    "keys": 1_234,
    "is_primary": True,
    "uptime_in_seconds": 7_500,
    "read_after_ms": 0,
}
DETAIL = {"threads": 4.0, "active_slabs": 12.0, "total_malloced": 60.0 * 2**20, "items_age": 5_400.0, "conns_idle": 3.0}


def pool(nodes: int = 2, address: str = "memcached://10.0.0.1:11211") -> Cache:
    """Return a Memcached cache whose nodes were polled a moment ago."""
    cache = Cache.objects.create(name="pages", address=address, engine=Engine.MEMCACHED, topology=Topology.SHARDED)
    tick = int(timezone.now().timestamp()) // 5 * 5
    for number in range(1, nodes + 1):
        host = f"10.0.0.{number}"
        shard = Shard.objects.create(cache=cache, identity=f"{host}:11211", number=number)
        node = Node.objects.create(
            cache=cache, shard=shard, identity=shard.identity, host=host, port=11_211, role=Node.Role.PRIMARY
        )
        row: list[Any] = [None] * len(HOT_NAMES)
        for name, value in HOT.items():
            row[HOT_INDEX[name]] = value
        facts = {"memcached_version": "1.6.18", "maxmemory_policy": "allkeys-lru"}
        samples.write([samples.NodeReading(node.pk, tick, row, DETAIL, facts)])
    return cache


def page(path: str = "", role: str = Role.OPERATOR) -> str:
    answer = client_of(role).get(f"/caches/pages/{path}")
    assert answer.status_code == 200
    return str(answer.content.decode().replace("\xa0", " "))


def test_the_cache_page_shows_version_and_shape() -> None:
    pool()

    html = page()

    assert "Memcached 1.6.18" in html
    assert "2 nodes" in html
    assert f"of {grouped(1_024)}".replace("\xa0", " ") in html


def test_there_are_no_roles_and_no_lag() -> None:
    pool()

    html = page().split('id="charts"')[0]

    assert "role-primary" not in html
    assert "Lag" not in html
    assert "all primaries" not in html


def test_tabs_lead_to_what_there_is() -> None:
    pool()

    tabs = page().split('class="tabs"')[1].split("</nav>")[0]

    assert all(word in tabs for word in ("Overview", "Latency", "Connections", "Balance", "Internals", "Events"))
    assert not any(word in tabs for word in ("Commands", "Slow log", "Keys"))


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("commands/", "does not count calls"),
        ("slowlog/", "keeps no slow log"),
        ("scans/", "no command to walk"),
    ],
)
def test_a_page_without_its_subject_says_so(path: str, words: str) -> None:
    pool()

    assert words in page(path)


def test_internals_tell_of_slabs_alone() -> None:
    pool()

    html = page("internals/")

    assert "slabs-internals" in html
    assert bytes_size(DETAIL["total_malloced"]).replace("\xa0", " ") in html
    assert "persistence-title" not in html
    assert "replication-title" not in html


def test_balance_shows_no_slots_and_no_hot_keys() -> None:
    pool()

    html = page("balance/")

    assert "shards-title" in html
    assert "slots-title" not in html


def test_balance_names_neither_primaries_nor_slots_nor_a_main_thread() -> None:
    pool()

    table = page("balance/").split('id="shards-title"')[1].split("</section>")[0]

    assert not any(word in table for word in ("primaries", ">Primary<", ">Slots<", ">CPU<"))
    assert ">Node<" in table
    head, first = table.split("</thead>")[0], table.split("<tbody>")[1].split("</tr>")[0]
    assert head.count("<th") - head.count("<thead") == first.count("<td") + first.count("<th")


def test_latency_shows_our_polls_alone() -> None:
    pool()

    assert "Server records" not in page("latency/")


def test_its_charts_hold_what_it_reports() -> None:
    charts = {chart.key: chart for chart in charts_of(Engine.MEMCACHED)}

    assert {"memory", "cpu", "commands", "connections", "hits", "evictions", "network", "slabs", "unread"} <= set(
        charts
    )
    assert not {"replication", "replication-age", "fragmentation", "keys-ttl"} & set(charts)
    assert [line.metric for line in charts["memory"].lines] == ["used_memory", "maxmemory"]
    assert [line.metric for line in charts["evictions"].lines] == ["evicted_keys_per_second"]


def test_charts_of_other_servers_stay_as_they_are() -> None:
    keys = [chart.key for chart in charts_of(Engine.VALKEY)]

    assert "replication" in keys
    assert "slabs" not in keys


@pytest.mark.parametrize("key", [chart.key for chart in charts_of(Engine.MEMCACHED)])
def test_every_chart_can_be_drawn(key: str) -> None:
    pool()
    chart = next(one for one in charts_of(Engine.MEMCACHED) if one.key == key)

    answer = client_of().get("/api/v1/caches/pages/series", {"metric": chart.metrics, "by": "cache"})

    assert answer.status_code == 200


def test_the_fleet_page_leaves_replication_out() -> None:
    pool()

    html = client_of().get("/").content.decode()

    assert "Memcached" in html
    assert "no replicas" not in html


def test_our_own_load_is_that_of_stats() -> None:
    pool()

    html = page().split('id="own-load"')[1]

    assert "stats slabs" in html
    assert ">INFO<" not in html


def test_a_silent_endpoint_is_a_finding_on_the_page() -> None:
    cache = pool(address="memcached+discovery://10.0.0.9:11211")
    endpoint = Node.objects.create(
        cache=cache, identity="10.0.0.9:11211", host="10.0.0.9", port=11_211, left_at=timezone.now()
    )
    NodeStatus.objects.create(node=endpoint, failing_since=datetime(2026, 1, 1, tzinfo=UTC), failed_cause="refused")

    assert "The discovery endpoint of pages" in page()


def test_nobody_looks_for_keys(settings: Any) -> None:
    settings.HOT_KEYS_INTERVAL_SECONDS = 60
    cache = pool()

    assert cache.pk in client_lists.due_caches()
    assert cache.pk not in hot_keys.due_caches()
    assert without("client_names") == [Engine.MEMCACHED]


def test_a_scan_of_keys_is_refused_with_a_reason() -> None:
    with pytest.raises(ScanRefusedError, match="walk through their keys"):
        start(pool(), ScanOptions(), "careful")


def test_a_restart_and_a_version_are_read_from_its_facts() -> None:
    cache = pool(1)

    assert set(NodeFact.objects.filter(node__cache=cache).values_list("name", flat=True)) == {
        "memcached_version",
        "maxmemory_policy",
    }


def test_internals_show_the_settings_of_mysqls_plugin() -> None:
    MysqlPlugin.objects.create(
        cache=pool(1), dsn="mysql://watch:hidden-word@h", variables={"daemon_memcached_w_batch_size": "1"}
    )

    html = page("internals/")

    assert "daemon_memcached_w_batch_size" in html
    assert "hidden-word" not in html
    assert "commits after every write" in page()


def have_read(cache: Cache) -> None:
    """Keep a reading of the only node of a cache, with two connections."""
    seen = ClientList()
    for line in (b"addr=10.0.1.1:5000 idle=3 cmd=read", b"addr=10.0.2.1:5001 idle=900 cmd=swallow"):
        seen.take(line)
    node, now = cache.nodes.get(), timezone.now()
    ClientReading.objects.create(node=node, read_at=now, connections=2, own=1, groups=seen.groups())
    ClientRows.objects.create(node=node, read_at=now, rows=seen.rows())


def test_connections_are_grouped_by_what_memcached_tells() -> None:
    have_read(pool(1))

    html = page("clients/")

    assert "<code>10.0.1.0/24</code>" in html
    assert "2 connections" in html
    assert not any(f">{word}</" in html for word in ("User", "Library", "Query buffers", "Age"))
    assert "Memcached tells no names" in html
    assert not any(word in html.split("</nav>")[-1] for word in ("Sort by", "primary"))


@pytest.mark.parametrize(("query", "words"), [("?by=command", "<code>swallow</code>"), ("?by=idle", "10-60 min")])
def test_connections_have_states_and_idle_times(query: str, words: str) -> None:
    have_read(pool(1))

    assert words in page(f"clients/{query}")


@pytest.mark.parametrize("query", ["?by=name", "?by=user&sort=memory", "?sort=age"])
def test_groups_that_memcached_has_not_fall_back(query: str) -> None:
    have_read(pool(1))

    assert "10.0.1.0/24" in page(f"clients/{query}")


def test_an_unread_list_names_the_command_that_is_needed() -> None:
    pool(1)

    html = page("clients/")

    assert "where the server allows stats conns" in html
    assert "the others serve on" in html
