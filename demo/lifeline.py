"""Commands that end when they are told to, and when their parent is gone."""

import ctypes
import os
import signal
import sys
import threading

from launcher.children import PR_SET_PDEATHSIG


def end_event() -> threading.Event:
    """Return an event that SIGTERM, SIGINT, SIGHUP or (on Linux) the end of the parent sets."""
    ending = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: ending.set())
    if sys.platform == "linux":
        parent = os.getppid()
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        # The parent may have died before the kernel was asked.
        if os.getppid() != parent:
            ending.set()
    return ending
