"""Findings about events of the last minutes."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from collectors.event import Event, Kind
from collectors.tests.cast import cache_with_nodes
from dashboard.findings import State, happened, reach
from dashboard.tests.cast import NOW, failing, member, watched
from dashboard.watched import Watched, recent_events


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def failover(seconds: float, **given: Any) -> Event:
    data = {"shard": 3, "from": {"id": 1, "address": "a:1"}, "to": {"id": 2, "address": "a:2"}}
    return Event(pk=7, kind=Kind.FAILOVER, at=ago(seconds), data=data, **given)


def outage(seconds: float, back_seconds: float, stale: bool = True) -> Event:
    node = {"id": 1, "address": "a:1", "since": ago(seconds).timestamp(), "until": ago(back_seconds).timestamp()}
    data = {"nodes": [{**node, "stale_possible": stale}], "stale_possible": stale}
    return Event(pk=8, kind=Kind.UNREACHABLE, at=ago(seconds), until=ago(back_seconds), data=data)


def after(*events: Event) -> Watched:
    return replace(watched(member(1)), recent=events)


def test_it_says_which_replica_took_over() -> None:
    found = happened.failed_over(after(failover(125)))

    assert found
    assert found.sentence == "game-cache shard 3: replica a:2 took over from a:1, 2 min ago"
    assert (found.state, found.url) == (State.WARNING, "/events/7/")


def test_it_says_who_may_be_stale() -> None:
    found = happened.stale_possible(after(outage(100, 40)))

    assert found
    assert found.sentence == "game-cache a:1 was cut off for 1 min, not restarted: it may serve stale data"


@pytest.mark.parametrize("events", [(), (outage(100, 40, stale=False),), (outage(9_000, 8_000),)])
def test_it_stays_silent_where_nothing_is_stale(events: tuple[Event, ...]) -> None:
    assert happened.stale_possible(after(*events)) is None
    assert happened.failed_over(after(*events)) is None


@pytest.mark.django_db
def test_it_reads_only_what_happened_lately() -> None:
    cache = cache_with_nodes()
    for seconds in (60, 6_000):
        event = failover(seconds, cache=cache)
        event.pk = None
        event.save()

    (found,) = recent_events([cache.pk], NOW)[cache.pk]

    assert found.at == ago(60)
    assert recent_events([cache.pk + 1], NOW) == {}


def test_a_silent_primary_is_none_any_more_once_a_replica_took_over() -> None:
    old = failing(member(1, role=""), ago(120))
    old.node.shard_id = 1
    new = member(1)
    new.node.port, new.node.shard_id = 7002, 1

    failed = failover(110)
    failed.data["from"]["id"] = old.node.pk
    seen = replace(watched(old, new), recent=(failed,))

    found = reach.unreachable(seen)

    assert found
    assert found.sentence == (
        "game-cache shard 1 former primary (10.0.0.1:6379) has not answered for 2 min; replica 10.0.0.1:7002 took over"
    )
    assert (found.state, found.url) == (State.WARNING, "/events/7/")
    assert happened.failed_over(seen) is None
    assert watched(old, new).shards == 1


def test_a_former_primary_is_no_replica() -> None:
    lonely, gone = member(1), failing(member(1, role=""), ago(120))
    pair = (member(2), member(2, role="replica"))

    found = reach.shard_without_replica(watched(lonely, gone, *pair))

    assert found
    assert found.sentence == "game-cache shard 1 has no replica, unlike its siblings"
