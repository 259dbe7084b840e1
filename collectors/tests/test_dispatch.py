from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from collectors import dispatch
from collectors.models import Beat, PollLease, PollWorker
from config.celery import app
from fleet.models import Cache, Node, Reach

CacheAt = Callable[..., Cache]
TICK = 1_700_000_100


@pytest.fixture
def queued() -> Iterator[Callable[[str], int]]:
    """Count the messages in a queue of the real broker: `queued("poll")`. All are thrown away at the end."""
    names = {"poll"}
    with app.connection_for_write() as broker:

        def count(name: str) -> int:
            names.add(name)
            return int(broker.default_channel.client.llen(name))

        yield count
        for name in names:
            broker.default_channel.queue_purge(name)


def alive(name: str, seconds_ago: float = 0) -> None:
    PollWorker.objects.create(name=name, seen_at=timezone.now() - timedelta(seconds=seconds_ago))


DUE = [(15, 0, True), (15, 5, False), (15, 10, False), (15, 15, True), (1, 5, True), (7, 10, True), (7, 5, False)]


@pytest.mark.parametrize(("interval", "after", "expected"), DUE)
def test_a_cache_is_due_on_the_grid_of_its_interval(interval: int, after: int, expected: bool) -> None:
    assert dispatch.is_due(interval, TICK + after) is expected


def test_it_keeps_whole_caches_together() -> None:
    caches = [(1, 30), (2, 30), (3, 10), (4, 200), (5, 1)]

    assert list(dispatch.batches(caches)) == [[1], [2, 3], [4], [5]]


def test_a_cache_stays_with_its_worker_while_others_come_and_go() -> None:
    before = {cache: dispatch.worker_of(cache, ["a", "b", "c"]) for cache in range(300)}

    after = {cache: dispatch.worker_of(cache, ["a", "b"]) for cache in range(300)}

    assert all(after[cache] == worker for cache, worker in before.items() if worker != "c")
    assert all(60 < list(before.values()).count(worker) < 140 for worker in "abc")


def test_it_sends_batches_to_the_queues_of_living_workers(cache_at: CacheAt, queued: Callable[[str], int]) -> None:
    caches = [cache_at(f"redis://10.0.0.{number}") for number in range(20)]
    alive("a")
    alive("b")
    alive("lost", seconds_ago=3600)

    sent = dispatch.dispatch(TICK, app)

    assert (sent, queued("poll.a"), queued("poll.b"), queued("poll.lost"), queued("poll")) == (2, 1, 1, 0, 0)
    assert PollLease.objects.count() == len(caches)
    assert Beat.objects.get().at


def test_a_worker_has_one_message_however_many_nodes_it_polls(
    cache_at: CacheAt, queued: Callable[[str], int], settings: Settings
) -> None:
    settings.POLL_BATCH_NODES = 2
    caches = [cache_at(f"redis://10.0.0.{number}").pk for number in range(5)]
    alive("a")

    assert dispatch.dispatch(TICK, app) == 1
    assert queued("poll.a") == 1
    assert list(dispatch.parts("poll.a", [(pk, 9) for pk in caches])) == [caches]


def test_it_cuts_what_any_worker_may_take_into_batches(
    cache_at: CacheAt, queued: Callable[[str], int], settings: Settings
) -> None:
    settings.POLL_BATCH_NODES = 2
    for number in range(5):
        cache_at(f"redis://10.0.0.{number}")

    assert dispatch.dispatch(TICK, app) == 3
    assert queued("poll") == 3


def test_it_uses_the_common_queue_where_no_worker_is_known(cache_at: CacheAt, queued: Callable[[str], int]) -> None:
    cache_at("redis://10.0.0.1")

    dispatch.dispatch(TICK, app)

    assert queued("poll") == 1


def test_it_leaves_out_what_is_paused_out_of_reach_or_not_due(cache_at: CacheAt, queued: Callable[[str], int]) -> None:
    cache_at("redis://10.0.0.1", is_paused=True)
    cache_at("redis://10.0.0.2", poll_interval_seconds=60)
    cache_at("redis://10.0.0.3", reach=Reach.SERVICE)

    assert dispatch.dispatch(TICK + 15, app) == 0
    assert queued("poll") == 0


def test_it_counts_present_nodes_only(cache_at: CacheAt) -> None:
    cache = cache_at("redis://10.0.0.1")
    for port in range(3):
        left_at = timezone.now() if port else None
        Node.objects.create(cache=cache, identity=str(port), host="10.0.0.1", port=port, left_at=left_at)

    assert dispatch.due_caches(TICK) == {15: [(cache.pk, 1)]}


def test_it_forgets_workers_that_are_long_gone(db: None, queued: Callable[[str], int]) -> None:
    alive("here")
    alive("gone", seconds_ago=3600)
    app.send_task("collectors.tasks.poll_batch", ([1], TICK), queue="poll.gone")
    assert queued("poll.gone") == 1

    dispatch.forget_lost_workers(app)

    assert queued("poll.gone") == 0
    assert [worker.name for worker in PollWorker.objects.all()] == ["here"]
