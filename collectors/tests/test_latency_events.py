"""Keeping latency events and the loads of slots."""

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from collectors import latency_events, retention, slot_readings
from collectors.latency_events import EVENTS_A_DAY, NodeSpikes
from collectors.models import LatencyEvent, SlotReading
from collectors.slot_readings import NodeSlots, between, per_second
from collectors.source import SlotLoad, Spike
from collectors.tests.cast import cache_with_nodes
from fleet.models import Node

pytestmark = pytest.mark.django_db
NOW = timezone.now().replace(microsecond=0)


@pytest.fixture
def node() -> Node:
    return cache_with_nodes().nodes.get()


def spike(seconds_ago: int = 60, milliseconds: int = 30, event: str = "command") -> Spike:
    return Spike(event, int(NOW.timestamp()) - seconds_ago, milliseconds)


def kept() -> list[int]:
    return list(LatencyEvent.objects.order_by("-at").values_list("milliseconds", flat=True))


def test_a_moment_is_kept_once_with_its_newest_value(node: Node) -> None:
    for milliseconds in (30, 80):
        latency_events.write([NodeSpikes(node.pk, [spike(milliseconds=milliseconds), spike(90, 7)])])

    assert kept() == [80, 7]


def test_a_moment_that_is_named_twice_takes_its_longest(node: Node) -> None:
    latency_events.write([NodeSpikes(node.pk, [spike(milliseconds=30), spike(milliseconds=80)])])

    assert kept() == [80]


@pytest.mark.parametrize("seconds_ago", [31 * 86_400, -2 * 86_400])
def test_moments_out_of_bounds_are_left_out(node: Node, seconds_ago: int) -> None:
    latency_events.write([NodeSpikes(node.pk, [spike(seconds_ago)])])

    assert kept() == []


def test_a_flood_keeps_the_longest(node: Node) -> None:
    flood = [spike(number, number % 5_000) for number in range(EVENTS_A_DAY + 500)]

    latency_events.write([NodeSpikes(node.pk, flood)])
    latency_events.write([NodeSpikes(node.pk, [spike(5_000, 9_999)])])

    assert len(kept()) == EVENTS_A_DAY
    assert min(kept()) == 500


def test_a_node_that_was_removed_meanwhile_is_left_out(node: Node) -> None:
    latency_events.write([NodeSpikes(node.pk + 1, [spike()]), NodeSpikes(node.pk, [spike()])])
    slot_readings.write([NodeSlots(node.pk + 1, [SlotLoad(1, 1)]), NodeSlots(node.pk, [SlotLoad(1, 1)])])

    assert kept() == [30]
    assert SlotReading.objects.get().node == node


def test_groups_tell_the_longest_first(node: Node) -> None:
    spikes = [spike(60, 30), spike(50, 10), spike(40, 200, "fork"), spike(7_200, 900)]
    latency_events.write([NodeSpikes(node.pk, spikes)])

    groups = latency_events.groups([node.pk], NOW - timedelta(hours=1), NOW)

    assert [(group.event, group.count, group.longest, group.total) for group in groups] == [
        ("fork", 1, 200, 200),
        ("command", 2, 30, 40),
    ]
    assert groups[1].last_at == NOW - timedelta(seconds=50)


def test_what_is_old_is_forgotten(node: Node, settings: Settings) -> None:
    settings.RETENTION_LATENCY_DAYS = settings.RETENTION_SLOTS_DAYS = 2
    for days in (1, 3):
        at = NOW - timedelta(days=days)
        LatencyEvent.objects.create(node=node, event="fork", at=at, milliseconds=days)
        SlotReading.objects.create(node=node, read_at=at, slots=[[days, 1, None, None, None]])

    retention.keep_partitions(NOW)

    assert kept() == [1]
    assert SlotReading.objects.get().slots[0][0] == 1


def look(node: Node, minutes: float, *rows: list[int | None]) -> SlotReading:
    return SlotReading.objects.create(node=node, read_at=NOW - timedelta(minutes=minutes), slots=list(rows))


def test_what_a_slot_took_is_the_difference_of_two_looks(node: Node) -> None:
    look(node, 90, [7, 10, 1, 1, 1])
    look(node, 50, [7, 10, 1_000_000, 600, 6_000])
    look(node, 0, [7, 12, 61_000_000, 1_200, 606_000], [8, 3, 5, 5, 5])

    first, second = slot_readings.hot_slots([node.pk], NOW)

    assert (first.slot, first.keys, first.seconds) == (7, 12, 3_000)
    assert first.time_share == pytest.approx(0.02)
    assert (first.bytes_in_per_second, first.bytes_out_per_second) == (0.2, 200)
    assert (second.keys, second.time_share) == (3, None)


def test_one_look_alone_has_no_rates(node: Node) -> None:
    later = look(node, 0, [7, 12, 60, 1_200, 606_000])

    (slot,) = between(None, later)
    (same,) = slot_readings.hot_slots([node.pk], NOW)

    assert (slot.keys, slot.time_share) == (same.keys, same.time_share) == (12, None)


def test_a_look_of_long_ago_tells_nothing_of_now(node: Node) -> None:
    look(node, 200, [7, 12, 60, 1_200, 606_000])

    assert slot_readings.hot_slots([node.pk], NOW) == []


@pytest.mark.parametrize(
    ("now", "before", "seconds", "rate"),
    [(30, 10, 10, 2), (5, 10, 10, 0.5), (None, 10, 10, None), (5, None, 10, None), (5, 1, 0, None), (0, 0, 10, 0)],
)
def test_a_counter_that_fell_began_anew(
    now: int | None, before: int | None, seconds: float, rate: float | None
) -> None:
    assert per_second(now, before, seconds) == rate
