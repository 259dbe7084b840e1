"""One row of the fleet page, drawn from texts that are made beforehand."""

import re
from dataclasses import replace
from typing import Any

import pytest
from django.template import Context, Template
from django.utils import translation
from django.utils.html import strip_tags

from collectors.cloud.known import Service
from collectors.cloud.models import CloudInstance
from collectors.cloud.snapshots import facts
from dashboard.findings import Finding, State
from dashboard.overview import Row
from dashboard.templatetags.fleet import WORDS, cell
from dashboard.tests.cast import NOW, summary
from dashboard.tests.service_cast import SNAPSHOTS
from fleet.models import Cache, Reach

HOSTILE = "<script>alert(1)</script>"
HEADS = dict.fromkeys((*WORDS, "word_sample"), "head") | {"fleet_url": "/"}


def cache(**given: Any) -> Cache:
    return Cache(**{"pk": 7, "name": "game", "engine": "valkey", "topology": "cluster", **given})


def finding(sentence: str = "It is full", reason: str = "memory 99%") -> Finding:
    return Finding(State.CRITICAL, sentence, reason, "99%", "memory")


def drawn(row: Row) -> str:
    return Template("{% load fleet %}{% fleet_row row %}").render(Context({**HEADS, "row": row}))


def texts(row: Row) -> list[str]:
    """Return the words of each cell, with plain spaces."""
    cells = re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", drawn(row), re.DOTALL)
    return [" ".join(strip_tags(html.replace("<", " <")).split()) for html in cells]


def seen(**given: Any) -> Row:
    return Row(cache(), summary(at=NOW, **given), ())


def test_it_shows_each_figure_in_its_column() -> None:
    row = seen(
        used_memory=2**30,
        memory_limit_bytes=2**31,
        cpu_ratio=0.25,
        fullest_connected_clients=1200,
        fullest_maxclients=10_000,
        commands_per_second=12_345.0,
        hit_ratio=0.5,
        evicted_keys_per_second=0.0,
        replicas=2,
        replication_lag_bytes=2048,
    )

    shown = texts(row)

    assert shown[2:9] == [
        "1 GiB of 2 GiB",
        "25%",
        "1 200 of 10 000",
        "12.3k/s",
        "50%",
        "0/s",
        "in sync 2 KiB behind",
    ]
    assert shown[9].endswith("ago")


@pytest.mark.parametrize(
    ("given", "column", "words"),
    [
        ({"used_memory": 2**20}, 2, "1 MiB no limit"),
        ({"used_memory": None}, 2, "not reported no limit"),
        ({"used_memory": 0, "memory_limit_bytes": 1}, 2, "0 B of 1 B"),
        ({"cpu_ratio": None, "commands_per_second": 1.0}, 3, "not reported"),
        ({"fullest_connected_clients": 5, "fullest_maxclients": None}, 4, "5"),
        ({"hit_ratio": None, "commands_per_second": 1.0}, 6, "no lookups"),
        ({"replicas": 0, "replication_lag_bytes": 99}, 8, "no replicas"),
        ({"replicas": 1, "replication_lag_bytes": None}, 8, "1 replica"),
        ({"replicas": 3, "replication_lag_bytes": None}, 8, "3 replicas"),
        ({"replicas": 3, "replication_lag_bytes": 0}, 8, "in sync"),
        ({"replicas": 3, "links_down": 2}, 8, "2 down"),
    ],
)
def test_it_says_what_is_not_there(given: dict[str, Any], column: int, words: str) -> None:
    assert texts(seen(**given))[column] == words


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (Row(cache(is_paused=True), None, ()), "Polling is paused."),
        (Row(cache(is_paused=True), None, (finding(),)), "Polling is paused."),
        (Row(cache(), None, ()), "The first figures appear within 15 seconds of adding it."),
        (Row(cache(), summary(at=None), ()), "The first figures appear within 15 seconds of adding it."),
        (Row(cache(), None, (finding(),)), "It is full"),
    ],
)
def test_it_says_why_there_are_no_figures_at_all(row: Row, words: str) -> None:
    shown = texts(row)

    assert len(shown) == 3
    assert shown[2] == words


@pytest.mark.parametrize(
    ("given", "nodes", "primaries", "words"),
    [
        ({}, 6, 3, "Valkey cluster · 3 shards, 6 nodes"),
        ({}, 2, 1, "Valkey cluster · 2 nodes"),
        ({"topology": "standalone"}, 1, 1, "Valkey standalone · 1 node"),
        ({"engine": "redis", "topology": ""}, 0, 0, "Redis"),
        ({"engine": "", "topology": ""}, 0, 0, "not known yet"),
        ({"engine": "memcached", "topology": "sharded"}, 4, 4, "Memcached sharded by clients · 4 nodes"),
    ],
)
def test_it_tells_engine_and_size(given: dict[str, Any], nodes: int, primaries: int, words: str) -> None:
    assert Row(cache(**given), summary(nodes=nodes, primaries=primaries), ()).shape == words


@pytest.mark.parametrize(
    ("labels", "shown"),
    [
        ({"env": "demo", "team": "game"}, "env=demo team=game"),
        ({"a": "1", "b": "2", "c": "3", "d": "4"}, "a=1 b=2 c=3 d=4"),
        ({"a": "1", "b": "2", "c": "3", "d": "4", "e": "5"}, "a=1 b=2 c=3 +2"),
        (
            {"env": "demo", "product": "valkey", "project": "p", "region": "r", "team": "x"},
            "env=demo team=x product=valkey +2",
        ),
    ],
)
def test_it_shows_few_labels_and_those_of_people_first(labels: dict[str, str], shown: str) -> None:
    assert texts(Row(cache(labels=labels), None, ()))[1].endswith(shown)


def test_the_other_labels_are_told_on_asking() -> None:
    html = drawn(Row(cache(labels={"a": "1", "b": "2", "c": "3", "region": "<r>", "project": "p"}), None, ()))

    assert 'title="project=p, region=&lt;r&gt;"' in html


def far(product: str = "valkey", **figures: Any) -> Row:
    """A cache whose nodes nobody reaches; replicas of its summary are none that anybody counted."""
    service = Service(CloudInstance(), facts(product, SNAPSHOTS[product]))
    known = cache(engine="", topology="", reach=Reach.SERVICE)
    return Row(known, summary(at=NOW, nodes=0, replicas=0, primaries=0, **figures), (), service=service)


@pytest.mark.parametrize(
    ("product", "shape", "replication"),
    [
        ("valkey", "Valkey 8.0 cluster · 3 shards, 6 nodes · as Google tells", "3 replicas"),
        ("redis", "Redis 7.2 · 2 nodes · as Google tells", "1 replica"),
        ("memcached", "Memcached 1.6.15 · 2 nodes · as Google tells", "not reported"),
    ],
)
def test_a_far_cache_is_what_its_service_tells(product: str, shape: str, replication: str) -> None:
    row = far(product)

    assert row.shape == shape
    assert texts(row)[8] == replication


def test_a_limit_that_the_service_does_not_tell_is_not_said_to_be_none() -> None:
    assert texts(far(used_memory=2**20))[2] == "1 MiB"


def test_replicas_of_a_far_cache_that_follow_are_in_sync() -> None:
    row = far(replication_lag_bytes=2048)

    assert texts(row)[8] == "in sync 2 KiB behind"


def test_a_far_cache_of_no_project_is_not_reported() -> None:
    row = Row(cache(engine="", topology="", reach=Reach.SERVICE), summary(at=NOW, nodes=0, replicas=0), ())

    assert (row.shape, texts(row)[8]) == ("not reported", "not reported")


def test_a_cache_whose_nodes_are_read_is_what_they_tell() -> None:
    service = Service(CloudInstance(), facts("redis", SNAPSHOTS["redis"]))

    row = Row(cache(), summary(at=NOW, nodes=6, primaries=3, replicas=3), (), service=service)

    assert (row.shape, row.replicas) == ("Valkey cluster · 3 shards, 6 nodes", 3)


def test_a_row_is_drawn_again_when_the_service_tells_something_else() -> None:
    before, after = far("redis"), far("redis")
    assert before.version == after.version

    changed = replace(after, service=Service(CloudInstance(), facts("redis", SNAPSHOTS["redis"] | {"tier": "BASIC"})))

    assert changed.version != before.version


def test_it_counts_no_nodes_of_a_cache_never_seen() -> None:
    assert Row(cache(), None, ()).shape == "Valkey cluster"


def test_it_escapes_whatever_people_and_servers_wrote() -> None:
    row = Row(cache(labels={"env": HOSTILE}), None, (finding(HOSTILE, HOSTILE),))

    html = drawn(row)

    assert "<script" not in html
    assert html.count("&lt;script&gt;") == 3


def test_its_labels_lead_to_caches_with_the_same() -> None:
    html = drawn(Row(cache(labels={"team": "a&b c"}), None, ()))

    assert 'href="/?label=team%3Da%26b+c"' in html
    assert ">team=a&amp;b c</a>" in html


def test_it_names_health_in_the_language_of_the_reader() -> None:
    row = Row(cache(is_paused=True), None, ())

    with translation.override("ja"):
        words = texts(row)[0]

    assert words == "一時停止中"


@pytest.mark.parametrize("word", WORDS)
def test_a_figure_names_itself_on_a_phone(word: str) -> None:
    html = Template("{% load fleet %}{% fleet_row row %}").render(Context({**HEADS, word: "HERE", "row": seen()}))

    assert 'data-name="HERE"' in html


def test_a_bar_alarms_only_where_a_finding_does() -> None:
    full = {"used_memory": 99, "memory_limit_bytes": 100, "memory_used_ratio": 0.99}

    assert "bar-critical" not in drawn(seen(**full))
    assert "bar-critical" in drawn(Row(cache(), summary(at=NOW, **full), (finding(),)))


def test_a_cell_escapes_its_texts_but_not_its_pictures() -> None:
    html = cell(HOSTILE, cell("1"), note="<i>")

    assert "<script" not in html
    assert "&lt;i&gt;" in html
    assert html.count('<span class="cell-line">') == 2
