"""What pages say where a figure is not there yet, and where there is nothing to count."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from collectors import samples
from collectors.tests.cast import cache_with_nodes, reading
from dashboard.overview import Row
from dashboard.tests.cast import NOW, member, summary
from dashboard.tests.test_cache import page as cache_page
from dashboard.tests.test_fleet import page, sampled
from fleet.models import Cache

WAITING = "waiting for the second sample"


def sampled_later(cache: Cache, seconds: int, **hot: Any) -> None:
    rows = [reading(node, **hot) for node in cache.nodes.all()]
    for one in rows:
        one.tick = int(timezone.now().timestamp()) // 15 * 15 + seconds
    samples.write(rows)


def row(**given: Any) -> Row:
    return Row(Cache(name="game"), summary(**given), ())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        # The first minute of a cache, and the same cache when it has rates.
        ({"spark_used_memory": [10], "spark_commands_per_second": [None]}, WAITING),
        ({"spark_used_memory": [10], "spark_commands_per_second": [3.0], "commands_per_second": 3.0}, ""),
        # Shardwatch stood still for minutes, or for hours.
        ({"spark_used_memory": [10, None, 10], "spark_commands_per_second": [2.0, None, None]}, WAITING),
        ({"spark_used_memory": [None, None, 10], "spark_commands_per_second": [None, None, None]}, WAITING),
        # A server that restarted: its neighbours in time have rates.
        ({"spark_used_memory": [10, 10], "spark_commands_per_second": [2.0, None]}, WAITING),
        # A server that never tells.
        ({"spark_used_memory": [10, 10], "spark_commands_per_second": [None, None]}, ""),
        ({"at": None}, ""),
    ],
)
def test_it_knows_a_rate_that_is_yet_to_come(given: dict[str, Any], words: str) -> None:
    assert row(**given).no_rate == words


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"commands_per_second": 0.0}, "no lookups"),
        ({"commands_per_second": 12.0}, "no lookups"),
        ({"commands_per_second": None, "spark_used_memory": [10]}, WAITING),
        ({"commands_per_second": None, "spark_used_memory": [10, 10]}, ""),
    ],
)
def test_it_says_why_there_is_no_hit_ratio(given: dict[str, Any], words: str) -> None:
    assert row(**given).no_hits == words


def test_it_says_nothing_of_a_cache_without_a_summary() -> None:
    bare = Row(Cache(name="game"), None, ())

    assert (bare.no_rate, bare.no_hits) == ("", "")


@pytest.mark.parametrize(("seconds", "words"), [(0, WAITING), (60, WAITING), (61, ""), (3600, "")])
def test_a_node_has_a_minute_to_report(seconds: int, words: str) -> None:
    node = member(used_memory=1)
    node.node.joined_at = NOW - timedelta(seconds=seconds)

    assert node.no_rate == words


@pytest.mark.django_db
@pytest.mark.parametrize("view", ["", "?view=tiles"])
def test_the_fleet_page_waits_for_rates_and_tells_of_no_lookups(view: str) -> None:
    cache = cache_with_nodes()
    sampled(cache, used_memory=1, connected_clients=1, total_commands_processed=5, keyspace_hits=0, keyspace_misses=0)
    first = page(view)
    sampled_later(cache, 15, used_memory=1, total_commands_processed=9, keyspace_hits=0, keyspace_misses=0)

    second = page(view)

    # CPU, commands, hits and evictions; nothing is called missing that is only young.
    assert first.count(WAITING) == 4
    assert "not reported" not in re.sub(r"data-missing=\"[^\"]*\"", "", first)
    assert "no lookups" in second
    assert "0.27/s" in second


@pytest.mark.django_db
def test_the_page_of_a_cache_waits_for_rates() -> None:
    sampled(cache_with_nodes(1, 1), used_memory=1, total_commands_processed=5)

    html = cache_page()

    # Four figures of the cache, and two of each node.
    assert html.count(WAITING) == 4 + 2 * 2
