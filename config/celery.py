"""The Celery application and the one table of what beat starts."""

import math
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from celery import Celery
from celery.schedules import schedstate, schedule
from celery.signals import celeryd_after_setup
from django.conf import settings
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# Celery would have every process load all pages to check them, two seconds of CPU each, and drop what it finds.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")


# Celery 5.7's beat wakes so much earlier than it is told, and then asks again without a pause until something is due.
WOKEN_EARLY_SECONDS = 0.010


class Grid(schedule):  # type: ignore[misc]
    """Due at whole multiples of its period since the epoch, so that a poll begins when its tick does."""

    def __init__(self, seconds: float) -> None:
        super().__init__(run_every=timedelta(seconds=seconds))
        self.period = seconds

    def remaining_estimate(self, last_run_at: datetime) -> timedelta:
        return timedelta(seconds=self._next_after(last_run_at.timestamp()) - time.time())

    def is_due(self, last_run_at: datetime) -> Any:
        now, last = time.time(), last_run_at.timestamp()
        # A last run in the future: the clock was set back.
        if last > now + self.period or self._next_after(last) <= now:
            return schedstate(is_due=True, next=self._next_after(now) - now + WOKEN_EARLY_SECONDS)
        return schedstate(is_due=False, next=self._next_after(last) - now + WOKEN_EARLY_SECONDS)

    def _next_after(self, moment: float) -> float:
        return (math.floor(moment / self.period) + 1) * self.period

    def __reduce__(self) -> Any:
        return type(self), (self.period,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Grid) and other.period == self.period

    def __hash__(self) -> int:
        return hash(self.period)


def every(task: str, seconds: float, queue: str = "celery") -> dict[str, Any]:
    """Return an entry of beat; what waits longer than a period is dropped, the next one is due."""
    return {"task": task, "schedule": Grid(seconds), "options": {"queue": queue, "expires": seconds}}


def joined(chores: Iterable[tuple[str, float, str]]) -> dict[str, dict[str, Any]]:
    """Return entries of beat for chores (task, seconds, queue): one for those of the same queue and period."""
    together: dict[tuple[str, float], list[str]] = defaultdict(list)
    for task, seconds, queue in chores:
        together[queue, seconds].append(task)
    return {
        f"chores of {queue}, {seconds:g} s": {**every("config.tasks.run_chores", seconds, queue), "args": (tasks,)}
        for (queue, seconds), tasks in together.items()
    }


# Small and often: config/chores.py says how they share a message. What takes long, or waits for others, is none.
CHORES = (
    # New scans, those of a quiet window, and those whose worker was lost.
    ("collectors.tasks.take_up_scans", 5, "celery"),
    ("switches.tasks.keep", 5, "celery"),
    ("collectors.tasks.discover_cloud", settings.CLOUD_LOOK_SECONDS, "celery"),
    ("collectors.tasks.read_cloud_monitoring", settings.CLOUD_LOOK_SECONDS, "celery"),
    ("switches.tasks.look_at_drained", 5, "celery"),
    ("alerts.tasks.watch_switches", 5, "judge"),
    ("alerts.tasks.sweep", settings.ALERT_SWEEP_SECONDS, "judge"),
    ("alerts.tasks.self_tests", settings.ALERT_SWEEP_SECONDS, "judge"),
)
app = Celery("shardwatch")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.update(
    beat_schedule=joined(CHORES)
    | {
        "dispatch-polls": every("collectors.tasks.dispatch_polls", settings.POLL_TICK_SECONDS, "poll"),
        "roll-up": every("collectors.tasks.roll_up", settings.ROLLUP_INTERVAL_SECONDS),
        "roll-up-tallies": every("collectors.tasks.roll_up_tallies", 2 * settings.ROLLUP_INTERVAL_SECONDS),
        "read-client-lists": every("collectors.tasks.read_client_lists", settings.CLIENTS_INTERVAL_SECONDS),
        # Without a schedule this only forgets what was found on demand.
        "look-for-hot-keys": every("collectors.tasks.look_for_hot_keys", settings.HOT_KEYS_INTERVAL_SECONDS or 3_600),
        "read-mysql-plugins": every("collectors.tasks.read_mysql_plugins", settings.MYSQL_INTERVAL_SECONDS),
        "roll-up-cloud": every("collectors.tasks.roll_up_cloud", settings.CLOUD_ROLLUP_SECONDS),
        "keep-partitions": every("collectors.tasks.keep_partitions", settings.RETENTION_INTERVAL_SECONDS),
        "forget-alerts": every("alerts.tasks.forget_old", settings.RETENTION_INTERVAL_SECONDS),
        # By the road of messages: that it leaves is a part of what it proves.
        "heartbeat": every("alerts.tasks.heartbeat", settings.HEARTBEAT_SECONDS, "alerts"),
        "tell-changes": every("alerts.tasks.tell_changes", 10, "alerts"),
        "send-due": every("alerts.tasks.send_due", settings.DELIVERY_WAKE_SECONDS, "alerts"),
        "forget-lost-workers": every("collectors.tasks.forget_lost_workers", 300),
    },
    # Celery's own care for Django closes the database connection around every task, which then costs a new one;
    # collectors/worker.py has Django check its age and health instead.
    CELERY_DB_REUSE_MAX=sys.maxsize // 2,
    task_default_queue="celery",
    # A worker takes only what it can begin: polls that wait elsewhere may be taken by others, or expire.
    worker_prefetch_multiplier=1,
    # How long one wait for a message lasts: it ends when one comes, so a longer one delays nothing.
    broker_transport_options={"polling_interval": 5},
    worker_send_task_events=False,
    broker_connection_retry_on_startup=True,
    # However long the broker is away, the worker waits for it.
    broker_connection_max_retries=None,
    worker_cancel_long_running_tasks_on_connection_loss=True,
    # A broker that restarts is back within seconds; a dispatch that waits longer is overtaken by the next.
    task_publish_retry_policy={"max_retries": 5, "interval_start": 0.1, "interval_step": 0.3, "interval_max": 1},
)
app.autodiscover_tasks()


@celeryd_after_setup.connect(weak=False)
def load_pages(instance: Any, **_named: Any) -> None:
    """Have workers whose messages link to pages load them at the start: the first message must not wait for that."""
    if {"judge", "alerts"} & set(instance.app.amqp.queues.consume_from):
        get_resolver().url_patterns  # noqa: B018 - loads them
