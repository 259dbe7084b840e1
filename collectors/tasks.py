"""Doors from Celery into the collectors."""

from celery import Celery, Task, shared_task
from django.conf import settings
from django.utils import timezone

from collectors import client_lists, dispatch, hot_keys, poll, retention, tally_rollups, worker
from collectors.cloud import collecting, discovery
from collectors.cloud import rollups as cloud_rollups
from collectors.keyscan import runner, schedules, starting
from collectors.memcached import plugin

SCAN_QUEUE, TAKE_UP_SECONDS = "scan", 5.0
# A round that takes longer than its lease would be done twice.
CLOUD_SECONDS, CLOUD_LIMIT_SECONDS, DISCOVERY_LIMIT_SECONDS = 60, 100, 170


@shared_task(bind=True)
def dispatch_polls(self: Task) -> None:
    app: Celery = self.app
    dispatch.dispatch(poll.current_tick(), app)


@shared_task
def poll_batch(cache_ids: list[int], tick: int) -> None:
    poll.poll_caches(cache_ids, tick, worker.pool(), worker.Identity.name)


@shared_task
def roll_up() -> None:
    retention.roll_up()


@shared_task
def roll_up_tallies() -> None:
    tally_rollups.roll_up_tallies()


@shared_task
def read_client_lists() -> None:
    for cache_id in client_lists.due_caches():
        read_clients_of.apply_async((cache_id,), expires=settings.CLIENTS_INTERVAL_SECONDS)


@shared_task
def read_clients_of(cache_id: int) -> None:
    client_lists.read(cache_id)


@shared_task
def read_mysql_plugins() -> None:
    for cache_id in plugin.due():
        read_mysql_plugin.apply_async((cache_id,), expires=settings.MYSQL_INTERVAL_SECONDS)


@shared_task
def read_mysql_plugin(cache_id: int) -> None:
    plugin.look(cache_id, timezone.now())


@shared_task
def look_for_hot_keys() -> None:
    for cache_id in hot_keys.due_caches():
        look_for_hot_keys_of.apply_async((cache_id,), expires=settings.HOT_KEYS_INTERVAL_SECONDS)


@shared_task
def look_for_hot_keys_of(cache_id: int) -> None:
    hot_keys.look(cache_id)


@shared_task
def take_up_scans() -> None:
    schedules.begin_due()
    for scan_id in starting.waiting():
        run_scan.apply_async((scan_id,), queue=SCAN_QUEUE, expires=TAKE_UP_SECONDS)


@shared_task
def run_scan(scan_id: int) -> None:
    runner.run(scan_id)


@shared_task
def discover_cloud() -> None:
    for project_id in discovery.due():
        discover_project.apply_async((project_id,), expires=CLOUD_SECONDS)


# The lease is longer: nobody else begins while this one is being stopped.
@shared_task(time_limit=DISCOVERY_LIMIT_SECONDS)
def discover_project(project_id: int) -> None:
    discovery.discover(project_id)
    # What it found is read now, not in a minute.
    read_cloud_monitoring()


@shared_task
def read_cloud_monitoring() -> None:
    for feed_id in collecting.due(timezone.now()):
        read_cloud_feed.apply_async((feed_id,), expires=CLOUD_SECONDS)


@shared_task(time_limit=CLOUD_LIMIT_SECONDS)
def read_cloud_feed(feed_id: int) -> None:
    collecting.read(feed_id, timezone.now())


@shared_task
def roll_up_cloud() -> None:
    cloud_rollups.roll_up(timezone.now())


@shared_task
def keep_partitions() -> None:
    retention.keep_partitions()


@shared_task(bind=True)
def forget_lost_workers(self: Task) -> None:
    dispatch.forget_lost_workers(self.app)
