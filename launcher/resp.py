"""Just enough of the Redis protocol to start servers with: one command, one answer."""

import socket
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

Address = tuple[str, int] | Path
Reply = str | int | list["Reply"] | None

TIMEOUT_SECONDS = 5.0


class ReplyError(Exception):
    """The server answered with an error."""


def ask(address: Address, *words: str | int, timeout: float = TIMEOUT_SECONDS) -> Reply:
    """Send one command on a new connection and return the answer.

    Raise ReplyError for an error reply, OSError where there is no connection or no answer in `timeout` seconds.
    """
    with _connect(address, timeout) as connection, connection.makefile("rb") as stream:
        connection.sendall(_encode(words))
        return _read(stream)


def _connect(address: Address, timeout: float) -> socket.socket:
    if not isinstance(address, Path):
        return socket.create_connection(address, timeout)
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(timeout)
    try:
        connection.connect(str(address))
    except OSError:
        connection.close()
        raise
    return connection


def _encode(words: tuple[str | int, ...]) -> bytes:
    parts = [str(word).encode() for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%b\r\n" % (len(part), part) for part in parts)


def _read(stream: BinaryIO) -> Reply:
    line = stream.readline()
    if not line.endswith(b"\r\n"):
        raise ConnectionError("the server closed the connection")
    kind, rest = line[:1], line[1:-2].decode(errors="replace")
    if kind == b"-":
        raise ReplyError(rest)
    try:
        return READERS[kind](stream, rest)
    except (KeyError, ValueError):
        raise ConnectionError("another kind of server listens there") from None


def _read_text(stream: BinaryIO, length: str) -> Reply:
    if int(length) < 0:
        return None
    text = stream.read(int(length) + 2)
    if not text.endswith(b"\r\n"):
        raise ConnectionError("the server closed the connection")
    return text[:-2].decode(errors="replace")


def _read_list(stream: BinaryIO, length: str) -> Reply:
    return [_read(stream) for _ in range(int(length))]


READERS: dict[bytes, Callable[[BinaryIO, str], Reply]] = {
    b"+": lambda _, rest: rest,
    b":": lambda _, rest: int(rest),
    b"$": _read_text,
    b"*": _read_list,
}
