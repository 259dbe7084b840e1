"""Running a stored scan in a worker: the engine walks in the calling thread, a second thread keeps the books.

The books are kept once a second: the lease is renewed, wishes of people are obeyed, progress is written, and
every few seconds the checkpoints from which another worker could go on. When the database is away the walk
goes on; when another worker has taken over, this one ends without a word.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from typing import Any

from django.db import connection
from django.utils import timezone

from collectors.backlog import AWAY
from collectors.keyscan import budget, concluding, holding, markers, results, schedules, starting
from collectors.keyscan.aggregate import Aggregate
from collectors.keyscan.control import Control
from collectors.keyscan.lagging import tell_guards
from collectors.keyscan.models import Scan, ScanShard, ScanState
from collectors.keyscan.node import NodeScan
from collectors.keyscan.noting import biggest_of, note_progress, write_shard
from collectors.keyscan.preparing import engine_of
from collectors.keyscan.progress import NodeProgress
from collectors.keyscan.reasons import Reason
from collectors.keyscan.results import Ending, Found
from collectors.worker import Identity

logger = logging.getLogger(__name__)
BOOKS_SECONDS = 0.5
CHECKPOINT_SECONDS = 5.0
# A checkpoint may take this share of the time: a large one is written more rarely.
CHECKPOINT_SHARE = 0.05
# A paused scan lets its worker go after this long.
PAUSE_HELD_SECONDS = 60.0
# Results wait for a database that is away for so long; then another worker makes them from the checkpoint.
STORE_PATIENCE_SECONDS = 60.0
STORE_RETRY_SECONDS = 1.0
ATTEMPTS = 30
# How long a shard whose replica was promoted may be without another one before the scan pauses.
REPLICA_PATIENCE_SECONDS = 30.0
# How often polls are asked how far the replicas are behind.
LAG_SECONDS = 3.0


def run(scan_id: int) -> None:
    """Run a scan from where it is to its end, unless another worker holds it."""
    scan = holding.claim(scan_id, Identity.name)
    if scan is None:
        return
    if scan.attempts > ATTEMPTS:
        give_up(scan)
        return
    starting.note(scan, Reason.RESUMED if scan.attempts > 1 else Reason.TAKEN_UP)
    markers.begin(scan)
    Runner(scan).run()


def give_up(scan: Scan) -> None:
    """End a scan that brought down every worker that took it up, or that none could bring to its end."""
    found = [Found(shard, 0, Aggregate()) for shard in scan.shards.all()]
    results.store(scan, found, Ending(ScanState.FAILED, Reason.CRASHED, {"count": ATTEMPTS}), {})


class Runner:
    """One attempt at one scan."""

    def __init__(self, scan: Scan) -> None:
        self.scan = scan
        self.shards = list(scan.shards.select_related("node"))
        self.control = Control(scan.brake)
        self.brake = scan.brake
        self.ended = threading.Event()
        # Why this attempt ends before the scan does.
        self.is_lost = self.is_handed_over = False
        self.spent: budget.Spent | None = None
        self.fresh: dict[int, bytes] = {}
        self.biggest: dict[int, list[list[Any]]] = {}
        self.progress: Sequence[NodeProgress] = ()
        self.busy_before = {shard.pk: shard.busy_seconds for shard in self.shards}
        self._checkpoint_at = time.monotonic()
        self._paused_since: float | None = None
        self._lag_at = 0.0
        self.engine = engine_of(scan, self.shards, self.control, self.observe)

    def run(self) -> None:
        self._go_on()
        books = threading.Thread(target=self._keep_books, name=f"scan-{self.scan.pk}", daemon=True)
        books.start()
        try:
            self.engine.run()
        finally:
            self.ended.set()
            books.join()
        if self.is_lost:
            logger.warning("Scan %d is run by another worker by now.", self.scan.pk)
        elif self.is_handed_over:
            self._hand_over()
        else:
            self._finish()

    def _go_on(self) -> None:
        """Take up the checkpoints of an earlier attempt; a damaged one begins its shard anew."""
        for shard in self.shards:
            if shard.checkpoint:
                try:
                    self.engine.resume({shard.address: bytes(shard.checkpoint)})
                except (ValueError, KeyError):
                    logger.warning("The checkpoint of scan %d, %s cannot be read.", self.scan.pk, shard.address)

    def observe(self, progress: Sequence[NodeProgress]) -> None:
        """Note how far the walk is. Called in the engine's thread, which alone may look at aggregates."""
        self.progress = progress
        self.biggest = {shard.pk: biggest_of(node) for shard, node in self._pairs()}
        if time.monotonic() < self._checkpoint_at and not self.control.is_stopped:
            return
        began = time.monotonic()
        for shard, node in self._pairs():
            if data := self.engine.checkpoint(node.target.label):
                self.fresh[shard.pk] = data
        took = time.monotonic() - began
        self._checkpoint_at = time.monotonic() + max(CHECKPOINT_SECONDS, took / CHECKPOINT_SHARE)

    def _pairs(self) -> list[tuple[ScanShard, NodeScan]]:
        """Return the nodes with their rows; while slots or primaries move, a node may be without one for a moment."""
        rows = {shard.address: shard for shard in list(self.shards)}
        return [(row, node) for node in self.engine.nodes if (row := rows.get(node.target.label))]

    def _keep_books(self) -> None:
        while not self.ended.wait(BOOKS_SECONDS):
            try:
                self._write_books()
            except AWAY as error:
                # The walk goes on; whoever takes over meanwhile has as little of a database as this one.
                logger.warning("Scan %d cannot write its progress: %s", self.scan.pk, type(error).__name__)
                connection.close()
        connection.close()

    def _write_books(self) -> None:
        if not holding.renew(self.scan):
            self.is_lost = True
            self.control.stop()
            return
        self._obey()
        self._write_progress()
        if time.monotonic() >= self._lag_at:
            self._lag_at = time.monotonic() + LAG_SECONDS
            tell_guards(self.scan.cache_id, list(self.engine.nodes), timezone.now())

    def _obey(self) -> None:
        """Do what people, the window, the budget and the process that ends wish for."""
        state, brake = Scan.objects.values_list("state", "brake").get(pk=self.scan.pk)
        self.scan.state = state
        if brake != self.brake:
            self.brake = brake
            self.control.set_brake(brake)
        if state == ScanState.PAUSED:
            self._pause()
        elif self.control.is_paused:
            self._paused_since = None
            for node in self.engine.nodes:
                node.bereft_since = node.bereft_since and time.monotonic()
            self.control.resume()
        if state == ScanState.STOPPING:
            self.control.stop()
        elif Identity.stopping.is_set():
            self._let_go()
        else:
            self._keep_limits()

    def _pause(self) -> None:
        if self._paused_since is None:
            self._paused_since = time.monotonic()
            self.control.pause()
        elif time.monotonic() - self._paused_since > PAUSE_HELD_SECONDS:
            self._let_go()

    def _let_go(self) -> None:
        self.is_handed_over = True
        self.control.stop()

    def _keep_limits(self) -> None:
        if self.scan.state == ScanState.RUNNING and schedules.is_window_over(self.scan):
            starting.pause(self.scan, cause=Reason.WINDOW_OVER)
        if self.scan.state == ScanState.RUNNING and (node := self._bereft()):
            place = {"address": node.target.label, "shard": node.target.shard}
            starting.pause(self.scan, cause=Reason.PROMOTED, **place)
        if self.spent is None and (spent := budget.spent(self.scan, self.shards)):
            self.spent = spent
            self.control.stop()

    def _bereft(self) -> NodeScan | None:
        """Return a node whose shard has had no replica to read for too long."""
        edge = time.monotonic() - REPLICA_PATIENCE_SECONDS
        return next((node for node in self.engine.nodes if node.bereft_since and node.bereft_since < edge), None)

    def _write_progress(self) -> None:
        told = {seen.label: seen for seen in self.progress}
        for shard, node in self._pairs():
            shard.busy_seconds = self.busy_before.get(shard.pk, 0.0) + node.gate.busy_seconds
            if seen := told.get(node.target.label):
                note_progress(shard, node, seen, self.biggest.get(shard.pk, []))
            data = self.fresh.pop(shard.pk, None)
            write_shard(shard, data)
        shards = list(self.shards)
        keys, size = sum(shard.keys for shard in shards), sum(shard.bytes for shard in shards)
        holding.held(self.scan).update(keys=keys, bytes=size)

    def _hand_over(self) -> None:
        """Leave everything to the next worker: the state stays what people wished for."""
        self._write_progress()
        starting.note(self.scan, Reason.HANDED_OVER)
        holding.release(self.scan)

    def _finish(self) -> None:
        self._write_last_progress()
        deadline = time.monotonic() + STORE_PATIENCE_SECONDS
        while True:
            try:
                self._store()
            except AWAY:
                connection.close()
                if time.monotonic() > deadline:
                    raise
                time.sleep(STORE_RETRY_SECONDS)
            else:
                return

    def _store(self) -> None:
        if holding.renew(self.scan):
            self.scan.refresh_from_db(fields=("state",))
            ending = concluding.ending_of(self.engine, self.scan.state == ScanState.STOPPING, self.spent)
            extra = concluding.extra_of(self.engine)
            results.store(self.scan, concluding.found_in(self._pairs()), ending, extra)

    def _write_last_progress(self) -> None:
        try:
            self._write_progress()
        except AWAY:
            connection.close()
