"""How happenings become events: folded, ended, told as part of another, forgotten."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from collectors import events, scaling
from collectors.event import Event, Kind
from collectors.event_detection import CacheState, Happening, NodeState
from collectors.events import Journal
from collectors.tests.cast import cache_with_nodes
from fleet.models import Cache

pytestmark = pytest.mark.django_db
NOW = timezone.now()


def journal(cache: Cache, seconds: float = 0, *nodes: NodeState) -> Journal:
    now = NOW + timedelta(seconds=seconds)
    return Journal(cache, CacheState(now.timestamp(), {node.id: node for node in nodes}), now)


def entry(cache: Cache, index: int = 0, **more: Any) -> dict[str, Any]:
    node = cache.nodes.order_by("pk")[index]
    return {"id": node.pk, "address": node.address, "shard": 1, "role": node.role, **more}


def tell(cache: Cache, kind: Kind, seconds: float, *nodes: dict[str, Any], step: str = "", **data: Any) -> None:
    written = journal(cache, seconds)
    written.write([Happening(kind, written.now.timestamp(), nodes, data, step)])


def failover(cache: Cache, seconds: float) -> None:
    old, new = entry(cache, 0), entry(cache, 1)
    data: dict[str, Any] = {"shard": 1, "from": old, "to": new, "before": [old, new], "after": [new, old]}
    tell(cache, Kind.FAILOVER, seconds, new, **data, is_forced=True, old_answered_at=None)


def falls_silent(cache: Cache, seconds: float, *indexes: int, failures: int = 1) -> None:
    since = (NOW + timedelta(seconds=seconds)).timestamp()
    nodes = [entry(cache, index, since=since, failures=failures, reason="") for index in indexes]
    tell(cache, Kind.UNREACHABLE, seconds, *nodes, step="begin")


def answers(cache: Cache, seconds: float, *indexes: int, failures: int = 1, is_restarted: bool = True) -> None:
    known = {"until": seconds, "failures": failures, "is_restarted": is_restarted}
    tell(cache, Kind.UNREACHABLE, seconds, *(entry(cache, index, **known) for index in indexes), step="end")


def test_the_same_change_on_more_nodes_is_one_event() -> None:
    cache = cache_with_nodes(1, 1)

    for index in (0, 1):
        tell(cache, Kind.CONFIG, index * 60, entry(cache, index), changes={"maxmemory": [1, 2]})
    tell(cache, Kind.CONFIG, 70, entry(cache), changes={"maxmemory": [2, 3]})

    second, first = Event.objects.all()
    assert (first.count, len(first.nodes), first.node) == (2, 2, None)
    assert (second.count, second.node_id) == (1, entry(cache)["id"])


def test_what_happens_again_much_later_is_another_event() -> None:
    cache = cache_with_nodes()

    tell(cache, Kind.RESTART, 0, entry(cache, started_at=0))
    tell(cache, Kind.RESTART, events.FOLD_SECONDS + 1, entry(cache, started_at=0))

    assert [event.count for event in Event.objects.all()] == [1, 1]


def test_a_flood_of_failovers_is_folded_after_some_stories() -> None:
    cache = cache_with_nodes(1, 1)

    for second in range(20):
        failover(cache, second)

    counts = list(Event.objects.filter(kind=Kind.FAILOVER).values_list("count", flat=True))
    assert counts == [18, 1, 1]


def test_nodes_that_fall_silent_together_share_an_event() -> None:
    cache = cache_with_nodes(1, 2)

    falls_silent(cache, 0, 0)
    falls_silent(cache, 15, 1, 2)
    answers(cache, 30, 0, 1)

    event = Event.objects.get()
    assert (event.count, len(event.nodes), event.goes_on) == (1, 3, True)
    answers(cache, 45, 2)
    event.refresh_from_db()
    assert event.until == NOW + timedelta(seconds=45)


def test_a_node_that_flaps_every_second_makes_one_event() -> None:
    cache = cache_with_nodes()

    for second in range(0, 240, 2):
        falls_silent(cache, second, 0)
        answers(cache, second + 1, 0)

    event = Event.objects.get()
    assert (event.count, event.nodes[0]["times"], event.at) == (120, 120, NOW)
    assert event.until == NOW + timedelta(seconds=239)


def test_a_node_that_falls_silent_later_has_an_event_of_its_own() -> None:
    cache = cache_with_nodes(1, 1)

    falls_silent(cache, 0, 0)
    falls_silent(cache, 3_000, 1)
    answers(cache, 3_010, 1)

    assert [event.goes_on for event in Event.objects.order_by("at")] == [True, False]


@pytest.mark.parametrize(
    ("polls", "is_restarted", "stale"), [(1, False, False), (2, False, True), (2, True, False), (5, None, False)]
)
def test_only_a_node_cut_off_for_long_may_be_stale(polls: int, is_restarted: bool, stale: bool) -> None:
    cache = cache_with_nodes()

    falls_silent(cache, 0, 0, failures=100)
    answers(cache, 60, 0, failures=99 + polls, is_restarted=is_restarted)

    assert Event.objects.get().data["stale_possible"] is stale


def test_the_silence_of_an_old_primary_is_part_of_its_failover() -> None:
    cache = cache_with_nodes(1, 1)

    falls_silent(cache, 0, 0)
    failover(cache, 15)
    answers(cache, 3_000, 0)
    tell(cache, Kind.RESTART, 3_000, entry(cache, 0, started_at=NOW.timestamp() + 2_990))

    (story,) = Event.objects.on_top()
    assert story.kind == Kind.FAILOVER
    assert set(story.parts.values_list("kind", flat=True)) == {Kind.UNREACHABLE, Kind.RESTART}


def test_the_silence_after_a_failover_is_part_of_it_too() -> None:
    cache = cache_with_nodes(1, 1)

    failover(cache, 0)
    falls_silent(cache, 15, 0)

    assert Event.objects.on_top().count() == 1


def test_evictions_in_bursts_are_one_event() -> None:
    cache = cache_with_nodes(1, 1)

    tell(cache, Kind.EVICTION, 0, entry(cache), step="begin")
    tell(cache, Kind.EVICTION, 15, entry(cache), entry(cache, 1), step="begin")
    tell(cache, Kind.EVICTION, 30, step="end")
    tell(cache, Kind.EVICTION, 60, entry(cache), step="begin")

    event = Event.objects.get()
    assert (event.count, len(event.nodes), event.goes_on) == (2, 2, True)


@pytest.mark.parametrize(("told_after", "lasted"), [(400, 100), (310, 10), (30, 0)])
def test_evictions_ended_with_the_last_one_not_with_the_quiet_after_it(told_after: int, lasted: int) -> None:
    cache = cache_with_nodes()

    tell(cache, Kind.EVICTION, 0, entry(cache), step="begin")
    tell(cache, Kind.EVICTION, told_after, step="end")

    event = Event.objects.get()
    assert event.until == event.at + timedelta(seconds=lasted)


def test_an_eviction_that_ends_unseen_is_no_event() -> None:
    tell(cache_with_nodes(), Kind.EVICTION, 0, step="end")

    assert not Event.objects.exists()


def primary(number: int, connections: int | None, shard: int | None = None) -> NodeState:
    return NodeState(number, f"a:{number}", shard or number, "primary", 1.0, connections=connections)


def scaled(cache: Cache) -> Event:
    tell(cache, Kind.JOINED, 0, entry(cache), nodes_before=3, shards_before=3)
    tell(cache, Kind.SLOTS, 10, slots=100, ways={"1 4": 100}, nodes_before=3, shards_before=3)
    tell(cache, Kind.SLOTS, 20, slots=50, ways={"1 4": 20, "2 4": 30}, nodes_before=3, shards_before=3)
    return Event.objects.get(kind=Kind.SCALING)


def test_the_steps_of_a_scaling_are_its_parts() -> None:
    event = scaled(cache_with_nodes(3))

    assert (event.data["joined"], event.data["slots"], event.data["nodes_before"]) == (1, 150, 3)
    slots = event.parts.get(kind=Kind.SLOTS)
    assert (slots.count, slots.data["ways"]) == (2, {"1 4": 120, "2 4": 30})


def test_a_scaling_ends_with_its_last_step_and_waits_for_even_connections(settings: Settings) -> None:
    cache = cache_with_nodes(3)
    event = scaled(cache)
    uneven = [primary(1, 300), primary(2, 300), primary(3, 100)]

    quiet = scaling.quiet_seconds() + 21
    assert journal(cache, quiet, *uneven).follow_scaling()
    event.refresh_from_db()
    assert event.until == NOW + timedelta(seconds=20)
    assert "even_at" not in event.data
    assert not journal(cache, quiet + 60, *(primary(n, 230 + n) for n in range(3))).follow_scaling()

    event.refresh_from_db()
    assert event.data["even_at"] == pytest.approx((NOW + timedelta(seconds=quiet + 60)).timestamp())


def test_a_scaling_goes_on_while_a_node_has_no_place() -> None:
    cache = cache_with_nodes(3)
    scaled(cache)
    waiting = NodeState(9, "a:9", None, "primary", 1.0)

    journal(cache, scaling.quiet_seconds() + 21, primary(1, 5), waiting).follow_scaling()
    assert Event.objects.get(kind=Kind.SCALING).goes_on

    journal(cache, scaling.SPARE_SECONDS + 21, primary(1, 5), waiting).follow_scaling()
    assert not Event.objects.get(kind=Kind.SCALING).goes_on


@pytest.mark.parametrize(
    ("counts", "even"),
    [
        ([], True),
        ([5], True),
        ([0, 0], True),
        ([100, 100], True),
        ([100, 130], False),
        ([1, 9], True),
        ([900, 1000], True),
    ],
)
def test_it_knows_when_connections_are_even(counts: list[int], even: bool) -> None:
    assert scaling.is_even(counts) is even


def test_it_forgets_what_ended_long_ago(settings: Settings) -> None:
    settings.RETENTION_EVENTS_DAYS = 30
    cache = cache_with_nodes()
    old = NOW - timedelta(days=40)
    Event.objects.create(cache=cache, kind=Kind.RESTART, at=old)
    Event.objects.create(cache=cache, kind=Kind.UNREACHABLE, at=old, until=NOW)
    Event.objects.create(cache=cache, kind=Kind.RESTART, at=NOW)

    events.forget_old(NOW)

    assert sorted(Event.objects.values_list("kind", flat=True)) == [Kind.RESTART, Kind.UNREACHABLE]
