"""Choosing nodes, starting and steering scans, schedules, budgets, and what is forgotten."""

from datetime import UTC, date, datetime, time, timedelta

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from collectors import retention, samples, tasks
from collectors.keyscan import budget, holding, results, runner, schedules, starting
from collectors.keyscan.choosing import choose
from collectors.keyscan.models import OPEN, Scan, ScanSchedule, ScanShard, ScanState
from collectors.keyscan.options import ScanOptions
from collectors.keyscan.reasons import SENTENCES, Reason, ScanRefusedError, words
from collectors.models import NodeStatus
from collectors.tests.cast import cache_with_nodes, reading
from fleet.models import Cache, Node, Shard

pytestmark = pytest.mark.django_db
ANY_NODE = ScanOptions(may_use_primary=True)
# A Wednesday.
NIGHT = datetime(2026, 3, 4, 2, 30, tzinfo=UTC)


@pytest.fixture
def cache() -> Cache:
    cache = cache_with_nodes(2, replicas=1)
    samples.write(
        [reading(node, keys=1_000, master_link_up=True, replication_lag_bytes=0) for node in cache.nodes.all()]
    )
    return cache


def replica_of(cache: Cache, number: int) -> Node:
    return cache.nodes.get(shard__number=number, role=Node.Role.REPLICA)


def scan_of(cache: Cache, state: str = ScanState.RUNNING) -> Scan:
    return Scan.objects.create(cache=cache, state=state, options=ANY_NODE.to_json())


def test_it_reads_from_a_replica_of_every_shard(cache: Cache) -> None:
    chosen = choose(cache, ScanOptions())

    assert [(choice.number, choice.is_replica, choice.keys) for choice in chosen] == [
        (1, True, 1_000),
        (2, True, 1_000),
    ]


@pytest.mark.parametrize("bad", [{"master_link_up": False}, {"replication_lag_bytes": 10**9}])
def test_it_takes_no_replica_that_is_behind(cache: Cache, bad: dict[str, int]) -> None:
    samples.write([reading(replica_of(cache, 2), 15, **{"keys": 5, "master_link_up": True, **bad})])

    with pytest.raises(ScanRefusedError) as refused:
        choose(cache, ScanOptions())
    chosen = choose(cache, ANY_NODE)

    assert refused.value.cause == Reason.REPLICA_LAGS
    assert "The replicas of shard 2 are too far behind" in str(refused.value)
    assert [choice.is_replica for choice in chosen] == [True, False]


def test_it_takes_the_replica_that_is_closest(cache: Cache) -> None:
    shard = Shard.objects.get(cache=cache, number=1)
    near = Node.objects.create(cache=cache, shard=shard, identity="x", host="h", port=1, role=Node.Role.REPLICA)
    samples.write(
        [
            reading(replica, 15, master_link_up=True, replication_lag_bytes=lag)
            for replica, lag in (
                (cache.nodes.filter(shard=shard, role="replica").exclude(pk=near.pk).get(), 500),
                (near, 3),
            )
        ]
    )

    assert choose(cache, ScanOptions())[0].node == near


def test_it_refuses_shards_without_a_replica_unless_primaries_are_allowed() -> None:
    cache = cache_with_nodes(1)

    with pytest.raises(ScanRefusedError, match="Shard 1 has no replica in good order"):
        choose(cache, ScanOptions())

    assert choose(cache, ANY_NODE)[0].node.role == Node.Role.PRIMARY


def test_it_refuses_a_shard_of_which_no_node_answers(cache: Cache) -> None:
    for node in cache.nodes.filter(shard__number=2):
        NodeStatus.objects.create(node=node, failing_since=timezone.now())

    with pytest.raises(ScanRefusedError, match="No node of shard 2 answers"):
        choose(cache, ANY_NODE)

    assert [choice.number for choice in choose(cache, ScanOptions(shards=(1,)))] == [1]


def test_it_refuses_shards_and_caches_that_it_does_not_know(cache: Cache) -> None:
    with pytest.raises(ScanRefusedError, match="has no shard 9"):
        choose(cache, ScanOptions(shards=(9,)))
    with pytest.raises(ScanRefusedError, match="has no nodes yet"):
        choose(cache_with_nodes(0, name="new"), ANY_NODE)


def test_it_refuses_a_paused_cache(cache: Cache) -> None:
    cache.is_paused = True

    with pytest.raises(ScanRefusedError, match="The cache is paused"):
        starting.start(cache, ScanOptions(), "gentle")


def test_it_lets_only_one_scan_at_a_node(cache: Cache) -> None:
    first = starting.start(cache, ScanOptions(shards=(1,)), "gentle")

    with pytest.raises(ScanRefusedError, match=f"is being scanned already, by scan {first.pk}"):
        starting.start(cache, ScanOptions(), "gentle")
    second = starting.start(cache, ScanOptions(shards=(2,)), "gentle")

    assert second.shards.get().number == 2


def test_it_frees_the_nodes_of_a_scan_that_is_cancelled_before_it_began(cache: Cache) -> None:
    scan = starting.start(cache, ScanOptions(), "gentle", "ada")

    starting.cancel(scan, "bob")

    scan.refresh_from_db()
    assert (scan.state, bool(scan.finished_at)) == (ScanState.STOPPED, True)
    assert [(change.state, change.author) for change in scan.changes.all()] == [("queued", "ada"), ("stopped", "bob")]
    assert starting.start(cache, ScanOptions(), "gentle").pk != scan.pk


@pytest.mark.parametrize(
    ("before", "act", "after"),
    [
        (ScanState.RUNNING, starting.pause, ScanState.PAUSED),
        (ScanState.PAUSED, starting.resume, ScanState.RUNNING),
        (ScanState.RUNNING, starting.cancel, ScanState.STOPPING),
        (ScanState.PAUSED, starting.cancel, ScanState.STOPPING),
    ],
)
def test_it_moves_a_scan_on(cache: Cache, before: str, act: object, after: str) -> None:
    scan = scan_of(cache, before)

    act(scan, "ada")  # type: ignore[operator]

    scan.refresh_from_db()
    change = scan.changes.last()
    assert change is not None
    assert (scan.state, change.state, change.author, change.cause) == (after, after, "ada", Reason.ASKED)


@pytest.mark.parametrize("act", [starting.pause, starting.resume, starting.cancel])
def test_it_does_not_move_what_is_over(cache: Cache, act: object) -> None:
    scan = scan_of(cache, ScanState.DONE)

    with pytest.raises(ScanRefusedError, match="The scan is done"):
        act(scan)  # type: ignore[operator]

    assert not scan.changes.exists()


def test_it_does_not_brake_what_is_over(cache: Cache) -> None:
    with pytest.raises(ScanRefusedError):
        starting.set_brake(scan_of(cache, ScanState.FAILED), "fast")


def test_a_lease_is_held_by_one_worker_until_it_runs_out(cache: Cache) -> None:
    scan = scan_of(cache, ScanState.QUEUED)

    first = holding.claim(scan.pk, "one")
    assert first is not None
    assert holding.claim(scan.pk, "two") is None
    assert starting.waiting() == []
    Scan.objects.filter(pk=scan.pk).update(lease_until=timezone.now())
    second = holding.claim(scan.pk, "one")

    assert second is not None
    assert (holding.renew(first), holding.renew(second)) == (False, True)
    assert (second.attempts, second.started_at) == (2, first.started_at)


def test_a_released_scan_is_free_at_once(cache: Cache) -> None:
    scan = holding.claim(scan_of(cache, ScanState.QUEUED).pk, "one")
    assert scan is not None

    holding.release(scan)

    assert starting.waiting() == [scan.pk]


@pytest.mark.parametrize("state", [state for state in ScanState if state not in OPEN or state == ScanState.PAUSED])
def test_nobody_takes_up_what_is_over_or_paused(cache: Cache, state: str) -> None:
    scan = scan_of(cache, state)

    assert starting.waiting() == []
    assert holding.claim(scan.pk, "one") is None


def schedule_of(cache: Cache, begins: time = time(2), ends: time = time(4), **given: object) -> ScanSchedule:
    options = {"weekdays": list(range(7)), "options": ScanOptions().to_json(), **given}
    return ScanSchedule.objects.create(cache=cache, begins=begins, ends=ends, **options)


@pytest.mark.parametrize(
    ("begins", "ends", "weekdays", "zone", "day"),
    [
        (time(2), time(4), [2], "UTC", date(2026, 3, 4)),
        (time(2), time(4), [3], "UTC", None),
        (time(3), time(4), [2], "UTC", None),
        (time(2), time(2, 30), [2], "UTC", None),
        (time(2, 30), time(3), [2], "UTC", date(2026, 3, 4)),
        (time(23), time(5), [1], "UTC", date(2026, 3, 3)),
        (time(23), time(5), [2], "UTC", None),
        (time(11), time(12), [2], "Asia/Tokyo", date(2026, 3, 4)),
        (time(21), time(22), [1], "America/New_York", date(2026, 3, 3)),
    ],
)
def test_a_window_is_open_by_its_own_clock(
    cache: Cache, begins: time, ends: time, weekdays: list[int], zone: str, day: date | None
) -> None:
    schedule = schedule_of(cache, begins, ends, weekdays=weekdays, zone=zone)

    assert schedules.window_day(schedule, NIGHT) == day


def test_it_begins_a_scheduled_scan_once_a_night(cache: Cache) -> None:
    schedule_of(cache, brake="brisk", author="ada")

    (pk,) = schedules.begin_due(NIGHT)

    scan = Scan.objects.get(pk=pk)
    assert (scan.brake, scan.author, scan.changes.get().cause) == ("brisk", "ada", Reason.SCHEDULED)
    starting.cancel(scan)
    assert schedules.begin_due(NIGHT + timedelta(minutes=5)) == []
    assert len(schedules.begin_due(NIGHT + timedelta(days=1))) == 1


def test_it_begins_nothing_outside_of_the_window_or_when_it_is_off(cache: Cache) -> None:
    schedule = schedule_of(cache)

    assert schedules.begin_due(NIGHT + timedelta(hours=3)) == []
    ScanSchedule.objects.filter(pk=schedule.pk).update(is_active=False)
    assert schedules.begin_due(NIGHT) == []


def test_it_tries_again_while_the_window_is_open_and_says_why(cache: Cache) -> None:
    schedule = schedule_of(cache)
    earlier = starting.start(cache, ScanOptions(shards=(1,)), "gentle")

    assert schedules.begin_due(NIGHT) == []
    schedule.refresh_from_db()
    assert "is being scanned already" in words(schedule.refused_cause, schedule.refused_data)
    starting.cancel(earlier)

    assert len(schedules.begin_due(NIGHT)) == 1


def test_it_goes_on_in_the_next_window_where_the_last_one_ended(cache: Cache) -> None:
    schedule_of(cache)
    (pk,) = schedules.begin_due(NIGHT)
    scan = Scan.objects.get(pk=pk)
    assert schedules.is_window_over(scan, NIGHT + timedelta(hours=2))
    starting.pause(scan, cause=Reason.WINDOW_OVER)
    starting.note(scan, Reason.HANDED_OVER)

    assert schedules.begin_due(NIGHT + timedelta(hours=12)) == []
    assert schedules.begin_due(NIGHT + timedelta(days=1)) == [pk]

    scan.refresh_from_db()
    assert scan.state == ScanState.RUNNING


def test_it_does_not_wake_a_scan_that_a_person_paused(cache: Cache) -> None:
    schedule_of(cache)
    (pk,) = schedules.begin_due(NIGHT)
    starting.pause(Scan.objects.get(pk=pk), "ada")

    schedules.begin_due(NIGHT + timedelta(minutes=1))

    assert Scan.objects.get(pk=pk).state == ScanState.PAUSED


def test_the_budget_counts_scans_of_today(cache: Cache, settings: Settings) -> None:
    settings.SCAN_BUDGET_SECONDS = 60
    node = replica_of(cache, 1)
    for seconds, days in ((30.0, 0), (500.0, 2)):
        scan = scan_of(cache, ScanState.DONE)
        Scan.objects.filter(pk=scan.pk).update(created_at=timezone.now() - timedelta(days=days))
        ScanShard.objects.create(scan=scan, number=1, node=node, address="a", is_active=False, busy_seconds=seconds)
    now = starting.start(cache, ScanOptions(shards=(1,)), "gentle")
    shard = now.shards.get()

    assert budget.used_today([node.pk]) == {node.pk: 30.0}
    assert budget.spent(now, [shard]) is None
    shard.busy_seconds = 31.0
    spent = budget.spent(now, [shard])
    assert spent is not None
    assert (
        words(Reason.BUDGET_SPENT, spent.as_data())
        == f"the daily budget of {shard.address} is spent: 60 seconds of its time"
    )


@pytest.mark.parametrize("lifted", [{"limit": 0, "ignores": False}, {"limit": 60, "ignores": True}])
def test_the_budget_can_be_lifted(cache: Cache, settings: Settings, lifted: dict[str, int]) -> None:
    settings.SCAN_BUDGET_SECONDS = lifted["limit"]
    scan = starting.start(cache, ScanOptions(ignores_budget=bool(lifted["ignores"])), "gentle")
    shard = scan.shards.all()[0]
    shard.busy_seconds = 9_999.0

    assert budget.spent(scan, [shard]) is None


def test_it_forgets_old_scans_but_keeps_the_newest_results(cache: Cache, settings: Settings) -> None:
    settings.RETENTION_SCANS_DAYS = 10
    kept = [scan_of(cache, ScanState.DONE), scan_of(cache, ScanState.PAUSED)]
    gone = [scan_of(cache, ScanState.DONE), scan_of(cache, ScanState.FAILED)]
    Scan.objects.filter(state=ScanState.DONE).update(keys=5)
    Scan.objects.update(created_at=timezone.now() - timedelta(days=20))
    Scan.objects.filter(pk=kept[0].pk).update(created_at=timezone.now() - timedelta(days=15))

    assert results.forget_old(timezone.now()) == 2

    assert set(Scan.objects.all()) == set(kept)
    assert not Scan.objects.filter(pk__in=[scan.pk for scan in gone]).exists()


def test_retention_forgets_scans_too(cache: Cache, settings: Settings) -> None:
    settings.RETENTION_SCANS_DAYS = 1
    scan_of(cache, ScanState.FAILED)
    Scan.objects.update(created_at=timezone.now() - timedelta(days=5))

    retention.keep_partitions()

    assert not Scan.objects.exists()


def test_options_come_back_from_json_as_they_were() -> None:
    asked = ScanOptions("user:*", "hash", (1, 3), 500, ("type", "ttl"), may_use_primary=True)

    assert ScanOptions.of_json(asked.to_json()) == asked
    assert ScanOptions.of_json({"top": 5, "of a newer version": 1}) == ScanOptions(top=5)


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_has_its_words(reason: Reason) -> None:
    data = {
        "brake": "fast",
        "address": "a:1",
        "limit": 5,
        "count": 1,
        "shards": 2,
        "shard": 3,
        "scan": 4,
        "state": "done",
        "elements": 6,
        "why": "loading",
    }

    assert words(reason, data) == str(SENTENCES[reason]) % data
    assert words("of a newer version", {}) == "of a newer version"


def test_the_tasks_run_scans_and_take_up_waiting_ones(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    scan = scan_of(cache, ScanState.QUEUED)
    ran: list[int] = []
    sent: list[tuple[tuple[int, ...], str]] = []
    monkeypatch.setattr(runner, "run", ran.append)
    monkeypatch.setattr(tasks.run_scan, "apply_async", lambda given, **options: sent.append((given, options["queue"])))

    tasks.run_scan(scan.pk)
    tasks.take_up_scans()

    assert (ran, sent) == ([scan.pk], [((scan.pk,), "scan")])
