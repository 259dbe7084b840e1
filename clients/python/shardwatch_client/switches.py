"""The door for applications: says whether a cache may be used, at the cost of a look into a dictionary."""

import logging
import os
import threading

from shardwatch_client.keeper import Keeper
from shardwatch_client.options import Options
from shardwatch_client.state import Endpoint

logger = logging.getLogger("shardwatch_client")
# How soon a process looks again whether the one that asks has its answer.
LOOK_AGAIN_SECONDS = 0.05


class Switches:
    """The switches of an application in one process; a thread of its own keeps them fresh.

    The thread starts with the first question, and anew in a forked process. The first question waits for the first
    answer, as long as that may take.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self._keeper = Keeper(options)
        self._starting = threading.Lock()
        self._closed = threading.Event()
        self._pid = 0

    def can_use(self, key: str) -> bool:
        if self._pid != os.getpid():
            self._start()
        return self._keeper.can_use(key)

    def endpoint(self, key: str) -> Endpoint | None:
        """Return the address that the switch is bound to; None while none is known."""
        return self._keeper.endpoint(key)

    def age_seconds(self, key: str) -> float | None:
        """Return for how long Shardwatch has not confirmed the switch; None where nothing was ever known."""
        return self._keeper.age_seconds(key)

    @property
    def last_error(self) -> str:
        return self._keeper.known.error

    def close(self) -> None:
        """End the thread; what is known stays as it is."""
        self._closed.set()

    def _start(self) -> None:
        with self._starting:
            if self._pid == os.getpid():
                return
            asked = threading.Event()
            threading.Thread(target=self._keep_asking, args=(asked,), name="shardwatch", daemon=True).start()
            asked.wait(2 * self._options.total_seconds)
            self._pid = os.getpid()

    def _keep_asking(self, asked: threading.Event) -> None:
        pause = 0.0
        while not self._closed.wait(pause):
            try:
                fresh = self._keeper.renew()
            except Exception:
                # A thread that died would leave the process with its last values for ever, off or on.
                logger.exception("The switches could not be renewed.")
                fresh = False
            pause = self._pause() if fresh else LOOK_AGAIN_SECONDS
            if fresh:
                asked.set()

    def _pause(self) -> float:
        return max(LOOK_AGAIN_SECONDS, min(30.0, self._keeper.known.due - self._options.clock()))
