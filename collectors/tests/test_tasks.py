from collections.abc import Callable

import pytest
from django.db import connection
from pytest_django.fixtures import Settings

from collectors import leases, tasks, worker
from collectors.models import Beat, CloudFeed, CloudProject, PollLease, PollWorker
from collectors.tests.conftest import Poller
from fleet.models import Cache
from launcher.valkey import Valkey

CacheAt = Callable[..., Cache]
# A pooler that hands out its connections to others must not find them changed.
PLANNED = [(True, True, "force_generic_plan"), (False, True, "auto"), (True, False, "auto")]


def test_polls_come_in_by_a_task(poller: Poller, cache_at: CacheAt, valkey_server: Callable[..., Valkey]) -> None:
    cache = cache_at(valkey_server().url)
    leases.make_missing([cache.pk])

    tasks.poll_batch([cache.pk], poller.tick)

    assert poller.sample(cache.nodes.get(), "is_primary") == (True,)
    assert PollLease.objects.get().worker == worker.Identity.name
    worker.pool().close()


def test_dispatching_comes_in_by_a_task(db: None) -> None:
    tasks.dispatch_polls()

    assert Beat.objects.exists()


def test_care_of_samples_comes_in_by_tasks(db: None) -> None:
    tasks.roll_up()
    tasks.keep_partitions()
    tasks.forget_lost_workers()


def test_cloud_monitoring_is_read_by_tasks(db: None) -> None:
    CloudProject.objects.create(project_id="shop-prod-1")
    tasks.read_cloud_monitoring()

    tasks.read_cloud_feed(CloudFeed.objects.get().pk)
    tasks.roll_up_cloud()

    assert CloudFeed.objects.get().answered_at is None


@pytest.mark.parametrize(("polls", "prepares", "mode"), PLANNED)
def test_pollers_have_their_statements_planned_once(
    transactional_db: None,
    monkeypatch: pytest.MonkeyPatch,
    settings: Settings,
    polls: bool,
    prepares: bool,
    mode: str,
) -> None:
    monkeypatch.setattr(worker.Identity, "polls", polls)
    settings.DATABASE_PREPARE = prepares
    connection.close()

    with connection.cursor() as cursor:
        cursor.execute("SHOW plan_cache_mode")

        assert cursor.fetchone() == (mode,)
    connection.close()


def test_a_sign_of_life_names_the_worker(db: None) -> None:
    worker.beat()

    assert PollWorker.objects.get().name == worker.Identity.name
