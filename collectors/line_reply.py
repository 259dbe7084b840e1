"""A long text reply, read line by line as it comes and never held whole."""

import asyncio
from collections.abc import Callable

from collectors.failures import Cause, ReadError, from_error_reply
from collectors.steps import Step

HEADER_LIMIT = 1_000
# Of a longer line only the beginning is read.
LINE_LIMIT = 8_192
# No list of connections is longer: a million of them.
REPLY_LIMIT_BYTES = 512 * 2**20


class LineReply(asyncio.Protocol):
    """Hands each line of one reply to `take`. `done` ends with the bytes read, or with a ReadError."""

    def __init__(self, take: Callable[[bytes], None], done: asyncio.Future[int]) -> None:
        self._take, self._done = take, done
        self._header = b""
        self._left: int | None = None
        self._size = 0
        self._rest = b""

    def data_received(self, data: bytes) -> None:
        if self._done.done():
            return
        if self._left is None:
            data = self._open(data)
        if self._left is not None:
            self._read(data)

    def _open(self, data: bytes) -> bytes:
        """Read the header; return what follows it."""
        self._header += data
        header, end, rest = self._header.partition(b"\r\n")
        if not end:
            if len(self._header) > HEADER_LIMIT:
                self._fail(ReadError(Step.INFO, Cause.GARBAGE, header[:60]))
            return b""
        if header[:1] == b"-":
            self._fail(from_error_reply(header[1:].decode("utf-8", "replace"), Step.INFO))
        elif header[:1] != b"$" or not header[1:].isdigit() or len(header) > 20:
            self._fail(ReadError(Step.INFO, Cause.GARBAGE, header[:60]))
        elif int(header[1:]) > REPLY_LIMIT_BYTES:
            self._fail(ReadError(Step.INFO, Cause.TOO_LONG))
        else:
            self._size = self._left = int(header[1:])
        self._header = b""
        return rest

    def _read(self, data: bytes) -> None:
        assert self._left is not None
        data = data[: self._left]
        self._left -= len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._rest = self._rest[:LINE_LIMIT]
        for line in lines:
            self._take(line[:LINE_LIMIT])
        if self._left == 0:
            self._take(self._rest)
            self._done.set_result(self._size)

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(ReadError(Step.INFO, Cause.CUT))

    def _fail(self, failure: ReadError) -> None:
        if not self._done.done():
            self._done.set_exception(failure)
