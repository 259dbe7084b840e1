"""The life of a process that polls: its name and queue, the heartbeat, and the connections it keeps."""

import functools
import logging
import os
import socket
import threading
from typing import Any

from celery.signals import celeryd_after_setup, task_prerun, worker_ready, worker_shutting_down
from django.conf import settings
from django.db import close_old_connections, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.dispatch import receiver

from collectors import background, backlog
from collectors.backlog import AWAY
from collectors.cursors import raw_cursor
from collectors.dispatch import QUEUE, queue_of
from collectors.models import PollWorker
from collectors.pool import Pool

logger = logging.getLogger(__name__)
# So many signs of life must fail to come before others take over.
SIGNS_BEFORE_LOST = 4
# A loop that does not get round to a heartbeat for so long is stuck: others take over.
LOOP_PATIENCE_SECONDS = 4
SHOW_LIFE = """
    INSERT INTO collectors_pollworker (name, started_at, seen_at) VALUES (%s, now(), now())
    ON CONFLICT (name) DO UPDATE SET seen_at = EXCLUDED.seen_at
"""


@functools.cache
def pool() -> Pool:
    """Return the connections that this process keeps."""
    return Pool()


class Identity:
    """Which worker this process is; outside of a Celery worker, a name made from the host and process."""

    name = f"{socket.gethostname()}-{os.getpid()}"
    polls = False
    stopping = threading.Event()


@celeryd_after_setup.connect(weak=False)
def take_own_queue(sender: str, instance: Any, **_: Any) -> None:
    """Consume, beside the common queue of polls, the worker's own one, so that caches stay with it."""
    queues = instance.app.amqp.queues
    Identity.name = sender
    Identity.polls = QUEUE in queues.consume_from
    if Identity.polls:
        queues.select_add(queue_of(sender))


@task_prerun.connect(weak=False)
def check_database(**_: Any) -> None:
    """Drop a database connection that is too old or broke in the last task, and test it before its first use."""
    close_old_connections()


@receiver(connection_created)
def plan_once(connection: BaseDatabaseWrapper, **_: Any) -> None:
    """Have prepared statements planned once a connection: Postgres would plan the first five runs of each apart."""
    if Identity.polls and settings.DATABASE_PREPARE:
        with connection.cursor() as cursor:
            cursor.execute("SET plan_cache_mode = force_generic_plan")


@worker_ready.connect(weak=False)
def begin(**_: Any) -> None:
    if Identity.polls:
        threading.Thread(target=live, name="heartbeat", daemon=True).start()


@worker_shutting_down.connect(weak=False)
def end(**_: Any) -> None:
    Identity.stopping.set()


def live() -> None:
    """Show every few seconds that this worker polls, until it stops; then leave its caches to others."""
    while True:
        beat()
        if Identity.stopping.wait(settings.POLL_WORKER_LOST_SECONDS / SIGNS_BEFORE_LOST):
            break
    try:
        PollWorker.objects.filter(name=Identity.name).delete()
    except AWAY:
        logger.info("The database is away; the worker is missed soon enough.")
    pool().close()


def beat() -> None:
    """Renew the sign of life if the loop turns, close connections out of use, write readings that waited."""
    if not background.is_responsive(LOOP_PATIENCE_SECONDS):
        logger.error("The poll loop does not turn; another worker will take over.")
        return
    pool().sweep()
    try:
        with raw_cursor() as cursor:
            cursor.execute(SHOW_LIFE, [Identity.name], prepare=True)
        backlog.drain()
    except AWAY as error:
        connection.close()
        logger.warning("No sign of life could be written: %s", type(error).__name__)
