"""One go over some nodes: everything is asked at once, and answers are handed over as they come.

A round runs on the background loop; the thread that polls waits for it and takes what has come. Nodes
that failed the last time are asked too, but nobody waits for them.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings

from collectors import background
from collectors.connections import Link
from collectors.failures import Cause, ReadError
from collectors.leases import poll_limit_seconds
from collectors.models import Step
from collectors.plans import Plan
from collectors.source import Reply
from collectors.targets import Target

# How long everybody gets before those that failed the last time are waited for no more.
GRACE_SECONDS = 0.25
# Answers are written at the latest this long after the round began, then as they come.
FIRST_WRITE_SECONDS = 1.0
LATER_WRITES_SECONDS = 0.5
# A connection whose last question is unanswered is kept for so long: a stuck server must not collect new ones.
UNANSWERED_SECONDS = 60
# Between so many writes the loop looks for replies, so that round trips are timed right.
WRITES_AT_ONCE = 8


@dataclass(slots=True, eq=False)
class Request:
    """What one node is asked in this round."""

    target: Target
    plan: Plan
    is_held: bool = True
    is_done: bool = False
    link: Link | None = None
    sent_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: replies in the order of the commands, or the failure. Times are seconds."""

    request: Request
    replies: list[Reply]
    failure: ReadError | None
    after_seconds: float
    round_trip_seconds: float


@dataclass(slots=True)
class Round:
    """The requests of one round and the answers so far."""

    requests: Sequence[Request]
    answers: deque[Answer] = field(default_factory=deque)
    all_done: threading.Event = field(default_factory=threading.Event)
    held_done: threading.Event = field(default_factory=threading.Event)
    begun_at: float = 0.0
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _open: int = 0
    _held: int = 0

    def run(self) -> Iterator[list[Answer]]:
        """Ask all nodes; yield answers as they come, each node's once. A yielded list may be empty."""
        self._start()
        self.all_done.wait(GRACE_SECONDS)
        self.held_done.wait(FIRST_WRITE_SECONDS - GRACE_SECONDS)
        deadline = time.monotonic() + poll_limit_seconds()
        while not self.held_done.is_set() and time.monotonic() < deadline:
            yield self._take()
            self.held_done.wait(LATER_WRITES_SECONDS)
        if not self.all_done.is_set():
            background.loop().call_soon_threadsafe(self._close)
            self.all_done.wait(LATER_WRITES_SECONDS)
        yield self._take()

    def _take(self) -> list[Answer]:
        return [self.answers.popleft() for _ in range(len(self.answers))]

    def _start(self) -> None:
        for request in self.requests:
            request.is_held = request.target.failure is None
        self._open = len(self.requests)
        self._held = sum(request.is_held for request in self.requests)
        self._mark()
        self.begun_at = time.monotonic()
        background.loop().call_soon_threadsafe(lambda: self._spawn(self._send_all()))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send_all(self) -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(settings.POLL_COMMAND_TIMEOUT_SECONDS, self._expire)
        loop.call_later(poll_limit_seconds(), self._close)
        for count, request in enumerate(self.requests, start=1):
            self._send(request)
            if count % WRITES_AT_ONCE == 0:
                await asyncio.sleep(0)

    def _send(self, request: Request) -> None:
        link, opening = request.target.link, request.target.opening
        if link is None or link.lost or (opening and not opening.done()):
            self._spawn(self._connect(request))
        elif link.busy_since is None:
            self._ask(request, link, is_kept=True)
        elif time.monotonic() - link.busy_since < UNANSWERED_SECONDS:
            self._finish(request, ReadError(request.target.step, Cause.SILENT))
        else:
            request.target.drop()
            self._spawn(self._connect(request))

    async def _connect(self, request: Request) -> None:
        """Wait for the node's connection. An attempt goes on after its round, and the next one takes it over."""
        target = request.target
        if target.opening is None or target.opening.done():
            target.opening = asyncio.get_running_loop().create_task(target.open())
            target.opening.add_done_callback(_retrieve)
        try:
            link = await asyncio.shield(target.opening)
        except ReadError as failure:
            self._finish(request, failure)
        except asyncio.CancelledError:
            self._finish(request, ReadError(Step.CONNECT, Cause.CUT))
        else:
            self._ask(request, link, is_kept=False)

    def _ask(self, request: Request, link: Link, is_kept: bool) -> None:
        if request.is_done:
            return
        if link.busy_since is not None:
            self._finish(request, ReadError(request.target.step, Cause.SILENT))
            return
        request.link, request.sent_at = link, time.monotonic()

        def done(result: list[Reply] | ReadError) -> None:
            # A kept connection may have been closed by the server meanwhile: that is no failure yet.
            if isinstance(result, ReadError) and is_kept and not request.is_done and result.cause is Cause.CUT:
                self._spawn(self._connect(request))
            else:
                self._finish(request, result)

        link.request(request.plan.payload, len(request.plan.commands), done, request.target.step)

    def _expire(self) -> None:
        """Give up on nodes that have been asked for long enough; their connections are kept."""
        oldest = time.monotonic() - settings.POLL_COMMAND_TIMEOUT_SECONDS + 0.01
        for request in self.requests:
            if not request.is_done and request.link and request.sent_at <= oldest:
                request.link.abandon()
                self._finish(request, ReadError(request.target.step, Cause.SILENT))

    def _close(self) -> None:
        """End the round: who has not answered by now failed."""
        for request in self.requests:
            if request.is_done:
                continue
            if request.link:
                request.link.abandon()
            waiting = Cause.SILENT if request.link else Cause.CONNECT_SLOW
            step = request.target.step if request.link else Step.CONNECT
            self._finish(request, request.target.failure or ReadError(step, waiting))

    def _finish(self, request: Request, result: list[Reply] | ReadError) -> None:
        if request.is_done:
            return
        request.is_done = True
        now = time.monotonic()
        failure = result if isinstance(result, ReadError) else None
        replies = [] if isinstance(result, ReadError) else result
        self.answers.append(Answer(request, replies, failure, now - self.begun_at, now - request.sent_at))
        self._open -= 1
        self._held -= request.is_held
        self._mark()

    def _mark(self) -> None:
        if not self._open:
            self.all_done.set()
        if not self._held:
            self.held_done.set()


def _retrieve(task: asyncio.Task[Link]) -> None:
    """Look at the outcome, so that asyncio does not report an attempt that nobody waits for any more."""
    if not task.cancelled():
        task.exception()
