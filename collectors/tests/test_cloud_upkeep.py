"""Maintenance and states of instances as events, told once each, and when the next window is."""

from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest

from collectors.cloud import upkeep
from collectors.cloud.models import InstanceState
from collectors.cloud.service_facts import Schedule, ServiceFacts, Target, Window
from collectors.event import Event, Kind
from collectors.tests.cast import cache_with_nodes
from fleet.models import Cache, Shard

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
START = NOW + 7 * DAY


@pytest.fixture
def cache() -> Cache:
    return cache_with_nodes(3, 1)


def facts(state: InstanceState = InstanceState.UP, name: str = "ACTIVE", **given: Any) -> ServiceFacts:
    return ServiceFacts("valkey", "projects/p/locations/r/instances/i", "u", state, name, **given)


def planned_for(start: datetime | None, length: timedelta = HOUR) -> ServiceFacts:
    schedule = Schedule(start, start + length if start else None, None, None)
    return facts(schedule=schedule)


def updating(**given: Any) -> ServiceFacts:
    return facts(InstanceState.CHANGING, "UPDATING", **given)


def story() -> Event:
    return Event.objects.get(kind=Kind.MAINTENANCE, story=None)


def steps() -> list[str]:
    return [part.data["step"] for part in Event.objects.exclude(story=None).order_by("at", "pk")]


def test_a_schedule_is_an_event_at_its_own_time(cache: Cache) -> None:
    upkeep.note(cache, planned_for(START), NOW)

    assert (story().at, story().until) == (START, START + HOUR)
    assert (steps(), story().parts.get().at) == (["planned"], NOW)


def test_looking_again_tells_nothing_new(cache: Cache) -> None:
    for minutes in range(3):
        upkeep.note(cache, planned_for(START), NOW + timedelta(minutes=minutes))

    assert Event.objects.count() == 2


@pytest.mark.parametrize("schedule", [None, Schedule(None, None, None, None)])
def test_nothing_planned_is_no_event(cache: Cache, schedule: Schedule | None) -> None:
    upkeep.note(cache, facts(schedule=schedule), NOW)

    assert not Event.objects.exists()


def test_an_end_that_is_not_told_is_an_hour_later(cache: Cache) -> None:
    upkeep.note(cache, facts(schedule=Schedule(START, None, None, None)), NOW)

    assert story().until == START + HOUR


def test_a_schedule_that_moves_is_the_same_event(cache: Cache) -> None:
    upkeep.note(cache, planned_for(START), NOW)
    upkeep.note(cache, planned_for(START + DAY), NOW + HOUR)

    assert (story().at, story().until) == (START + DAY, START + DAY + HOUR)
    assert steps() == ["planned", "moved"]
    moved = Event.objects.get(data__step="moved")
    assert moved.data == {"step": "moved", "before": START.isoformat(), "start": (START + DAY).isoformat()}


def test_a_new_end_alone_is_taken_over_in_silence(cache: Cache) -> None:
    upkeep.note(cache, planned_for(START), NOW)
    upkeep.note(cache, planned_for(START, 2 * HOUR), NOW + HOUR)

    assert story().until == START + 2 * HOUR
    assert steps() == ["planned"]


def test_a_schedule_that_goes_before_its_time_was_cancelled(cache: Cache) -> None:
    upkeep.note(cache, planned_for(START), NOW)
    upkeep.note(cache, facts(), NOW + HOUR)

    assert (story().at, story().until) == (NOW + HOUR, NOW + HOUR)
    assert story().data == {"step": "cancelled", "start": START.isoformat()}
    assert steps() == ["planned", "cancelled"]


@pytest.mark.parametrize(
    ("gone_after", "ends_after"),
    [
        (timedelta(0), timedelta(0)),
        (timedelta(minutes=20), timedelta(minutes=20)),
        (2 * HOUR, 2 * HOUR),
        (2 * HOUR + timedelta(seconds=1), HOUR),
        (9 * DAY, HOUR),
    ],
)
def test_a_schedule_that_goes_in_its_time_is_over(cache: Cache, gone_after: timedelta, ends_after: timedelta) -> None:
    upkeep.note(cache, planned_for(START), NOW)
    upkeep.note(cache, facts(), START + gone_after)

    assert (story().at, story().until, story().data["step"]) == (START, START + ends_after, "over")
    assert steps() == ["planned"]


def test_what_is_planned_after_the_last_one_is_another_event(cache: Cache) -> None:
    upkeep.note(cache, planned_for(START), NOW)
    upkeep.note(cache, planned_for(START + 30 * DAY), START + HOUR)

    assert list(Event.objects.filter(story=None).values_list("at", flat=True)) == [START + 30 * DAY, START]
    assert steps() == ["planned", "planned"]


def test_after_a_cancelled_one_the_next_is_another_event(cache: Cache) -> None:
    for found, at in ((planned_for(START), NOW), (facts(), NOW + HOUR), (planned_for(START), NOW + DAY)):
        upkeep.note(cache, found, at)

    assert Event.objects.filter(story=None).count() == 2


def test_caches_do_not_share_their_schedules(cache: Cache) -> None:
    other = cache_with_nodes(name="other")
    upkeep.note(cache, planned_for(START), NOW)

    upkeep.note(other, facts(), NOW + HOUR)

    assert story().data["step"] == "planned"


def test_an_update_lasts_until_the_instance_is_back(cache: Cache) -> None:
    upkeep.note(cache, updating(shards=3, target=Target(5, None, "", "")), NOW)
    event = Event.objects.get()

    assert (event.kind, event.at, event.goes_on) == (Kind.SERVICE, NOW, True)
    assert (event.data["shards_before"], event.data["target"]) == (3, {"shards": 5})
    upkeep.note(cache, facts(shards=5), NOW + HOUR)
    event.refresh_from_db()
    assert event.until == NOW + HOUR


def test_an_update_tells_how_far_it_is_by_the_slots_that_we_see(cache: Cache) -> None:
    found = updating(shards=3, target=Target(5, None, "", ""))
    upkeep.note(cache, found, NOW)
    assert Event.objects.get().data["shards_now"] == 3

    Shard.objects.filter(number__lte=2).update(slots=[[0, 100]])
    upkeep.note(cache, found, NOW + HOUR)

    assert Event.objects.get().data["shards_now"] == 2


def test_going_to_no_replicas_is_told(cache: Cache) -> None:
    upkeep.note(cache, updating(replicas_per_shard=1, target=Target(None, 0, "", "")), NOW)

    assert Event.objects.get().data["target"] == {"replicas_per_shard": 0}


def test_a_state_that_follows_another_is_an_event_of_its_own(cache: Cache) -> None:
    upkeep.note(cache, facts(InstanceState.REPAIR, "REPAIRING"), NOW)
    upkeep.note(cache, facts(InstanceState.REPAIR, "FAILING_OVER"), NOW + HOUR)

    newer, older = Event.objects.filter(kind=Kind.SERVICE)
    assert (older.data["state_name"], older.until) == ("REPAIRING", NOW + HOUR)
    assert (newer.data["state_name"], newer.until) == ("FAILING_OVER", None)


@pytest.mark.parametrize(("state", "name"), [(InstanceState.UP, "READY"), (InstanceState.UNKNOWN, "77")])
def test_a_quiet_or_an_unknown_state_is_no_event(cache: Cache, state: InstanceState, name: str) -> None:
    upkeep.note(cache, facts(state, name), NOW)

    assert not Event.objects.exists()


def test_an_unknown_state_ends_nothing_but_a_deletion_does(cache: Cache) -> None:
    upkeep.note(cache, updating(), NOW)
    upkeep.note(cache, facts(InstanceState.UNKNOWN, "77"), NOW + HOUR)
    assert Event.objects.get().until is None

    upkeep.note(cache, facts(InstanceState.GONE, "DELETING"), NOW + 2 * HOUR)

    assert Event.objects.get().until == NOW + 2 * HOUR


def test_the_same_look_twice_writes_one_event(cache: Cache) -> None:
    for _ in range(2):
        upkeep.note(cache, updating(shards=3), NOW)

    assert Event.objects.count() == 1


# NOW is a Wednesday, day 2, at noon.
@pytest.mark.parametrize(
    ("day", "begins", "hours", "expected"),
    [
        (2, time(13), 1, (NOW + HOUR, NOW + 2 * HOUR)),
        (2, time(12), 1, (NOW, NOW + HOUR)),
        (2, time(11, 30), 1, (NOW - HOUR / 2, NOW + HOUR / 2)),
        (2, time(11), 1, (NOW - HOUR + 7 * DAY, NOW + 7 * DAY)),
        (3, time(0), 1, (NOW + 12 * HOUR, NOW + 13 * HOUR)),
        (1, time(0), 1, (NOW + 6 * DAY - 12 * HOUR, NOW + 6 * DAY - 11 * HOUR)),
        (1, time(23), 14, (NOW - 13 * HOUR, NOW + HOUR)),
        (1, time(23), 13, (NOW - 13 * HOUR + 7 * DAY, NOW + 7 * DAY)),
    ],
)
def test_the_next_window_is_the_one_that_is_open_or_comes_first(
    day: int, begins: time, hours: int, expected: tuple[datetime, datetime]
) -> None:
    assert upkeep.next_window([Window(day, begins, hours * 3600)], NOW) == expected


def test_of_several_windows_the_nearest_counts() -> None:
    windows = [Window(0, time(1), 3600), Window(3, time(1), 3600)]

    found = upkeep.next_window(windows, NOW)

    assert found is not None
    assert found[0] == datetime(2026, 11, 19, 1, tzinfo=UTC)
    assert upkeep.next_window([], NOW) is None
