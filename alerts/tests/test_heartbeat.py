"""The dead man's switch: it pings only while everything works, and tells who looks when it does not."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django.fixtures import Settings

from alerts import heartbeat, pulse, readiness, self_tests, tasks
from alerts.alert import EvaluationMark
from alerts.models import Channel, Pulse
from alerts.readiness import OutboxSigns
from alerts.tests.cast import channel, later, opened
from alerts.tests.conftest import StartService
from alerts.tests.peers import Service, says
from collectors.models import Beat, PollLease, PollWorker
from collectors.readiness import Check
from collectors.tests.cast import cache_with_nodes
from config.celery import app
from dashboard.exposition import own
from dashboard.exposition.text import render

pytestmark = pytest.mark.django_db
PATH = "/ping/0d9a7c6e-secret"


@pytest.fixture
def outside(service: StartService, settings: Settings) -> Service:
    """A service that hears our pings."""
    made = service(says(200, "OK"))
    settings.HEARTBEAT_URL = f"{made.url}{PATH}"
    return made


BEHIND = [Check("sender", True, "Messages leave in time."), Check("judge", False, "The judge is behind.")]


def test_it_pings_while_everything_works(outside: Service) -> None:
    heartbeat.tell([Check("judge", True, "Rules are judged in time.")])

    assert [one.path for one in outside.seen] == [PATH]
    assert Pulse.objects.get().words == ""
    assert pulse.check(timezone.now()).ok


def test_it_is_silent_when_something_does_not(outside: Service) -> None:
    heartbeat.tell(BEHIND)

    assert not outside.seen
    assert (Pulse.objects.get().pinged_at, Pulse.objects.get().words) == (None, "The judge is behind.")


def test_it_pings_again_when_that_is_over(outside: Service) -> None:
    heartbeat.tell(BEHIND)

    heartbeat.tell([])

    assert len(outside.seen) == 1
    assert Pulse.objects.get().words == ""


@pytest.mark.parametrize("status", [404, 500, 302])
def test_a_service_that_refuses_was_not_pinged(outside: Service, status: int) -> None:
    outside.script = says(status, "no")

    heartbeat.tell([])

    assert Pulse.objects.get().pinged_at is None
    assert str(status) in Pulse.objects.get().words


def test_one_that_is_away_leaves_its_reason_without_the_secret(settings: Settings) -> None:
    settings.HEARTBEAT_URL = f"http://127.0.0.1:1{PATH}"

    heartbeat.tell([])

    assert Pulse.objects.get().words
    assert "secret" not in Pulse.objects.get().words


def test_without_an_address_nothing_happens() -> None:
    heartbeat.beat()

    assert not Pulse.objects.exists()
    assert "is not set" in pulse.check(timezone.now()).sentence


def test_the_last_ping_stays_known_while_pings_fail() -> None:
    at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    Pulse.note(at, "")
    Pulse.note(at + timedelta(minutes=1), "no")

    assert Pulse.objects.get().pinged_at == at


@pytest.mark.parametrize(("minutes", "is_heard"), [(1, True), (3, True), (4, False)])
def test_who_looks_sees_that_nobody_hears_us(settings: Settings, minutes: int, is_heard: bool) -> None:
    settings.HEARTBEAT_URL, settings.HEARTBEAT_SECONDS = "https://hc.example.org/x", 60
    at = timezone.now()
    Pulse.note(at, "")

    assert pulse.check(at + timedelta(minutes=minutes)).ok is is_heard


def test_before_the_first_ping_nobody_hears_us(settings: Settings) -> None:
    settings.HEARTBEAT_URL = "https://hc.example.org/x"

    assert not pulse.check(timezone.now()).ok


def test_it_leaves_by_the_process_that_sends() -> None:
    entry = app.conf.beat_schedule["heartbeat"]

    assert (entry["task"], entry["options"]["queue"]) == (tasks.heartbeat.name, "alerts")


def test_metrics_tell_of_the_last_ping() -> None:
    Pulse.note(datetime(2026, 3, 1, 12, tzinfo=UTC), "")

    assert "shardwatch_heartbeat_timestamp_seconds 1772366400" in render(own.families())


# What keeps it from pinging: each stage by itself.


def all_work() -> None:
    """Let every process have had its turn just now."""
    Beat.objects.bulk_create([Beat(id=Beat.POLLER), Beat(id=Beat.WORKER)])
    PollWorker.objects.create(name="poll@here")


def no_beat() -> None:
    Beat.objects.update(at=timezone.now() - timedelta(days=1))


def slow_judge() -> None:
    polled("a", 5, 300)


def no_sender() -> None:
    opened(channel())
    later(300)
    Channel.objects.update(served_at=timezone.now() - timedelta(seconds=300))


def lost_self_test() -> None:
    self_tests.begin([channel()], timezone.now() - self_tests.PATIENCE)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("breaks", "words"),
    [
        (None, ""),
        (no_beat, "The scheduler (beat) last reached a poll worker"),
        (slow_judge, "The judge of rules is 295 s behind the polls"),
        (no_sender, "1 message has been waiting for a sender"),
        (lost_self_test, "The self-test of 1 channel did not get through"),
    ],
    ids=["all work", "beat", "judge", "sender", "self-test"],
)
def test_each_stage_can_keep_it_silent(outside: Service, breaks: Callable[[], None] | None, words: str) -> None:
    all_work()
    if breaks:
        breaks()

    heartbeat.beat()

    assert Pulse.objects.get().words.startswith(words)
    assert len(outside.seen) == (0 if breaks else 1)


@pytest.mark.parametrize(("seconds", "is_ok"), [(0, True), (60, True), (61, False)])
def test_a_judge_that_falls_behind_is_told(seconds: float, is_ok: bool) -> None:
    assert readiness.judge_check(OutboxSigns(0, 0, 0, seconds)).ok is is_ok


def behind() -> float:
    with connection.cursor() as cursor:
        cursor.execute(readiness.BEHIND)
        return float(cursor.fetchone()[0])


def polled(name: str, polled_ago: float, judged_ago: float | None, made_ago: float = 1_000) -> None:
    """Make a cache whose last poll and last judging ended so many seconds ago."""
    now, cache = timezone.now(), cache_with_nodes(name=name)
    type(cache).objects.filter(pk=cache.pk).update(created_at=now - timedelta(seconds=made_ago))
    PollLease.objects.create(cache=cache, finished_at=now - timedelta(seconds=polled_ago))
    if judged_ago is not None:
        at = now - timedelta(seconds=judged_ago)
        EvaluationMark.objects.create(cache=cache, tick_at=at, judged_at=at)


def test_the_judge_is_as_far_behind_as_its_newest_verdict() -> None:
    polled("a", 5, 205)
    polled("b", 10, 105)

    assert behind() == pytest.approx(100, abs=1)


def test_a_judge_without_polls_is_not_behind() -> None:
    polled("a", 500, 499)

    assert behind() <= 0


def test_a_cache_that_is_new_has_not_had_its_turn() -> None:
    polled("a", 1, None, made_ago=20)

    assert behind() == pytest.approx(19, abs=1)
