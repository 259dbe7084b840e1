"""Memcached's text protocol: commands are lines, and each reply ends with END or is one line."""

from collections.abc import Sequence

import hiredis

from collectors.connections import Access
from collectors.dialect import MISSING, Dialect
from collectors.failures import Cause, ReadError, from_opening
from collectors.memcached.binary import look_again
from collectors.memcached.conns import CONNS, client_lines
from collectors.protocol import Command
from collectors.steps import Step

STATS: Command = ("stats",)
# As long as a header of the binary protocol: a server that speaks only that waits for all of one before it hangs up.
DOOR: Command = (f"{'version':24}",)
END = b"END\r\n"
ERRORS = (b"ERROR", b"CLIENT_ERROR", b"SERVER_ERROR")
SINGLE_LINES = (*ERRORS, b"VERSION ", b"STORED", b"OK", b"RESET")
# `config get cluster`: CONFIG cluster 0 <bytes>, then as many bytes of a value.
CONFIG = b"CONFIG "
# No single line that we ask for is longer; nor is the list of a cluster's nodes.
LINE_LIMIT, CONFIG_LIMIT = 2_048, 1_048_576
# How Redis and Valkey begin their replies.
OF_REDIS = (b"-", b"$", b"+", b":")
# ASCII authentication (-Y): any key and flags will do; the value holds user and password.
LOGIN = ("set", "shardwatch", "0", "0")


class TextReader:
    """Cuts replies out of the stream: the lines before END as one text, or a single line."""

    def __init__(self) -> None:
        self._buffer = b""
        # Up to here no END was found.
        self._searched = 0

    def feed(self, data: bytes) -> None:
        self._buffer += data

    def gets(self) -> object:
        """Return the next reply as bytes, an error as hiredis.ReplyError, MISSING while it is not whole.

        Raise hiredis.ProtocolError for a beginning that no reply has.
        """
        buffer = self._buffer
        if not buffer:
            return MISSING
        if buffer.startswith(b"STAT "):
            return self._lines()
        if buffer.startswith(END):
            self._take(len(END))
            return b""
        if buffer.startswith(CONFIG):
            return self._config()
        return self._line()

    def _take(self, size: int) -> None:
        self._buffer, self._searched = self._buffer[size:], 0

    def _lines(self) -> object:
        end = self._buffer.find(b"\r\n" + END, self._searched)
        if end < 0:
            self._searched = max(len(self._buffer) - len(END) - 2, 0)
            return MISSING
        text = self._buffer[: end + 2]
        self._take(end + 2 + len(END))
        return text

    def _config(self) -> object:
        """Return the value after its header: a list of nodes, which holds line breaks of its own."""
        header, newline, _rest = self._buffer.partition(b"\r\n")
        if not newline:
            return self._wait(header)
        size = header.rpartition(b" ")[2]
        if not size.isdigit() or len(size) > 7 or int(size) > CONFIG_LIMIT:
            raise hiredis.ProtocolError("CONFIG without the size of its value")
        start = len(header) + 2
        tail = start + int(size)
        if len(self._buffer) < tail + 2 + len(END):
            return MISSING
        if not self._buffer.startswith(b"\r\n" + END, tail):
            raise hiredis.ProtocolError("CONFIG whose value does not end where it says")
        value = self._buffer[start:tail]
        self._take(tail + 2 + len(END))
        return value

    def _line(self) -> object:
        line, newline, _rest = self._buffer.partition(b"\r\n")
        if not newline:
            return self._wait(line)
        if not line.startswith(SINGLE_LINES):
            raise hiredis.ProtocolError("a line that no reply begins with")
        self._take(len(line) + 2)
        return hiredis.ReplyError(line.decode("utf-8", "replace")) if line.startswith(ERRORS) else line

    def _wait(self, beginning: bytes) -> object:
        """Wait for the rest of a line, unless none can become of it."""
        known = (*SINGLE_LINES, CONFIG, b"STAT ", END)
        is_possible = any(one.startswith(beginning) or beginning.startswith(one) for one in known)
        if len(beginning) > LINE_LIMIT or not is_possible:
            raise hiredis.ProtocolError("a line that no reply begins with")
        return MISSING


def pack(commands: Sequence[Command]) -> bytes:
    """Return commands as they go over the wire, one after the other."""
    return b"".join(" ".join(command).encode() + b"\r\n" for command in commands)


def login(access: Access) -> Command | None:
    """Return the command of ASCII authentication, None where no credentials are set."""
    if not (access.username or access.password):
        return None
    value = f"{access.username} {access.password}"
    return (*LOGIN, f"{len(value.encode())}\r\n{value}")


def opening(beginning: bytes, step: Step) -> ReadError:
    """Return the failure that bytes outside of the text protocol mean, told by their beginning."""
    if beginning.startswith(OF_REDIS):
        return ReadError(step, Cause.NOT_MEMCACHED)
    return from_opening(beginning, step)


MEMCACHED = Dialect(
    TextReader,
    pack,
    login,
    opening,
    Cause.TLS_EXPECTED,
    STATS,
    Step.STATS,
    Cause.NOT_STATS,
    door=DOOR,
    look_again=look_again,
    names_connections=False,
    connection_list=CONNS,
    client_lines=client_lines,
)
