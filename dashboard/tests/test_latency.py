"""The page and the API of latency."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import Role
from accounts.tests.cast import client_of
from collectors import round_trips, samples
from collectors.metrics.hot import HOT_INDEX
from collectors.models import CommandSupport, LatencyEvent, NodeFact
from collectors.samples import NodeReading
from collectors.tests.cast import cache_with_nodes, reading
from dashboard.latency import latency_of
from dashboard.latency_words import MEANINGS, OTHER, meaning_of
from dashboard.tests.api import call
from dashboard.tests.test_fleet import HOSTILE
from fleet.models import Cache, Node

pytestmark = pytest.mark.django_db
QUERIES = 14
NOW = timezone.now()


def page(address: str = "") -> str:
    answer = client_of().get(f"/caches/game/latency/{address}")
    assert answer.status_code == 200
    return answer.content.decode()


def api(query: str = "", status: int = 200, name: str = "game") -> Any:
    answer = call(Role.VIEWER, "get", f"/caches/{name}/latency{query}")
    assert answer.status_code == status
    return answer.json()


def answered(node: Node, *seconds: float | None, minutes: float = 5) -> None:
    """Keep a sample for each round trip, fifteen seconds apart."""
    first = int((NOW - timedelta(minutes=minutes)).timestamp()) // 15 * 15
    rows: list[NodeReading] = []
    for number, value in enumerate(seconds):
        row = reading(node)
        row.hot[HOT_INDEX["round_trip_seconds"]] = value
        row.tick = first - 15 * number
        rows.append(row)
    samples.write(rows)


def held_up(node: Node, event: str = "command", milliseconds: int = 120, minutes: float = 5) -> LatencyEvent:
    at = NOW - timedelta(minutes=minutes)
    return LatencyEvent.objects.create(node=node, event=event, milliseconds=milliseconds, at=at)


def told(node: Node, threshold: str) -> None:
    NodeFact.objects.create(node=node, name="latency_monitor_threshold", value=threshold, since=NOW)


@pytest.fixture
def cache() -> Cache:
    return cache_with_nodes(2)


def test_the_p99_is_that_of_all_answers(cache: Cache) -> None:
    first, second = cache.nodes.all()
    answered(first, *[0.001] * 98, 0.05, 0.2)
    answered(second, 0.004, None, 0.002)

    found = {node.watched.node.pk: node.round_trips for node in latency_of(cache, NOW - timedelta(hours=1), NOW).nodes}

    one, other = found[first.pk], found[second.pk]
    assert one is not None
    assert other is not None
    assert (one.answers, one.least, one.p99, one.most) == pytest.approx((100, 0.001, 0.05, 0.2))
    assert one.mean == pytest.approx((98 * 0.001 + 0.25) / 100)
    assert (other.answers, other.least, other.mean, other.p99) == pytest.approx((2, 0.002, 0.003, 0.004))


def test_answers_outside_of_the_range_do_not_count(cache: Cache) -> None:
    node = cache.nodes.all()[0]
    answered(node, 0.5, minutes=70)
    answered(node, 0.001, minutes=5)

    assert round_trips.read([node.pk], NOW - timedelta(hours=1), NOW)[node.pk].most == pytest.approx(0.001)
    assert "500\u00a0ms" in page("?span=6h") or "500 ms" in page("?span=6h")


def test_a_node_without_answers_is_not_zero(cache: Cache) -> None:
    answered(cache.nodes.all()[0], 0.001)

    html = page()

    assert html.count("no answer in this range") == 1
    assert api()["nodes"][1] | {"node": "", "node_id": 0} == {
        "node_id": 0,
        "node": "",
        "role": "primary",
        "answers": 0,
        "least": None,
        "mean": None,
        "p99": None,
        "most": None,
        "threshold_milliseconds": None,
    }


def test_it_groups_what_held_servers_up(cache: Cache) -> None:
    first, second = cache.nodes.all()
    for minutes, milliseconds in ((1, 120), (2, 300)):
        held_up(first, milliseconds=milliseconds, minutes=minutes)
    held_up(second, "fork", 45)

    html = page()

    assert "300 ms" in html
    assert "420 ms" in html
    assert str(MEANINGS["command"]) in html.replace("&#x27;", "'")
    assert html.index("<code>command</code>") < html.index("<code>fork</code>")
    assert html.count('<time datetime="') >= 3


def test_it_filters_by_node_and_time(cache: Cache) -> None:
    first, second = cache.nodes.all()
    held_up(first, "fork")
    held_up(second, "aof-write", minutes=90)

    assert "aof-write" not in page()
    assert "aof-write" in page("?span=6h")
    assert "aof-write" not in page(f"?span=6h&node={first.pk}")
    assert f"{second.host}:{second.port}" in page(f"?node={first.pk}")


def test_it_says_that_servers_record_nothing(cache: Cache) -> None:
    first, second = cache.nodes.all()
    told(first, "0")
    told(second, "100")

    html = page()

    assert "1 of 2 nodes records nothing: its latency-monitor-threshold is 0" in html
    assert "from 100 ms on" in html
    assert "not known" not in html
    assert [node["threshold_milliseconds"] for node in api()["nodes"]] == [0, 100]


def test_an_unknown_threshold_is_not_zero(cache: Cache) -> None:
    told(cache.nodes.all()[0], "odd")

    html = page()

    assert html.count("not known") == 2
    assert "nothing:" not in html


def test_it_says_what_is_refused_in_the_servers_words(cache: Cache) -> None:
    node = cache.nodes.all()[0]
    CommandSupport.objects.create(node=node, command="LATENCY LATEST", state="refused", reason="NOPERM no latency")

    assert "NOPERM no latency" in page()
    assert api()["refused"] == [{"command": "LATENCY LATEST", "reason": "NOPERM no latency", "count": 1, "nodes": 2}]


def test_it_escapes_the_names_of_events(cache: Cache) -> None:
    held_up(cache.nodes.all()[0], HOSTILE)

    assert HOSTILE not in page()
    assert "&lt;script&gt;" in page()


@pytest.mark.parametrize("event", [*MEANINGS, "some-event-of-the-future"])
def test_every_event_has_a_meaning(event: str) -> None:
    assert (meaning_of(event) == OTHER) == (event not in MEANINGS)


@pytest.mark.parametrize("address", ["?span=x", "?node=x", f"?node={10**30}", "?node=²", "?page=x", "?node=999999"])
def test_bad_values_fall_back(cache: Cache, address: str) -> None:
    held_up(cache.nodes.all()[0])

    assert "<code>command</code>" in page(address)


def test_moments_come_in_pages(cache: Cache) -> None:
    node = cache.nodes.all()[0]
    for number in range(60):
        held_up(node, milliseconds=1_000 + number, minutes=number / 10)

    assert "Page 1 of 2" in page()
    answer = api("?page=2&page_size=40")
    assert (answer["count"], len(answer["moments"])) == (60, 20)
    assert answer["moments"][0]["milliseconds"] == 1_040
    assert answer["events"][0] | {"last_at": ""} == {
        "node_id": node.pk,
        "node": node.address,
        "event": "command",
        "meaning": "A command took long: the slow log says which.",
        "count": 60,
        "longest": 1_059,
        "total": sum(range(1_000, 1_060)),
        "last_at": "",
    }


@pytest.mark.parametrize(
    ("query", "status"),
    [("?from=2000&to=1000", 400), ("?from=0", 400), ("?page=0", 400), ("?node=-1", 400), ("?page_size=501", 400)],
)
def test_the_api_refuses_what_makes_no_sense(cache: Cache, query: str, status: int) -> None:
    assert api(query, status)["error"]


def test_the_api_knows_no_other_cache() -> None:
    assert api(status=404, name="nowhere")["error"]


@pytest.mark.parametrize("shards", [1, 8])
def test_it_asks_the_database_no_more_often_for_more_nodes(
    shards: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    cache = cache_with_nodes(shards)
    for node in cache.nodes.all():
        held_up(node)
        answered(node, 0.001)
    client = client_of()

    with django_assert_max_num_queries(QUERIES):
        client.get("/caches/game/latency/")
