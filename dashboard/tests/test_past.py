"""The last hours of a cache, read from what was really stored."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core.cache import cache as memory
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from collectors import samples, tallies
from collectors.models import ClientReading, SlowEntry
from collectors.tallies import COMMAND, ERROR, NodeTallies, Tally
from collectors.tests.cast import cache_with_nodes, reading
from dashboard import past
from dashboard.past import Change, Past
from fleet.models import Cache, Node

pytestmark = pytest.mark.django_db
QUERIES = 21


@pytest.fixture
def now() -> datetime:
    return timezone.now().replace(microsecond=0)


@pytest.fixture
def cache(now: datetime) -> Cache:
    made = cache_with_nodes()
    Cache.objects.filter(pk=made.pk).update(created_at=now - timedelta(days=9))
    return Cache.objects.get()


def read(cache: Cache, now: datetime) -> Past:
    return past.read(cache, list(cache.nodes.values_list("pk", flat=True)), now)


def count(node: Node, at: datetime, kind: str, minutes: int = 1, /, **by_name: Tally) -> None:
    """Store the same counts for each of so many minutes up to a time."""
    ends = (at - timedelta(minutes=minute) for minute in range(minutes))
    tallies.write([NodeTallies(node.pk, end, 60, kind, by_name) for end in ends])


def logged(node: Node, at: datetime, number: int = 1, **given: Any) -> SlowEntry:
    known: dict[str, Any] = {"log": "slow", "amount": 25_000, "command": "GET", "arguments": 1, "key_prefix": ""}
    return SlowEntry.objects.create(node=node, entry_id=number, started_at=at, **{**known, **given})


def polled(node: Node, now: datetime, minutes_ago: int, **hot: Any) -> None:
    row = reading(node, **hot)
    row.tick = int((now - timedelta(minutes=minutes_ago)).timestamp()) // 15 * 15
    samples.write([row])


def test_it_knows_nothing_of_a_cache_that_was_never_read(cache: Cache, now: datetime) -> None:
    assert read(cache, now) == Past(commands=[], trends={name: {} for name in past.TREND_METRICS})


def test_it_knows_the_commands_of_the_last_quarter_of_an_hour(cache: Cache, now: datetime) -> None:
    node = cache.nodes.get()
    count(node, now - timedelta(minutes=2), COMMAND, get=Tally(600, 6_000))
    count(node, now - timedelta(minutes=20), COMMAND, keys=Tally(600, 6_000))

    assert [(row.name, row.calls_per_second) for row in read(cache, now).commands] == [("get", 10.0)]


def test_it_knows_whose_append_only_file_fails(cache: Cache, now: datetime) -> None:
    node = cache.nodes.get()
    row = reading(node)
    row.tick, row.detail = int(now.timestamp()), {"aof_enabled": 1, "aof_last_write_status": 0}
    samples.write([row])

    known = read(cache, now)

    assert (known.append_failed, known.rewrite_failed) == ({node.pk}, set())


def test_it_compares_errors_with_the_day_before(cache: Cache, now: datetime) -> None:
    node = cache.nodes.get()
    count(node, now - timedelta(hours=2), ERROR, 60, OOM=Tally(6), MOVED=Tally(1))
    count(node, now - timedelta(minutes=2), ERROR, OOM=Tally(120), ERR=Tally(60))

    errors = read(cache, now).errors

    assert errors["OOM"].before == pytest.approx(0.1)
    assert errors == {"OOM": Change(2.0, errors["OOM"].before), "ERR": Change(1.0, 0.0)}


def test_it_does_not_take_an_unmeasured_day_for_one_without_errors(cache: Cache, now: datetime) -> None:
    node = cache.nodes.get()
    count(node, now - timedelta(minutes=20), ERROR, 50, OOM=Tally(6))
    count(node, now - timedelta(minutes=2), ERROR, OOM=Tally(120))

    assert read(cache, now).errors == {"OOM": Change(2.0, None)}


def test_it_counts_slow_entries_and_those_that_were_lost(cache: Cache, now: datetime) -> None:
    node = cache.nodes.get()
    logged(node, now - timedelta(minutes=1), 1, missed=11)
    logged(node, now - timedelta(minutes=11), 2)
    logged(node, now - timedelta(minutes=1), 3, log="large-reply")
    logged(node, now - timedelta(hours=25), 4)

    slow = read(cache, now).slow

    assert slow is not None
    assert slow.lately * 600 == pytest.approx(12)
    assert (slow.before or 0) * 85_800 == pytest.approx(1)


def test_it_does_not_know_what_is_usual_in_a_new_cache(cache: Cache, now: datetime) -> None:
    Cache.objects.update(created_at=now - timedelta(minutes=30))
    logged(cache.nodes.get(), now - timedelta(minutes=1))

    assert read(Cache.objects.get(), now).slow == Change(1 / 600, None)


def test_it_has_no_slow_growth_where_nothing_was_slow(cache: Cache, now: datetime) -> None:
    logged(cache.nodes.get(), now - timedelta(hours=5))

    assert read(cache, now).slow is None


def test_it_follows_connections_by_quarters_of_an_hour(cache: Cache, now: datetime) -> None:
    node = cache.nodes.get()
    for minutes, clients in ((95, 100), (65, 200), (35, 300)):
        polled(node, now, minutes, connected_clients=clients)

    trend = read(cache, now).trend("connected_clients", node.pk)

    assert [value for value in trend if value is not None] == [100, 200, 300]
    assert read(cache, now).trend("connected_clients", node.pk + 1) == ()


def test_it_counts_full_copies_of_the_last_hour(cache: Cache, now: datetime) -> None:
    node = cache.nodes.get()
    for minutes, copies in ((12, 4), (11, 4), (10, 6), (9, 6)):
        polled(node, now, minutes, sync_full=copies, uptime_in_seconds=90_000)

    assert read(cache, now).full_resyncs == {node.pk: pytest.approx(2)}


def test_it_adds_up_connections_by_user_over_nodes(now: datetime) -> None:
    cache = cache_with_nodes(2)
    for number, node in enumerate(cache.nodes.all()):
        for minutes, connections in ((50, 999), (5, 10 + number)):
            groups = {"user": [["default", connections, 0, 0, 0, 0], [None, 3, 0, 0, 0, 0]]}
            ClientReading.objects.create(node=node, read_at=now - timedelta(minutes=minutes), groups=groups)

    assert read(cache, now).connections_by_user == {"default": 21}


@pytest.mark.parametrize(("minutes", "failure"), [(61, ""), (5, "refused")])
def test_it_counts_no_client_list_that_is_old_or_failed(
    cache: Cache, now: datetime, minutes: int, failure: str
) -> None:
    groups = {"user": [["default", 9, 0, 0, 0, 0]]}
    read_at = now - timedelta(minutes=minutes)
    ClientReading.objects.create(node=cache.nodes.get(), read_at=read_at, groups=groups, failed_cause=failure)

    assert read(cache, now).connections_by_user == {}


def test_it_reads_once_a_minute_whoever_asks(cache: Cache, now: datetime) -> None:
    ids = [cache.nodes.get().pk]
    first = past.of(cache, ids, now)
    logged(cache.nodes.get(), now - timedelta(minutes=1))

    assert past.of(cache, ids, now) == first

    memory.delete(f"past-{cache.pk}")
    assert past.of(cache, ids, now).slow is not None


@pytest.mark.parametrize(("shards", "replicas"), [(1, 0), (12, 2)])
def test_it_asks_no_more_often_for_more_nodes(
    now: datetime, shards: int, replicas: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    cache = cache_with_nodes(shards, replicas)

    with django_assert_max_num_queries(QUERIES):
        read(cache, now)


@pytest.mark.parametrize(
    ("change", "is_up"),
    [
        (Change(1.0, 0.0), True),
        (Change(1.0, 0.3), True),
        (Change(1.0, 0.34), False),
        (Change(0.09, 0.0), False),
        (Change(1.0, None), False),
    ],
)
def test_it_calls_up_what_is_often_and_much_more_than_before(change: Change, is_up: bool) -> None:
    assert change.is_up(0.1, 3.0) == is_up
