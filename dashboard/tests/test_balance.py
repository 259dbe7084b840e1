"""The page and the API of shards, slots and hot keys."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone, translation
from pytest_django import DjangoAssertNumQueries
from pytest_django.fixtures import Settings

from accounts.models import AuditEntry, Role
from accounts.tests.cast import client_of
from collectors.models import CommandSupport, HotKeyReading, HotKeyTurn, NodeFact, SlotReading
from collectors.tests.cast import cache_with_nodes
from dashboard.balance import Figure, balance_of, figures_of
from dashboard.tests.api import call
from dashboard.tests.service_cast import in_cloud
from dashboard.tests.test_fleet import HOSTILE, sampled
from fleet.models import Cache, Node, Reach, Shard, Topology
from launcher.valkey import Valkey

pytestmark = pytest.mark.django_db
QUERIES = 14
LFU_NEEDED = "These servers do not count how often a key is used"


def page(role: str = Role.VIEWER) -> str:
    answer = client_of(role).get("/caches/game/balance/")
    assert answer.status_code == 200
    return answer.content.decode()


def api() -> Any:
    return call(Role.VIEWER, "get", "/caches/game/balance").json()


def fact(node: Node, name: str, value: str) -> None:
    NodeFact.objects.create(node=node, name=name, value=value, since=timezone.now())


def slots(node: Node, *rows: list[int | None], minutes: float = 1) -> None:
    SlotReading.objects.create(node=node, read_at=timezone.now() - timedelta(minutes=minutes), slots=list(rows))


def looked(node: Node, *rows: list[Any], hours: float = 0, **given: Any) -> None:
    at = timezone.now() - timedelta(hours=hours)
    known = {"method": "sampled", "keys_looked_at": 5_000, "rows": list(rows)}
    HotKeyReading.objects.create(node=node, read_at=at, **{**known, **given})


@pytest.fixture
def cache() -> Cache:
    cache = cache_with_nodes(2, 1)
    Cache.objects.update(topology=Topology.CLUSTER)
    Shard.objects.filter(number=1).update(slots=[[0, 99]])
    Shard.objects.filter(number=2).update(slots=[[100, 16_383]])
    cache.refresh_from_db()
    sampled(cache, keys=200, used_memory=2**20, connected_clients=7, maxmemory=0)
    return cache


@pytest.mark.parametrize(
    ("values", "factors"),
    [
        ([10, 30], [0.5, 1.5]),
        ([10, None, 30], [0.5, None, 1.5]),
        ([10], [None]),
        ([0, 0], [None, None]),
        ([None, None], [None, None]),
        ([], []),
    ],
)
def test_a_factor_is_over_the_mean_of_those_that_report(
    values: list[float | None], factors: list[float | None]
) -> None:
    assert figures_of(values) == [Figure(*pair) for pair in zip(values, factors, strict=True)]


def test_it_compares_shards_by_their_primaries(cache: Cache) -> None:
    found = balance_of(cache).shards

    assert [(shard.primary.node.shard and shard.primary.node.shard.number, shard.slots) for shard in found] == [
        (1, 100),
        (2, 16_284),
    ]
    assert found[0].figures[0] == Figure(200, 1.0)
    assert found[0].figures[2] == Figure(None, None)
    html = page()
    assert "×1.00" in html
    assert "not reported" in html


def test_the_slot_that_takes_most_time_comes_first(cache: Cache) -> None:
    first, second = cache.nodes.filter(role="primary").order_by("port")
    slots(first, [5, 20, 1_000_000, 100, 100], [6, 50, 0, 0, 0], minutes=51)
    slots(first, [5, 20, 31_000_000, 100, 3_100], [6, 50, 0, 0, 0])
    slots(second, [900, 60, None, None, None])

    rows = balance_of(cache).slots

    assert [row.load.slot for row in rows] == [5, 900, 6]
    assert rows[0].load.time_share == pytest.approx(0.01, rel=0.01)
    assert rows[0].key_share == 0.1
    html = page()
    assert "time and bytes are of the last 50 min" in html
    assert "1.00%" in html
    slot = api()["slots"][0]
    assert (slot["slot"], slot["keys"], slot["key_share"], slot["seconds"]) == (5, 20, 0.1, pytest.approx(3_000, 0.01))


def test_the_first_look_says_when_time_will_be_known(cache: Cache) -> None:
    slots(cache.nodes.filter(role="primary")[0], [5, 20, 1_000, 1, 1])

    assert "time and bytes are known after the second look" in page()


def test_time_that_is_not_counted_is_not_zero(cache: Cache) -> None:
    slots(cache.nodes.filter(role="primary")[0], [5, 20, None, None, None])

    html = page()

    assert "The servers count keys only" in html
    assert "Share of the node&#x27;s time" not in html
    assert "Share of the node's time" not in html
    assert api()["slots"][0]["time_share"] is None


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"valkey_version": "9.1.0"}, "Not read yet: slots are read every 5 min"),
        ({"valkey_version": "7.2.5", "redis_version": "7.2.4"}, "These servers cannot tell"),
        ({"redis_version": "7.0.15"}, "These servers cannot tell"),
        ({"redis_version": "8.2.0"}, "Not read yet"),
        ({}, "These servers cannot tell"),
    ],
)
def test_it_says_why_there_are_no_slots(cache: Cache, facts: dict[str, str], words: str) -> None:
    for node in cache.nodes.all():
        for name, value in facts.items():
            fact(node, name, value)

    assert words in page()
    assert words in api()["slots_absent"]


def test_it_says_that_slots_are_refused(cache: Cache) -> None:
    node = cache.nodes.filter(role="primary")[0]
    CommandSupport.objects.create(node=node, command="CLUSTER SLOT-STATS", state="refused", reason="NOPERM no slots")

    html = page()

    assert "The servers refuse CLUSTER SLOT-STATS" in html
    assert "NOPERM no slots" in html


def test_servers_outside_a_cluster_have_no_slots(cache: Cache) -> None:
    Cache.objects.update(topology=Topology.STANDALONE)

    assert "Only clusters divide their keys into slots" in page()


@pytest.fixture
def far(db: None) -> Cache:
    """A cache of which Cloud Monitoring alone tells."""
    return Cache.objects.create(name="game", address="redis://10.0.0.3:6379", reach=Reach.SERVICE)


@pytest.mark.parametrize(
    ("shards", "words"),
    [(3, "Google tells of 3 shards that share the slots"), (1, "Google tells of 1 shard that shares the slots")],
)
def test_a_cluster_that_is_not_reached_says_so_and_what_google_tells(far: Cache, shards: int, words: str) -> None:
    in_cloud(far, shard_count=shards)

    for told in (page(), api()["slots_absent"]):
        assert "The nodes are not reached from here, and only they can tell how their slots are used" in told
        assert words in told
        assert "Only clusters divide" not in told
    assert "Its nodes are not reached from here." in page()


def test_a_cluster_that_no_project_knows_any_more_is_no_other_kind_of_cache(far: Cache) -> None:
    assert api()["slots_absent"].endswith("how their slots are used.")


def test_an_instance_without_shards_has_no_slots_either_where_it_is_not_reached(far: Cache) -> None:
    in_cloud(far, "redis")

    assert "Only clusters divide their keys into slots" in page()


def test_keys_of_nodes_that_are_not_reached_are_neither_told_nor_looked_for(far: Cache) -> None:
    in_cloud(far)
    client = client_of(Role.OPERATOR)

    answer = client.post("/caches/game/balance/look/", follow=True).content.decode()

    assert answer.count("only they can tell which keys are used most") == 2
    assert LFU_NEEDED not in answer
    assert not HotKeyTurn.objects.exists()


def test_it_merges_the_keys_of_all_primaries(cache: Cache) -> None:
    first, second = cache.nodes.filter(role="primary").order_by("port")
    for node in (first, second):
        fact(node, "maxmemory_policy", "allkeys-lfu")
    looked(first, ["hot", 200, None, None], ["warm", 20, None, None])
    looked(second, ["hotter", 255, None, None])

    assert [row.key.key for row in balance_of(cache).keys] == ["hotter", "hot", "warm"]
    html = page()
    assert html.index("hotter") < html.index("<code>hot</code>") < html.index("warm")
    assert LFU_NEEDED not in html
    assert api()["hot_keys"][0] == {
        "key": "hotter",
        "node_id": second.pk,
        "node": second.address,
        "frequency": 255,
        "time_share": None,
        "byte_share": None,
    }


def test_shares_are_shown_where_the_server_counted(cache: Cache) -> None:
    node = cache.nodes.filter(role="primary")[0]
    fact(node, "redis_version", "8.6.1")
    looked(node, ["hot", None, 0.42, 0.07], method="tracked")

    html = page()

    assert "42%" in html
    assert "7.0%" in html
    assert "HOTKEYS" in html


@pytest.mark.parametrize("policy", ["allkeys-lru", "noeviction", "volatile-ttl"])
def test_it_says_what_servers_need_to_count(cache: Cache, policy: str) -> None:
    fact(cache.nodes.filter(role="primary")[0], "maxmemory_policy", policy)

    html = page(Role.OPERATOR)

    assert LFU_NEEDED in html
    assert f"(now: {policy})" in html
    assert "Look for hot keys now" not in html
    assert api()["keys_absent"].startswith(LFU_NEEDED)


def test_a_failed_look_says_why_in_the_readers_language(cache: Cache) -> None:
    node = cache.nodes.filter(role="primary")[0]
    fact(node, "maxmemory_policy", "allkeys-lfu")
    looked(node, failed_cause="no_permission", failed_words="NOPERM no object", method="")

    assert "The user may not run this command: NOPERM no object" in page()
    with translation.override("ja"):
        assert balance_of(cache).looks[0].failure != api()["looks"][0]["failure"]


def test_a_cause_of_another_version_shows_the_words(cache: Cache) -> None:
    looked(cache.nodes.filter(role="primary")[0], failed_cause="gone-since", failed_words="odd words")

    assert "odd words" in page()


def test_keys_are_gone_after_hours(cache: Cache) -> None:
    looked(cache.nodes.filter(role="primary")[0], ["hot", 200, None, None], hours=13)

    assert api()["hot_keys"] == []


def test_hostile_names_are_harmless(cache: Cache) -> None:
    node = cache.nodes.filter(role="primary")[0]
    looked(node, [HOSTILE, 200, None, None], failed_cause="no_permission", failed_words=HOSTILE)

    html = page()

    assert HOSTILE not in html
    assert html.count("&lt;script&gt;") == 2


def test_only_operators_may_look(cache: Cache) -> None:
    fact(cache.nodes.filter(role="primary")[0], "maxmemory_policy", "allkeys-lfu")

    assert "Look for hot keys now" not in page()
    assert "Look for hot keys now" in page(Role.OPERATOR)
    assert client_of().post("/caches/game/balance/look/").status_code == 403
    assert client_of(Role.OPERATOR).get("/caches/game/balance/look/").status_code == 405
    assert call(Role.VIEWER, "post", "/caches/game/hot-keys/look").status_code == 403
    assert call("", "post", "/caches/game/hot-keys/look").status_code == 401
    assert call(Role.OPERATOR, "post", "/caches/nowhere/hot-keys/look").status_code == 404


def test_an_operator_looks_now(valkey_server: Callable[..., Valkey]) -> None:
    server = valkey_server("--maxmemory-policy", "allkeys-lfu", "--lfu-log-factor", "0")
    server.ask("SET", "hot", "x")
    for _ in range(40):
        server.ask("GET", "hot")
    cache = Cache.objects.create(name="game", address=server.url)
    node = cache.nodes.create(identity="x", host="127.0.0.1", port=server.port, role="primary")
    fact(node, "maxmemory_policy", "allkeys-lfu")
    browser = client_of(Role.OPERATOR)

    html = browser.post("/caches/game/balance/look/", follow=True).content.decode()

    assert "The keys were looked at." in html
    assert "<code>hot</code>" in html
    assert AuditEntry.objects.get(action="hot-keys.look").target == "game"
    assert "just now" in browser.post("/caches/game/balance/look/", follow=True).content.decode()
    assert call(Role.OPERATOR, "post", "/caches/game/hot-keys/look").status_code == 409
    HotKeyTurn.objects.all().delete()
    answer = call(Role.OPERATOR, "post", "/caches/game/hot-keys/look").json()
    assert answer["looks"][0]["keys_looked_at"] == 1


def test_a_paused_cache_is_not_looked_at(cache: Cache) -> None:
    Cache.objects.update(is_paused=True)

    html = client_of(Role.OPERATOR).post("/caches/game/balance/look/", follow=True).content.decode()
    answer = call(Role.OPERATOR, "post", "/caches/game/hot-keys/look")

    assert "The cache is paused" in html
    assert (answer.status_code, answer.json()["error"][:19]) == (409, "The cache is paused")
    assert not HotKeyTurn.objects.exists()


def test_a_schedule_is_told(cache: Cache, settings: Settings) -> None:
    fact(cache.nodes.filter(role="primary")[0], "maxmemory_policy", "allkeys-lfu")
    assert "only when an operator asks for it" in page()

    settings.HOT_KEYS_INTERVAL_SECONDS = 3_600

    assert "Shardwatch looks every 1 h" in page()


@pytest.mark.parametrize("shards", [1, 9])
def test_it_asks_the_database_no_more_often_for_more_nodes(
    shards: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    cache = cache_with_nodes(shards, 1)
    for node in cache.nodes.filter(role="primary"):
        slots(node, [5, 20, 1, 1, 1])
        looked(node, ["hot", 200, None, None])
    client = client_of()

    with django_assert_max_num_queries(QUERIES):
        client.get("/caches/game/balance/")
