"""A scan: all its nodes on one loop in the thread that calls, watched and steered from outside."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from collectors.failures import ReadError
from collectors.keyscan import part
from collectors.keyscan.job import Job, UnservedError
from collectors.keyscan.node import NodeScan
from collectors.keyscan.progress import NodeProgress
from collectors.keyscan.targets import Target

CHECK_SECONDS, OBSERVE_SECONDS = 0.1, 1.0
# How often nodes are scanned anew whose slots moved meanwhile.
ROUNDS = 3

Observe = Callable[[Sequence[NodeProgress]], None]


def look_away(_progress: Sequence[NodeProgress]) -> None:
    return


@dataclass(slots=True)
class _Mark:
    """Counts at a moment, to reckon rates from."""

    at: float
    keys: int = 0
    commands: int = 0
    busy_seconds: float = 0.0


class Scan:
    """`run` blocks until every node is done, failed or stopped; `nodes` then hold what was found.

    `observe` is called in the loop's thread about once a second and at the end. It must not take long;
    `checkpoint` may be called in it.
    """

    def __init__(self, job: Job, targets: Iterable[Target], observe: Observe = look_away) -> None:
        self.job = job
        self.nodes = [NodeScan(target, job) for target in targets]
        self.observe = observe
        self.seconds = 0.0
        # Whether every slot stayed where it was scanned.
        self.is_settled = True
        self._marks: dict[int, tuple[_Mark, _Mark]] = {}

    def resume(self, saved: Mapping[str, bytes]) -> None:
        """Go on from checkpoints, by the label of the node; one of another run of a server is not used."""
        for node in self.nodes:
            if node.target.label in saved:
                node.resume(part.load(self.job, saved[node.target.label]))

    def checkpoint(self, label: str) -> bytes | None:
        """Return all that is needed to go on with a node in another process; None before it is reached."""
        node = next(node for node in self.nodes if node.target.label == label)
        if node.abilities is None:
            return None
        return part.dump(node.abilities.identity, node.parts)

    def run(self) -> None:
        began = time.monotonic()
        asyncio.run(self._run())
        self.seconds = time.monotonic() - began

    async def _run(self) -> None:
        watching = asyncio.create_task(self._watch())
        due = self.nodes
        for _ in range(ROUNDS):
            await asyncio.gather(*(node.run() for node in due))
            try:
                due = await self._moved()
            except UnservedError:
                break
            if not due:
                break
        self.is_settled = not due
        watching.cancel()
        self.observe(self.progress())

    async def _moved(self) -> list[NodeScan]:
        """Return new scans of the nodes whose slots are not those that were scanned; they take the place of the old."""
        if self.job.survey is None or self.job.control.is_stopped:
            return []
        try:
            found = await asyncio.to_thread(self.job.survey)
        except ReadError:
            return []
        scanned = {node.target.slots: node for node in self.nodes if not node.moved}
        kept = [scanned[target.slots] for target in found if target.slots in scanned]
        due = [NodeScan(target, self.job) for target in found if target.slots not in scanned]
        if due:
            self.nodes = [*kept, *due]
        return due

    async def _watch(self) -> None:
        observed = time.monotonic()
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            for node in self.nodes:
                node.check()
            if time.monotonic() - observed >= OBSERVE_SECONDS:
                observed = time.monotonic()
                self.observe(self.progress())

    @property
    def ratio(self) -> float:
        """Return how far all of it is, 0 to 1."""
        total = sum(part.total for node in self.nodes for part in node.parts)
        return min(sum(node.visited for node in self.nodes) / total, 1.0) if total else 1.0

    def progress(self) -> list[NodeProgress]:
        return [self._progress_of(node) for node in self.nodes]

    def _progress_of(self, node: NodeScan) -> NodeProgress:
        now = _Mark(time.monotonic(), node.visited, node.gate.commands, node.gate.busy_seconds)
        before = self._mark(node, now)
        seconds = max(now.at - before.at, 1e-6)
        current = node.current
        return NodeProgress(
            label=node.target.label,
            state=node.shown_state,
            db=current.db if current else 0,
            cursor=int(current.walk.cursor) if current else 0,
            keys=node.visited,
            total=sum(each.total for each in node.parts),
            bytes=sum(each.aggregate.bytes for each in node.parts),
            keys_per_second=(now.keys - before.keys) / seconds,
            commands_per_second=(now.commands - before.commands) / seconds,
            busy_ratio=min((now.busy_seconds - before.busy_seconds) / seconds, 1.0),
            cpu_ratio=node.warden.watch.cpu_ratio,
            round_trip_seconds=node.warden.watch.round_trip,
            baseline_seconds=node.warden.watch.baseline,
            hold=node.gate.hold,
            ease=node.gate.pace.ease,
            brake=node.gate.control.brake.name,
            reconnects=node.reconnects,
            restarts=node.restarts,
            is_blind=node.warden.is_blind,
        )

    def _mark(self, node: NodeScan, now: _Mark) -> _Mark:
        """Return counts of about a second ago."""
        old, new = self._marks.get(id(node), (_Mark(now.at - OBSERVE_SECONDS), now))
        if now.at - new.at >= OBSERVE_SECONDS:
            old, new = new, now
        self._marks[id(node)] = (old, new)
        return old
