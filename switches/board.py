"""What one web process knows of the switches: a snapshot that a thread of its own keeps up to date.

The thread begins with the first request. Postgres says when something changed, and is asked again twice a second in
case it was not heard. While Postgres is away the last snapshot stays, at a start the one from the file.
"""

import atexit
import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psycopg

from switches.reports import Reports, columns
from switches.snapshot import Snapshot, SnapshotUnreadableError, packed, unpacked
from switches.store import Store

logger = logging.getLogger(__name__)
WAIT_SECONDS = 0.5
# Without contact for so long, answers say that they may be old.
STALE_SECONDS = 3.0
# Everything is read again although nothing seems changed: no trigger covers all that an answer shows.
RELOAD_SECONDS = 30.0
USES_SECONDS = 60.0
FIRST_ANSWER_SECONDS = 3.0
SHORTEST_PAUSE, LONGEST_PAUSE = 0.1, 1.0


class Board:
    """The newest snapshot, None before the first; and the reports that wait to be written."""

    def __init__(self, file: Path | None, open_store: Callable[[], Store] = Store) -> None:
        self.snapshot: Snapshot | None = None
        self.fresh_until = 0.0
        self.reports = Reports()
        self._file, self._open_store = file, open_store
        self._contact = self._reload_at = self._uses_at = 0.0
        self._begun, self._tried, self._ended = threading.Lock(), threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        # Taken for granted at first, so that only an outage is worth a line in the log.
        self._is_connected = True
        # Switches and client keys that were asked for since that was last written.
        self._used: tuple[set[int], set[int]] = (set(), set())

    def begin(self) -> Snapshot | None:
        """Start the thread where it does not run; return the snapshot, waiting a moment for the first."""
        with self._begun:
            if self._thread is None:
                self._recall()
                self._thread = threading.Thread(target=self._run, name="switches", daemon=True)
                self._thread.start()
                atexit.register(self.stop)
        self._tried.wait(FIRST_ANSWER_SECONDS)
        return self.snapshot

    def stop(self) -> None:
        """End the thread, with what waited written."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(FIRST_ANSWER_SECONDS)
        atexit.unregister(self.stop)

    def stale_seconds(self) -> int:
        """Return how long ago the database was heard last."""
        return max(int(time.monotonic() - self._contact), 0)

    def _recall(self) -> None:
        """Begin with what the file says, until the database is heard."""
        if self._file is None:
            return
        try:
            self.snapshot = unpacked(self._file.read_bytes())
            self._contact = time.monotonic() - max(time.time() - self._file.stat().st_mtime, 0)
        except FileNotFoundError:
            return
        except (OSError, SnapshotUnreadableError) as error:
            logger.warning("The switches in %s cannot be read: %s", self._file, error)

    def _run(self) -> None:
        pause = SHORTEST_PAUSE
        while not self._ended.is_set():
            try:
                self._follow(self._open_store())
            except (psycopg.Error, OSError, SnapshotUnreadableError) as error:
                pause = SHORTEST_PAUSE if self._is_connected else min(2 * pause, LONGEST_PAUSE)
                self._note_contact(False, type(error).__name__)
            self._tried.set()
            self._ended.wait(pause)

    def _note_contact(self, is_connected: bool, words: str = "") -> None:
        """Say so once when the database goes, and once when it is back."""
        if self._is_connected and not is_connected:
            logger.warning("The database is away: switches are answered from memory. %s", words)
        elif is_connected and not self._is_connected:
            logger.info("The database is back: switches are answered from it.")
        self._is_connected = is_connected

    def _follow(self, store: Store) -> None:
        try:
            while True:
                self._refresh(store)
                self._tried.set()
                self._write(store)
                if self._ended.is_set():
                    return
                store.wait(WAIT_SECONDS)
        finally:
            store.close()

    def _refresh(self, store: Store) -> None:
        known, now = self.snapshot.place if self.snapshot else (0, 0), time.monotonic()
        if store.place() != known or now > self._reload_at:
            found = store.read()
            if found.place < known:
                logger.warning("The database went back in time: a new epoch begins after %s.", known)
                store.raise_epoch(known)
                found = store.read()
            self._take(found)
            self._reload_at = now + RELOAD_SECONDS
        self._note_contact(True)
        self._contact = now
        self.fresh_until = now + STALE_SECONDS

    def _take(self, snapshot: Snapshot) -> None:
        # The answers made so far stay good where nothing changed.
        if self.snapshot is None or self.snapshot.document != snapshot.document:
            self._gather_uses()
            self.snapshot = snapshot
        if self._file is None:
            return
        try:
            # Also where nothing changed: its time says when the database was heard.
            _replace(self._file, packed(snapshot))
        except OSError as error:
            logger.warning("The switches cannot be kept in %s: %s", self._file, error)

    def _write(self, store: Store) -> None:
        reports = self.reports.take()
        try:
            if reports:
                store.write_reports(columns(reports))
        except psycopg.Error:
            self.reports.give_back(reports)
            raise
        if time.monotonic() > self._uses_at:
            self._gather_uses()
            store.write_uses(*self._used)
            self._used = (set(), set())
            self._uses_at = time.monotonic() + USES_SECONDS

    def _gather_uses(self) -> None:
        """Note which switches and keys were asked for since the last time."""
        for answer in list(self.snapshot.answers.values()) if self.snapshot else ():
            if answer.is_used:
                answer.is_used = False
                self._used[0].update(answer.switch_ids)
                self._used[1].add(answer.key_id)


def _replace(path: Path, content: bytes) -> None:
    """Replace a file in one step, readable by this account alone."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    draft.replace(path)
