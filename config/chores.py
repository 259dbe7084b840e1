"""Chores: small tasks that are due every few seconds. Those of one queue and period share a message.

A message costs beat, the broker and its worker more than most chores do. Each chore stays a task of its own name and is
kept apart from the others: one that fails is logged, and one that takes long goes on beside them.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from django.db import close_old_connections, connections

logger = logging.getLogger(__name__)
# A chore that takes longer leaves the row: the others go on without it.
PATIENCE_SECONDS = 1.0


class Crew:
    """Does the chores of a process one after the other, in a thread with a database connection of its own."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._hand: ThreadPoolExecutor | None = None
        self._under_way: set[str] = set()

    def run(self, chores: Mapping[str, Callable[[], object]], patience: float = PATIENCE_SECONDS) -> None:
        """Do the chores in their order; one that is still under way from before is left to go on."""
        with self._turn:
            self._hands().submit(close_old_connections)
            for name, chore in chores.items():
                if name in self._under_way:
                    logger.warning("The chore %s is still under way.", name)
                else:
                    self._do(name, chore, patience)

    def _do(self, name: str, chore: Callable[[], object], patience: float) -> None:
        self._under_way.add(name)
        done = self._hands().submit(self._done, name, chore)
        try:
            done.result(patience)
        except TimeoutError:
            logger.warning("The chore %s takes more than %g s; the others go on beside it.", name, patience)
            self._let_go()

    def _hands(self) -> ThreadPoolExecutor:
        self._hand = self._hand or ThreadPoolExecutor(1, "chores")
        return self._hand

    def _let_go(self) -> None:
        """Leave the thread to what it does: it closes its connection after that, and ends."""
        hand, self._hand = self._hands(), None
        hand.submit(connections.close_all)
        hand.shutdown(wait=False)

    def _done(self, name: str, chore: Callable[[], object]) -> None:
        began = time.monotonic()
        try:
            chore()
        # A mistake in one chore must not stop the others.
        except Exception:
            logger.exception("The chore %s failed.", name)
            close_old_connections()
        finally:
            self._under_way.discard(name)
            logger.debug("The chore %s took %.3f s.", name, time.monotonic() - began)


crew = Crew()
