"""The hot path of a scan: an asyncio protocol that drives a generator.

The generator writes commands and yields how many replies it waits for, or (a float) how many seconds it
pauses. A task and a future for each slice would cost more than the slice.
"""

import asyncio
import time
from collections.abc import Callable, Generator
from typing import cast

import hiredis

from collectors.connections import Link
from collectors.failures import Cause, ReadError, from_error_reply, from_opening
from collectors.protocol import Reply
from collectors.steps import Step

MISSING = object()
BUFFER_BYTES = 1 << 18
Talk = Generator[int | float, list[Reply], None]


class Pipe(asyncio.BufferedProtocol):
    """A logged-in connection handed over to a scan."""

    def __init__(self, link: Link) -> None:
        self.waiting_since: float | None = None
        self._reader = hiredis.Reader(notEnoughData=MISSING)
        # One for all that is read: to get so much memory anew each time costs as much as to read it.
        self._buffer = bytearray(BUFFER_BYTES)
        self._replies: list[Reply] = []
        self._wanted = 0
        self._talk: Talk | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._lost: Exception | None = None
        self._transport = link.hand_over(self)
        self.write: Callable[[bytes], None] = self._transport.write

    async def drive(self, talk: Talk) -> None:
        """Run a generator to its end. Raise ReadError where the connection fails, and what the generator raises."""
        self._talk = talk
        self._ended = asyncio.get_running_loop().create_future()
        if self._lost:
            self._end(self._lost)
        else:
            self._go_on(None)
        await self._ended

    def get_buffer(self, sizehint: int) -> bytearray:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        try:
            self._reader.feed(cast(bytes, self._buffer), 0, nbytes)
            self._replies.extend(iter(self._reader.gets, MISSING))
        except (hiredis.HiredisError, MemoryError):
            self.fail(from_opening(bytes(self._buffer[:nbytes]), Step.INFO))
            return
        if self._wanted and len(self._replies) >= self._wanted:
            self._hand_out()

    def _hand_out(self) -> None:
        while self._wanted and len(self._replies) >= self._wanted:
            taken, self._replies[: self._wanted] = self._replies[: self._wanted], []
            self._go_on(taken)

    def _go_on(self, taken: list[Reply] | None) -> None:
        """Give the generator what it waited for, and note what it waits for next."""
        assert self._talk is not None
        self._wanted = 0
        try:
            wish = self._talk.send(cast(list[Reply], taken))
        except StopIteration:
            self._end(None)
        except BaseException as error:
            self._end(error)
        else:
            self._wait_for(wish)

    def _wait_for(self, wish: int | float) -> None:
        if isinstance(wish, float):
            self.waiting_since = None
            self._timer = asyncio.get_running_loop().call_later(wish, self._resume)
            return
        self._wanted, self.waiting_since = wish, time.monotonic()

    def _resume(self) -> None:
        self._go_on(None)
        self._hand_out()

    def connection_lost(self, exc: Exception | None) -> None:
        first = self._replies[-1] if self._replies else None
        if isinstance(first, hiredis.ReplyError):
            self.fail(from_error_reply(str(first), Step.INFO))
        else:
            self.fail(ReadError(Step.INFO, Cause.CUT))

    def fail(self, failure: Exception) -> None:
        """End what runs with a failure, and the connection with it."""
        self._lost = self._lost or failure
        self._transport.abort()
        if self._talk:
            self._end(failure)

    def _end(self, error: BaseException | None) -> None:
        talk, self._talk, self._wanted, self.waiting_since = self._talk, None, 0, None
        if self._timer:
            self._timer.cancel()
        if talk:
            talk.close()
        if self._ended.done():
            return
        if error:
            self._ended.set_exception(error)
        else:
            self._ended.set_result(None)

    def close(self) -> None:
        self._lost = self._lost or ReadError(Step.INFO, Cause.CUT)
        self._transport.abort()
