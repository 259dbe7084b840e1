"""Advice about servers that keep their memory in classes: when it speaks, what it says, and when it stays silent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from collectors.causes import Cause
from collectors.memcached.discovery import NODES_LIMIT
from dashboard.findings import Finding, State, load, memory, slabs
from dashboard.past import Past, Untold
from dashboard.tests.cast import NOW, member, summary, watched
from dashboard.watched import Watched
from fleet.engines import Engine

LRU = {"maxmemory_policy": "allkeys-lru", "memcached_version": "1.6.18"}


def pool(numbers: Mapping[str, float], **values: Any) -> Watched:
    """Return a cache of one Memcached with these rare numbers and these of its newest sample."""
    node = member(1, facts=LRU, **values)
    found = watched(node, engine=Engine.MEMCACHED, topology="sharded")
    return replace(found, past=Past(slabs={node.node.pk: numbers}))


def said(finding: Finding | None) -> str:
    assert finding is not None
    assert finding.state is State.NOTICE
    return finding.sentence.replace("\xa0", " ")


@pytest.mark.parametrize(("busy", "speaks"), [(0.8, True), (0.79, False), (None, False)])
def test_threads_are_busy_all_together(busy: float | None, speaks: bool) -> None:
    numbers = {} if busy is None else {"threads_busy_ratio": busy, "threads": 4.0}

    assert bool(slabs.threads_busy(pool(numbers, used_memory=1))) is speaks


def test_it_names_the_threads() -> None:
    found = slabs.threads_busy(pool({"threads_busy_ratio": 0.9, "threads": 4.0}, used_memory=1))

    assert "keeps its 4 threads 90% busy" in said(found)


def test_more_than_one_busy_thread_is_no_busy_main_thread() -> None:
    assert load.cpu_busy(pool({}, cpu_ratio=3.6)) is None


@pytest.mark.parametrize(
    ("unread", "evicted", "speaks"), [(300, 1_000, True), (100, 1_000, False), (300, 900, False), (5, 0, False)]
)
def test_evictions_of_what_nobody_read_are_told(unread: float, evicted: int, speaks: bool) -> None:
    found = slabs.evicted_unread(pool({"evicted_unfetched": unread}, evicted_keys=evicted))

    assert bool(found) is speaks


def test_it_tells_the_share_that_nobody_read() -> None:
    found = slabs.evicted_unread(pool({"evicted_unfetched": 500.0}, evicted_keys=1_000))

    assert said(found).startswith("50% of the items that game-cache evicted were never read")


STARVED = {"items_evicted_time": 60.0, "items_age": 90_000.0, "worst_slab_chunk_size": 600.0}


@pytest.mark.parametrize(
    ("numbers", "rate", "speaks"),
    [
        (STARVED, 5.0, True),
        (STARVED, 0.0, False),
        (STARVED, None, False),
        (STARVED | {"items_evicted_time": 4_000.0}, 5.0, False),
        (STARVED | {"items_age": 300.0}, 5.0, False),
        ({}, 5.0, False),
    ],
)
def test_a_class_that_lacks_memory_is_told(numbers: dict[str, float], rate: float | None, speaks: bool) -> None:
    assert bool(slabs.starved_class(pool(numbers, evicted_keys_per_second=rate))) is speaks


def test_it_names_the_size_that_is_starved() -> None:
    sentence = said(slabs.starved_class(pool(STARVED, evicted_keys_per_second=5.0)))

    assert "600 B" in sentence
    assert "1 min" in sentence


def test_items_without_memory_are_counted() -> None:
    assert "refused 7 items" in said(slabs.no_memory(pool({"items_outofmemory": 7.0}, used_memory=1)))
    assert slabs.no_memory(pool({"items_outofmemory": 0.0}, used_memory=1)) is None


def test_an_endpoint_that_tells_no_nodes_is_told() -> None:
    since = NOW - timedelta(minutes=5)
    found = replace(pool({}, used_memory=1), past=Past(untold=Untold(since, Cause.REFUSED, "")))

    assert "told no nodes for 5 min" in said(slabs.list_untold(found))
    assert slabs.list_untold(pool({}, used_memory=1)) is None


@pytest.mark.parametrize(
    ("address", "nodes", "speaks"),
    [
        ("memcached+discovery://10.0.0.9", NODES_LIMIT, True),
        ("memcached+discovery://10.0.0.9", NODES_LIMIT - 1, False),
        ("memcached://10.0.0.9", NODES_LIMIT, False),
    ],
)
def test_an_endpoint_that_names_more_than_are_watched_is_told(address: str, nodes: int, speaks: bool) -> None:
    found = slabs.list_cut(watched(*[member()] * nodes, address=address))

    assert bool(found) is speaks
    assert not speaks or "names 500 nodes or more" in said(found)


def test_a_full_memcached_that_evicts_is_healthy() -> None:
    full = pool({}, memory_used_ratio=0.97, used_memory=97, maxmemory=100)

    assert memory.memory_full(full) is None


def test_evictions_are_worth_a_note() -> None:
    full = replace(pool({}, used_memory=97), latest=summary(evicted_keys_per_second=12.0))

    assert "evicts keys to make room" in said(memory.evictions(full))


@pytest.mark.parametrize(
    ("settings", "speaks"),
    [({slabs.WRITE_BATCH: "1"}, True), ({slabs.WRITE_BATCH: "1000"}, False), ({}, False)],
)
def test_a_plugin_that_commits_each_write_is_told(settings: dict[str, str], speaks: bool) -> None:
    found = replace(pool({}, used_memory=1), past=Past(plugin=settings))

    assert bool(slabs.batch_of_one(found)) is speaks
