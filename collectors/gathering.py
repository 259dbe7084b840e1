"""Batches of one tick that reach this process in the same moment, polled as one.

A poll costs the database about a dozen statements, however many caches it is for. The first batch of a tick
waits a moment and takes along what comes meanwhile; the other threads are free for the next tick at once.
"""

import threading
import time
from collections.abc import Sequence

# Batches of a tick are sent one after the other, about a millisecond apart.
TOGETHER_SECONDS = 0.05


class Gathering:
    """What waits to be polled, by tick."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[int, list[int]] = {}

    def gather(self, cache_ids: Sequence[int], tick: int) -> list[int]:
        """Return the caches to poll now: all that came within the moment, or none where another thread takes these."""
        with self._lock:
            if tick in self._waiting:
                self._waiting[tick] += cache_ids
                return []
            self._waiting[tick] = list(cache_ids)
        time.sleep(TOGETHER_SECONDS)
        with self._lock:
            return list(dict.fromkeys(self._waiting.pop(tick)))
