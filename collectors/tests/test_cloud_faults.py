"""Cloud Monitoring that refuses, is slow or changes: what is kept, what is said, and that nothing is lost for good."""

from datetime import timedelta

import grpc
import pytest
from pytest_django.fixtures import Settings

from collectors.cloud import collecting
from collectors.cloud.collecting import window
from collectors.cloud.feed import CloudFeed
from collectors.cloud.metric_types import MetricType
from collectors.cloud.products import Product
from collectors.cloud.quota import Bucket, pause
from collectors.tests.cloud_cast import CLIENTS, FEW, NOON, PROJECT, USED, Stage, instance, stage, stored

__all__ = ("stage",)
pytestmark = pytest.mark.django_db
SERIES = "MetricService/ListTimeSeries"
DESCRIPTORS = "MetricService/ListMetricDescriptors"


@pytest.fixture(autouse=True)
def redis(stage: Stage) -> None:
    instance(stage.project())


def asked(stage: Stage) -> int:
    return len(stage.emulator.asked("ListTimeSeries"))


def test_a_quota_that_is_used_up_ends_the_round_at_once(stage: Stage) -> None:
    stage.emulator.faults.exhaust(PROJECT)

    feed = stage.read()

    assert asked(stage) <= 2 * 8
    assert (feed.cause, feed.failing_since) == ("quota", NOON)


def test_a_quota_that_is_used_up_for_an_hour_is_asked_ever_more_rarely(stage: Stage) -> None:
    stage.emulator.faults.exhaust(PROJECT)
    rounds = 0
    for _minute in range(60):
        before = asked(stage)
        feed = stage.read()
        rounds += asked(stage) > before
        stage.pass_time(minutes=1)

    assert rounds <= 8
    assert feed.due_at > stage.now - timedelta(minutes=15)


def test_after_an_hour_without_quota_nothing_is_missing(stage: Stage) -> None:
    stage.add(USED, [1])
    stage.read()
    quota = stage.emulator.faults.exhaust(PROJECT)
    for value in range(60):
        stage.pass_time(minutes=1)
        stage.add(USED, [value])
        stage.read()

    stage.emulator.faults.on.remove(quota)
    stage.pass_time(minutes=15)
    feed = stage.read()

    assert len(stored("service_used_memory")) == 61
    assert (feed.cause, feed.failing_since, feed.failures) == ("", None, 0)


def test_one_type_that_is_unavailable_does_not_hold_up_the_others(stage: Stage) -> None:
    stage.add(USED, [1])
    stage.add(CLIENTS, [2])
    stage.emulator.faults.fail(SERIES, grpc.StatusCode.UNAVAILABLE, "try again", containing=f'"{USED}"')

    feed = stage.read()

    assert stored("service_connected_clients") == [2]
    assert (feed.troubles, feed.cause) == ({USED: "unavailable"}, "")


def test_what_an_unavailable_type_missed_is_asked_for_later(stage: Stage) -> None:
    stage.add(USED, [1])
    stage.read()
    fault = stage.emulator.faults.fail(SERIES, grpc.StatusCode.UNAVAILABLE, "try again", containing=f'"{USED}"')
    for value in range(12):
        stage.pass_time(minutes=1)
        stage.add(USED, [value])
        stage.read()
    stage.emulator.faults.on.remove(fault)

    stage.pass_time(minutes=1)
    stage.read()

    assert len(stored("service_used_memory")) == 13


def test_a_service_that_is_down_is_left_alone_for_a_while(stage: Stage) -> None:
    stage.emulator.faults.unavailable(SERIES)

    feed = stage.read()

    assert asked(stage) <= 3 * 8
    assert (feed.cause, feed.due_at) == ("unavailable", NOON + timedelta(minutes=1))


def test_an_emulator_that_is_unplugged_is_told_with_its_time(stage: Stage) -> None:
    stage.add(USED, [1])
    stage.read()
    stage.emulator.stop()

    stage.pass_time(minutes=1)
    feed = stage.read()

    assert (feed.cause, feed.answered_at, feed.failing_since) == ("unreachable", NOON, NOON + timedelta(minutes=1))
    assert stored("service_used_memory") == [1]


def test_slow_answers_end_a_round_in_time(stage: Stage, settings: Settings) -> None:
    settings.CLOUD_CALL_TIMEOUT_SECONDS = 0.05
    stage.emulator.faults.slow(SERIES, 30)

    feed = stage.read()

    assert feed.cause == "slow"


def test_types_that_all_fail_in_passing_make_the_service_unavailable(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collecting, "COLLECTED", [metric for metric in FEW if metric.type == USED])
    stage.emulator.faults.unavailable(SERIES)

    assert stage.read().cause == "unavailable"


def test_a_permission_that_is_missing_is_named(stage: Stage) -> None:
    stage.emulator.faults.deny(SERIES)

    feed = stage.read()

    assert (feed.cause, feed.words) == ("permission", "monitoring.timeSeries.list")


def test_credentials_that_are_revoked_in_the_middle_keep_what_came_before(stage: Stage) -> None:
    stage.add(USED, [1])
    stage.read()
    stage.emulator.faults.fail(SERIES, grpc.StatusCode.UNAUTHENTICATED, "Request had invalid credentials.")

    stage.pass_time(minutes=1)
    feed = stage.read()

    assert feed.cause == "revoked"
    assert stored("service_used_memory") == [1]


def test_a_clock_that_google_does_not_accept_is_said(stage: Stage) -> None:
    words = "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe."
    stage.emulator.faults.fail(SERIES, grpc.StatusCode.UNAUTHENTICATED, words)

    assert stage.read().cause == "clock"


def test_a_clock_that_is_a_little_ahead_loses_nothing(stage: Stage) -> None:
    stage.add(USED, [1, 2, 3])
    stage.emulator.metrics.clock = lambda: NOON.timestamp() - 60

    stage.read()
    stage.emulator.metrics.clock = stage.now.timestamp
    stage.read()

    assert stored("service_used_memory") == [1, 2, 3]


@pytest.mark.parametrize("ahead", [-10, 10], ids=["behind", "ahead"])
def test_a_clock_that_is_ten_minutes_off_loses_nothing(stage: Stage, ahead: int) -> None:
    offset = timedelta(minutes=ahead)
    stage.emulator.metrics.clock = lambda: (stage.now - offset).timestamp()
    stage.emulator.metrics.delay = 240
    for value in range(30):
        stage.now -= offset
        stage.add(USED, [value])
        stage.now += offset
        stage.read()
        stage.pass_time(minutes=1)

    found = stored("service_used_memory")

    assert found == list(range(len(found)))
    assert len(found) >= 20


def test_a_clock_that_was_put_right_leaves_no_gap(stage: Stage) -> None:
    stage.emulator.metrics.clock = lambda: (stage.now + timedelta(minutes=10)).timestamp()
    for value in range(5):
        stage.add(USED, [value])
        stage.read()
        stage.pass_time(minutes=1)

    stage.emulator.metrics.clock = lambda: stage.now.timestamp()
    stage.pass_time(minutes=10)
    stage.add(USED, [99])
    stage.read()

    assert stored("service_used_memory") == [0, 1, 2, 3, 4, 99]


def test_a_question_reaches_back_behind_the_newest_point(stage: Stage) -> None:
    feed = CloudFeed(asked_until=NOON, newest_at=NOON - timedelta(minutes=15))

    assert window(feed, NOON) == (NOON - timedelta(minutes=20), NOON)
    assert window(CloudFeed(asked_until=NOON, newest_at=NOON), NOON) == (NOON - timedelta(minutes=10), NOON)
    old = CloudFeed(asked_until=NOON, newest_at=NOON - timedelta(days=9))
    assert window(old, NOON) == (NOON - timedelta(hours=6), NOON)


def test_a_partial_answer_is_stored_and_said(stage: Stage) -> None:
    stage.add(USED, [1])
    stage.emulator.metrics.execution_errors = ["one cell did not answer"]

    feed = stage.read()

    assert stored("service_used_memory") == [1]
    assert feed.troubles[USED] == "one cell did not answer"


def test_what_a_partial_answer_left_out_stays_stored(stage: Stage) -> None:
    stage.add(USED, [1])
    stage.add(CLIENTS, [2])
    stage.read()
    stage.emulator.points.forget(CLIENTS)
    stage.emulator.points.forget(USED)
    stage.add(USED, [5])

    stage.read()

    assert (stored("service_used_memory"), stored("service_connected_clients")) == ([5], [2])


def test_a_metric_type_that_vanished_is_noted_and_fails_nothing(stage: Stage) -> None:
    stage.add(CLIENTS, [2])
    del stage.emulator.metric_types[USED]

    feed = stage.read()

    assert stored("service_connected_clients") == [2]
    assert (feed.vanished, feed.cause) == ([USED], "")


def test_a_vanished_type_that_google_refuses_fails_nothing(stage: Stage) -> None:
    stage.add(CLIENTS, [2])
    words = "Cannot find metric(s) that match type."
    stage.emulator.faults.fail(SERIES, grpc.StatusCode.NOT_FOUND, words, containing=f'"{USED}"')

    feed = stage.read()

    assert stored("service_connected_clients") == [2]
    assert (feed.troubles, feed.asked_until) == ({USED: words}, NOON)


def test_a_new_metric_type_is_noted(stage: Stage) -> None:
    new = "redis.googleapis.com/stats/new_figure"
    stage.emulator.metric_types[new] = MetricType(new, "redis_instance", "GAUGE", "INT64", "1", (), 240)

    assert stage.read().unlisted == [new]


def test_the_list_of_types_is_asked_for_once_a_day(stage: Stage) -> None:
    for _turn in range(5):
        stage.read()
        stage.pass_time(hours=8)

    assert len(stage.emulator.asked("ListMetricDescriptors")) == 2


def test_a_refused_list_of_types_is_no_failure(stage: Stage) -> None:
    stage.emulator.faults.deny(DESCRIPTORS)

    feed = stage.read()

    assert (feed.cause, feed.vanished) == ("", [])


def test_series_of_a_kind_that_is_no_number_are_left_out(stage: Stage) -> None:
    stage.add(USED, [float("nan"), float("inf"), 3.0])
    stage.emulator.metric_types[USED] = MetricType(USED, "redis_instance", "GAUGE", "DOUBLE", "By", ("role",), 240)

    stage.read()

    assert stored("service_used_memory") == [3.0]


def test_an_instance_of_another_product_with_the_same_name_is_another_one(stage: Stage) -> None:
    other = instance(stage.project("shop-prod-2"), Product.VALKEY, uid="other")
    stage.add(USED, [1])

    stage.read()

    assert not other.places.exists()


def test_pauses_grow_up_to_a_quarter_of_an_hour() -> None:
    assert [pause(failures) / timedelta(minutes=1) for failures in (1, 2, 3, 4, 5, 99)] == [1, 2, 4, 8, 15, 15]


def test_a_bucket_fills_up_to_the_queries_of_a_minute() -> None:
    bucket = Bucket(60, 0, NOON)

    bucket.fill(NOON + timedelta(seconds=30))
    half = bucket.take(60)
    bucket.fill(NOON + timedelta(hours=1))

    assert (half, bucket.take(100)) == (30, 60)


def test_a_clock_that_is_set_back_does_not_empty_a_bucket() -> None:
    bucket = Bucket(60, 10, NOON)

    bucket.fill(NOON - timedelta(hours=1))

    assert bucket.take(60) == 10


def test_a_feed_says_its_project() -> None:
    assert str(CloudFeed(project_id=PROJECT)) == PROJECT
