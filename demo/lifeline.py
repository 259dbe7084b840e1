"""Processes that end when they are told to, and when their parent is gone."""

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Callable

PR_SET_PDEATHSIG = 1
libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def follow_parent(parent: int) -> None:
    """Ask the kernel to end this process with SIGTERM when its parent ends; Linux only.

    `parent` is the process id that the parent had: it may have died before the kernel was asked.
    """
    if libc is None:
        return
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)


def child_of_this() -> Callable[[], None]:
    """Return what a child runs between fork and exec, so that it does not outlive this process."""
    parent = os.getpid()
    return lambda: follow_parent(parent)


def end_event() -> threading.Event:
    """Return an event that SIGTERM, SIGINT, SIGHUP or the end of the parent sets."""
    ending = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: ending.set())
    follow_parent(os.getppid())
    return ending
