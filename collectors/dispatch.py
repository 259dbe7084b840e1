"""Handing out polls: which caches are due at a tick, in which batches, and to which worker."""

import hashlib
import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta

from celery import Celery
from django.conf import settings
from django.utils import timezone

from collectors import leases
from collectors.cursors import raw_cursor
from collectors.models import Beat, PollWorker

logger = logging.getLogger(__name__)
QUEUE = "poll"
# A cache and the number of its nodes.
Sized = tuple[int, int]
READ_CACHES = """
    SELECT c.id, c.poll_interval_seconds, count(n.id)
    FROM fleet_cache c LEFT JOIN fleet_node n ON n.cache_id = c.id AND n.left_at IS NULL
    WHERE NOT c.is_paused AND c.reach = 'nodes' GROUP BY c.id ORDER BY c.id
"""
NOTE_BEAT = """
    INSERT INTO collectors_beat (id, at) VALUES (%s, now()) ON CONFLICT (id) DO UPDATE SET at = EXCLUDED.at
"""
READ_WORKERS = """
    SELECT name FROM collectors_pollworker WHERE seen_at > now() - make_interval(secs => %s) ORDER BY name
"""
# What a worker left in its own queue is thrown away when it was not seen for so long.
FORGET_SECONDS = 300


def queue_of(worker: str) -> str:
    """Return the name of a worker's own queue."""
    return f"{QUEUE}.{worker}"


def is_due(interval_seconds: int, tick: int) -> bool:
    """Return whether a cache with this interval is polled at this tick of the common grid."""
    step = settings.POLL_TICK_SECONDS
    return tick % (-(-interval_seconds // step) * step) == 0


def due_caches(tick: int) -> dict[int, list[Sized]]:
    """Return the caches due at a tick with their sizes, in order of id, by interval in seconds."""
    with raw_cursor() as cursor:
        rows = cursor.execute(READ_CACHES, prepare=True).fetchall()
    due: dict[int, list[Sized]] = defaultdict(list)
    for cache_id, interval, size in rows:
        if is_due(interval, tick):
            due[interval].append((cache_id, max(size, 1)))
    return due


def living_workers() -> list[str]:
    with raw_cursor() as cursor:
        rows = cursor.execute(READ_WORKERS, [settings.POLL_WORKER_LOST_SECONDS], prepare=True).fetchall()
    return [name for (name,) in rows]


def worker_of(cache_id: int, workers: Sequence[str]) -> str:
    """Return the worker that polls a cache: the same one as long as it lives (rendezvous hashing)."""
    return max(workers, key=lambda worker: hashlib.blake2b(f"{cache_id} {worker}".encode(), digest_size=8).digest())


def batches(caches: Iterable[Sized]) -> Iterator[list[int]]:
    """Yield whole caches in batches of about POLL_BATCH_NODES nodes; a larger cache is a batch of its own."""
    batch: list[int] = []
    nodes = 0
    for cache_id, size in caches:
        if batch and nodes + size > settings.POLL_BATCH_NODES:
            yield batch
            batch, nodes = [], 0
        batch.append(cache_id)
        nodes += size
    if batch:
        yield batch


def dispatch(tick: int, app: Celery) -> int:
    """Send the polls due at a tick to their workers; return how many messages that made."""
    with raw_cursor() as cursor:
        cursor.execute(NOTE_BEAT, [Beat.POLLER], prepare=True)
    workers = living_workers()
    sent = 0
    due = due_caches(tick)
    if not due:
        return 0
    leases.make_missing([cache_id for caches in due.values() for cache_id, _ in caches])
    with app.producer_or_acquire() as producer:
        for interval, caches in due.items():
            for queue, share in shares(caches, workers).items():
                for batch in parts(queue, share):
                    words, options = (batch, tick), {"queue": queue, "expires": interval}
                    app.send_task("collectors.tasks.poll_batch", words, producer=producer, **options)
                    sent += 1
    return sent


def shares(caches: Iterable[Sized], workers: Sequence[str]) -> dict[str, list[Sized]]:
    """Return which caches go to which queue."""
    found: dict[str, list[Sized]] = defaultdict(list)
    for cache in caches:
        found[queue_of(worker_of(cache[0], workers)) if workers else QUEUE].append(cache)
    return found


def parts(queue: str, share: Sequence[Sized]) -> Iterator[list[int]]:
    """Yield what goes out as one message: all that a worker has to poll, or what any worker may take.

    A message costs its reader as much as the polls of four nodes, a poll the database a dozen statements.
    """
    if queue == QUEUE:
        yield from batches(share)
    else:
        yield [cache_id for cache_id, _ in share]


def forget_lost_workers(app: Celery) -> None:
    """Drop workers that were not seen for minutes, and the expired polls in their queues."""
    for worker in PollWorker.objects.filter(seen_at__lt=timezone.now() - timedelta(seconds=FORGET_SECONDS)):
        with app.connection_for_write() as broker:
            broker.default_channel.queue_purge(queue_of(worker.name))
        worker.delete()
        logger.info("The poll worker %s is gone.", worker.name)
