"""Rounds of Cloud Monitoring: what is asked, what is stored, and whose it is."""

from datetime import timedelta

import pytest
from pytest_django.fixtures import Settings

from collectors.cloud import collecting, monitoring
from collectors.cloud.feed import CloudFeed, CloudPlace
from collectors.cloud.models import CloudProject, Decision
from collectors.cloud.products import Product
from collectors.tests.cloud_cast import (
    CLIENTS,
    CLUSTER_USED,
    FEW,
    NOON,
    PROJECT,
    TTL,
    USED,
    Stage,
    emulated,
    instance,
    stage,
    stored,
)

__all__ = ("stage",)

pytestmark = pytest.mark.django_db
REDIS_TYPES = sum(metric.product == Product.REDIS for metric in FEW)


def test_it_stores_a_row_for_each_place_and_minute(stage: Stage) -> None:
    instance(stage.project())
    stage.add(USED, [100, 110, 120])
    stage.add(CLIENTS, [7, 8, 9])

    stage.read()

    assert stored("service_used_memory") == [100, 110, 120]
    assert stored("service_connected_clients") == [7, 8, 9]


def test_it_asks_once_for_each_metric_type_whatever_the_number_of_instances(stage: Stage) -> None:
    project = stage.project()
    for name in ("sessions", "baskets", "prices"):
        instance(project, short_id=name, uid=name)
        stage.add(USED, [1], short_id=name)

    stage.read()

    assert len(stage.emulator.asked("ListTimeSeries")) == REDIS_TYPES
    assert CloudPlace.objects.count() == 3


def test_it_asks_nothing_where_no_instance_is_known(stage: Stage) -> None:
    stage.project()

    stage.read()

    assert not stage.emulator.asked()


def test_it_asks_for_ten_minutes_again_and_again(stage: Stage) -> None:
    instance(stage.project())
    stage.add(USED, [1])
    stage.read()
    stage.emulator.calls.clear()

    stage.pass_time(minutes=1)
    stage.read()

    interval = stage.emulator.asked("ListTimeSeries")[0].request.interval
    assert interval.end_time.timestamp() == stage.now.timestamp()
    assert interval.end_time - interval.start_time == timedelta(minutes=11)


def test_it_keeps_roles_apart(stage: Stage) -> None:
    instance(stage.project())
    stage.add(USED, [100], role="primary")
    stage.add(USED, [90], role="replica", node="node-1")

    stage.read()

    assert (stored("service_used_memory"), stored("service_used_memory", "replica")) == ([100], [90])


def test_it_gives_numbers_in_our_unit(stage: Stage) -> None:
    instance(stage.project())
    stage.add(TTL, [1500.0])

    stage.read()

    assert stored("service_average_ttl_seconds") == [1.5]


def test_it_stores_points_that_come_late_and_out_of_order(stage: Stage) -> None:
    instance(stage.project())
    stage.add(USED, [100, None, 120])
    stage.read()

    stage.add(USED, [110, None])
    stage.read()

    assert stored("service_used_memory") == [100, 110, 120]


def test_it_takes_a_point_over_that_was_corrected(stage: Stage) -> None:
    instance(stage.project())
    stage.add(CLIENTS, [5], node="node-0")
    stage.read()
    stage.emulator.points.forget(CLIENTS)
    stage.add(CLIENTS, [6], node="node-0")

    stage.read()

    assert stored("service_connected_clients") == [6]


def test_it_sees_points_once_the_service_shows_them() -> None:
    with emulated(delay=240) as stage:
        instance(stage.project())
        stage.add(USED, [100])
        stage.read()
        hidden = stored("service_used_memory")

        stage.pass_time(minutes=5)
        stage.read()

        assert (hidden, stored("service_used_memory")) == ([], [100])


def test_it_puts_a_series_together_that_is_split_over_pages(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitoring, "PAGE_POINTS", 2)
    instance(stage.project())
    stage.add(USED, [1, 2, 3, 4, 5])

    stage.read()

    assert stored("service_used_memory") == [1, 2, 3, 4, 5]


def test_it_ends_with_the_pages_of_an_answer_without_end(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitoring, "PAGE_POINTS", 1)
    monkeypatch.setattr(monitoring, "MOST_PAGES", 3)
    instance(stage.project())
    stage.add(USED, [1, 2, 3, 4, 5])

    feed = stage.read()

    assert stored("service_used_memory") == [3, 4, 5]
    assert feed.troubles[USED] == "more than 3 pages"


def test_it_knows_a_cluster_by_its_uid_and_not_by_its_name(stage: Stage) -> None:
    project = stage.project()
    instance(project, Product.REDIS_CLUSTER, uid="uid-old", gone_at=NOON)
    new = instance(project, Product.REDIS_CLUSTER, short_id="sessions-2", uid="uid-new")
    stage.add_cluster(CLUSTER_USED, [100], uid="uid-new")

    stage.read()

    assert CloudPlace.objects.get().instance == new


def test_it_leaves_out_series_of_instances_that_discovery_does_not_know(stage: Stage) -> None:
    instance(stage.project())
    stage.add(USED, [100], short_id="strange")

    stage.read()

    assert stored("service_used_memory") == []


def test_it_leaves_out_instances_that_somebody_ignores(stage: Stage) -> None:
    project = stage.project()
    instance(project)
    instance(project, short_id="ignored", uid="x", decision=Decision.IGNORED)
    stage.add(USED, [100])
    stage.add(USED, [200], short_id="ignored")

    stage.read()

    assert stored("service_used_memory") == [100]


def test_it_leaves_out_points_from_a_clock_that_jumped(stage: Stage) -> None:
    instance(stage.project())
    stage.add(USED, [100])
    stage.now += timedelta(hours=2)
    stage.add(USED, [200])
    stage.now -= timedelta(hours=2)

    stage.read()

    assert stored("service_used_memory") == [100]


def test_it_asks_a_scoping_project_for_those_that_it_answers_for(stage: Stage) -> None:
    stage.emulator.metrics.scopes["observe-prod"] = {PROJECT}
    instance(stage.project(metrics_project_id="observe-prod"))
    stage.add(USED, [100])

    feed = stage.read()

    assert feed.project_id == "observe-prod"
    assert stored("service_used_memory") == [100]


def test_two_projects_of_one_scope_share_a_feed(stage: Stage) -> None:
    stage.emulator.metrics.scopes["observe-prod"] = {PROJECT, "shop-prod-2"}
    for project_id in (PROJECT, "shop-prod-2"):
        instance(stage.project(project_id, metrics_project_id="observe-prod"), short_id=project_id, uid=project_id)
        stage.add(USED, [100], short_id=project_id, project_id=project_id)

    stage.read()

    assert CloudFeed.objects.count() == 1
    assert len(stage.emulator.asked("ListTimeSeries")) == REDIS_TYPES
    assert stored("service_used_memory") == [100, 100]


def test_a_paused_project_is_not_read(stage: Stage) -> None:
    instance(stage.project(is_paused=True))

    assert collecting.due(stage.now) == []


def test_only_one_worker_reads_a_project(stage: Stage) -> None:
    instance(stage.project())
    (feed_id,) = collecting.due(stage.now)
    assert CloudFeed.claim(feed_id, stage.now)

    collecting.read(feed_id, stage.now)

    assert not stage.emulator.asked()


def test_the_lease_of_a_worker_that_died_ends(stage: Stage) -> None:
    instance(stage.project())
    (feed_id,) = collecting.due(stage.now)
    assert CloudFeed.claim(feed_id, stage.now)

    stage.pass_time(minutes=2)
    collecting.read(feed_id, stage.now)

    assert stage.emulator.asked()


def test_it_spends_no_more_queries_than_allowed_and_goes_on_where_it_stopped(stage: Stage, settings: Settings) -> None:
    settings.CLOUD_QUERIES_PER_MINUTE = REDIS_TYPES - 1
    instance(stage.project())
    stage.read()
    first = len(stage.emulator.asked("ListTimeSeries"))

    stage.pass_time(minutes=1)
    stage.read()

    asked = [call.request.filter for call in stage.emulator.asked("ListTimeSeries")]
    assert first == REDIS_TYPES - 1
    assert len(set(asked)) == REDIS_TYPES


def test_it_counts_the_series_that_google_charges_for(stage: Stage) -> None:
    instance(stage.project())
    stage.add(USED, [1, 2, 3])
    stage.add(CLIENTS, [1], role="replica")
    stage.read()

    stage.pass_time(minutes=1)
    feed = stage.read()

    assert (feed.month, feed.month_series, feed.round_series) == (NOON.date().replace(day=1), 4, 2)
    assert feed.month_calls == 2 * REDIS_TYPES


def test_a_new_month_is_counted_anew(stage: Stage) -> None:
    instance(stage.project())
    stage.add(USED, [1])
    stage.read()

    stage.pass_time(days=31)
    feed = stage.read()

    assert feed.month_series == 0


def test_it_asks_for_the_other_projects_where_one_was_deleted(stage: Stage) -> None:
    stage.project("shop-gone")
    collecting.due(stage.now)
    CloudProject.objects.all().delete()
    instance(stage.project())

    assert [CloudFeed.objects.get(pk=pk).project_id for pk in collecting.due(stage.now)] == [PROJECT]
