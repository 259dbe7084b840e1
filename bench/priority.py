"""Keeping the noise of the machine out of a measure: real-time priority and a core each, where that is allowed.

At normal priority other processes make round trips several times as long, and with them any ratio worthless.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from functools import cache

import psutil

SERVER_CORE, CLIENT_CORE = 0, 1
CLIENT, FOREGROUND = 1, 10


@cache
def is_allowed() -> bool:
    """Return whether this account may give processes real-time priority and there are two cores."""
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(CLIENT))
        os.sched_setscheduler(0, before[0], before[1])
    except PermissionError:
        return False
    return len(os.sched_getaffinity(0)) > 1


def set_up(level: int = CLIENT, core: int | None = CLIENT_CORE) -> Callable[[], None] | None:
    """Return what a child process does before it begins, to run undisturbed; None where that is not allowed."""
    if not is_allowed():
        return None

    def prepare() -> None:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(level))
        if core is not None:
            os.sched_setaffinity(0, {core})

    return prepare


@contextlib.contextmanager
def undisturbed(pids: list[int], core: int | None = SERVER_CORE) -> Iterator[None]:
    """Run servers at real-time priority for as long as this lasts: short, for others stand still meanwhile."""
    threads = [thread.id for pid in pids for thread in psutil.Process(pid).threads()] if is_allowed() else []
    everything = os.sched_getaffinity(0)
    for thread in threads:
        os.sched_setscheduler(thread, os.SCHED_FIFO, os.sched_param(CLIENT))
        os.sched_setaffinity(thread, everything if core is None else {core})
    try:
        yield
    finally:
        for thread in threads:
            with contextlib.suppress(ProcessLookupError):
                os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))
                os.sched_setaffinity(thread, everything)
