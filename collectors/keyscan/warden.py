"""Watches a node beside its scan, over a connection of its own: what others feel, and when to hold the scan up."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from collectors.connections import Link, ask
from collectors.failures import ReadError
from collectors.keyscan.asker import Gate
from collectors.keyscan.guards import LIMITS, Limits, Watch, percentile, read_info, vitals_of
from collectors.protocol import INFO, Command

PING: Command = ("PING",)
PING_SECONDS, JUDGE_SECONDS = 0.05, 1.0
# Round trips before the scan: the first few tell what one costs, more of them how it varies.
FIRST_PINGS, BASELINE_PINGS, BASELINE_PAUSE_SECONDS = 10, 40, 0.005
# A guard that lost its connection looks for another one this often.
REGAIN_SECONDS = 2.0


@dataclass(slots=True)
class Warden:
    """One node's guard. While it has no connection the scan goes on unwatched; `is_blind` says so."""

    gate: Gate
    limits: Limits | None
    connect: Callable[[], Awaitable[Link]]
    watch: Watch = field(default_factory=Watch)
    is_blind: bool = False
    _link: Link | None = None
    _task: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Measure the node without the scan, and begin to watch."""
        # What an earlier connection told says nothing of who answers now.
        self.watch.vitals = None
        try:
            self._link = await self.connect()
            await self._measure()
            self.is_blind = False
        except ReadError:
            self._lose_sight()
        self._task = asyncio.create_task(self._keep_watch())

    def end(self) -> None:
        if self._task:
            self._task.cancel()
        self._close()
        self._task = None
        self.gate.hold = None

    def _close(self) -> None:
        if self._link:
            self._link.close()
        self._link = None

    def _lose_sight(self) -> None:
        self._close()
        self.is_blind = True
        self.gate.hold = None

    async def _measure(self) -> None:
        assert self._link is not None
        first = [await self._ping(self._link) for _ in range(FIRST_PINGS)]
        self.gate.pace.base_seconds = min(first)
        if self.watch.baseline:
            return
        if not self.gate.control.brake.streams:
            for _ in range(BASELINE_PINGS):
                await asyncio.sleep(BASELINE_PAUSE_SECONDS)
                first.append(await self._ping(self._link))
        self.watch.round_trips.extend(first)
        self.watch.baseline = percentile(self.watch.round_trips)

    async def _ping(self, link: Link) -> float:
        began = time.monotonic()
        await ask(link, [PING])
        return time.monotonic() - began

    async def _keep_watch(self) -> None:
        """Watch for as long as the scan lasts. A lost node is for the scan's own connection to tell."""
        while True:
            try:
                await self._watch(self._link or await self._regain())
            except ReadError:
                self._lose_sight()

    async def _regain(self) -> Link:
        await asyncio.sleep(REGAIN_SECONDS)
        self._link = await self.connect()
        if not self.watch.baseline:
            await self._measure()
        self.is_blind = False
        return self._link

    async def _watch(self, link: Link) -> None:
        judged = 0.0
        while True:
            self.watch.round_trips.append(await self._ping(link))
            if time.monotonic() - judged >= JUDGE_SECONDS:
                judged = time.monotonic()
                await self._judge(link)
            await asyncio.sleep(PING_SECONDS)

    async def _judge(self, link: Link) -> None:
        (reply,) = await ask(link, [INFO])
        if isinstance(reply, bytes):
            self.watch.take(vitals_of(read_info(reply), time.monotonic()), self.gate.commands)
        was_held = self.gate.hold is not None
        limits = self.limits or LIMITS.get(self.gate.control.brake.name, Limits())
        self.gate.hold = self.watch.judge(limits)
        if self.gate.hold is None:
            self.gate.pace.recover()
        elif not was_held:
            self.gate.pace.ease_off()
            # Only what others feel without the scan says when it may go on.
            self.watch.round_trips.clear()
