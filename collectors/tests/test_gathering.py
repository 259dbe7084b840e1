"""Batches that come together are polled together, each cache once."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from collectors import gathering
from collectors.gathering import Gathering
from launcher.waiting import until

TICK = 1_800_000_000


@pytest.fixture
def made() -> Gathering:
    return Gathering()


def first_of(made: Gathering, cache_ids: list[int], tick: int, stack: ExitStack) -> Future[list[int]]:
    """Let another thread bring the first batch of a tick; return once it waits for more."""
    pool = stack.enter_context(ThreadPoolExecutor(1))
    found = pool.submit(made.gather, cache_ids, tick)
    assert until(lambda: tick in made._waiting, 5, step=0.001)
    return found


def test_a_batch_alone_is_polled_as_it_is(made: Gathering) -> None:
    assert made.gather([3, 1, 2], TICK) == [3, 1, 2]


def test_the_first_thread_takes_along_what_comes_meanwhile(made: Gathering, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "TOGETHER_SECONDS", 0.5)
    with ExitStack() as stack:
        first = first_of(made, [1, 2], TICK, stack)

        second = made.gather([3], TICK)

        assert (first.result(), second) == ([1, 2, 3], [])


def test_a_cache_in_two_batches_is_polled_once(made: Gathering, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "TOGETHER_SECONDS", 0.5)
    with ExitStack() as stack:
        first = first_of(made, [1, 2], TICK, stack)

        made.gather([2, 3, 3], TICK)

        assert first.result() == [1, 2, 3]


def test_ticks_are_polled_apart(made: Gathering, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "TOGETHER_SECONDS", 0.3)
    with ExitStack() as stack:
        early = first_of(made, [1], TICK, stack)

        late = made.gather([2], TICK + 5)

        assert (early.result(), late) == ([1], [2])


def test_what_comes_after_the_moment_is_polled_by_itself(made: Gathering) -> None:
    made.gather([1], TICK)

    assert made.gather([2], TICK) == [2]


def test_nothing_is_lost_or_doubled_between_many_threads(made: Gathering) -> None:
    barrier = threading.Barrier(16)

    def bring(cache_id: int) -> list[int]:
        barrier.wait(5)
        return made.gather([cache_id], TICK)

    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(bring, range(16)))

    assert sorted(cache_id for batch in found for cache_id in batch) == list(range(16))
    assert sum(map(bool, found)) < 16
