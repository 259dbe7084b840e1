"""Scripted servers on loopback ports: they do what real servers and strangers do wrong, byte by byte."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

Script = Callable[[socket.socket], None]
REPLIES = Path(__file__).parent / "replies"
OK = b"+OK\r\n"


def captured(name: str) -> bytes:
    """Return a reply of a real server, without the length that stood before it."""
    return (REPLIES / name).read_bytes()


def bulk(text: bytes) -> bytes:
    return b"$%d\r\n%s\r\n" % (len(text), text)


INFO = bulk(captured("redis-7.0/info_primary.txt"))


class Peer:
    """A server that runs a script on every connection; `connections` counts them."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.connections = 0
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.connections += 1
                self._open.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            self._script(connection)
            connection.close()

    def hang_up(self) -> None:
        """Close all connections, and go on accepting new ones."""
        self._close(self._open)
        self._open = []

    def close(self) -> None:
        self._close([self._listener, *self._open])

    @staticmethod
    def _close(connections: Sequence[socket.socket]) -> None:
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()


def commands(connection: socket.socket) -> Iterator[list[str]]:
    """Yield the commands that arrive, as lists of words."""
    stream = connection.makefile("rb")
    while header := stream.readline():
        count = int(header[1:])
        words = []
        for _ in range(count):
            size = int(stream.readline()[1:])
            words.append(stream.read(size + 2)[:-2].decode())
        yield words


def answers(replies: Mapping[str, bytes], seen: list[str] | None = None) -> Script:
    """Return a script that answers each command by its beginning; any other one is unknown to it."""

    def script(connection: socket.socket) -> None:
        for words in commands(connection):
            line = " ".join(words)
            if seen is not None:
                seen.append(line)
            reply = next((reply for name, reply in replies.items() if line.startswith(name)), None)
            connection.sendall(b"-ERR unknown command '%s'\r\n" % words[0].encode() if reply is None else reply)

    return script


def says(*parts: bytes, then_stays: bool = False) -> Script:
    """Return a script that waits for the first bytes, says its part and hangs up."""

    def script(connection: socket.socket) -> None:
        connection.recv(65536)
        for part in parts:
            connection.sendall(part)
        while then_stays and connection.recv(65536):
            pass

    return script


def over_tls(context: ssl.SSLContext, script: Script) -> Script:
    """Run a script behind a TLS handshake."""

    def handshake(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as secured:
            script(secured)

    return handshake


def speaks_first(words: bytes) -> Script:
    """Return a script that says something before it is asked, and hangs up."""

    def script(connection: socket.socket) -> None:
        connection.sendall(words)
        connection.shutdown(socket.SHUT_WR)
        connection.recv(65536)

    return script


def stays_silent(connection: socket.socket) -> None:
    while connection.recv(65536):
        pass


def hangs_up(connection: socket.socket) -> None:
    connection.recv(65536)


def floods(size: int) -> Script:
    """Return a script that answers INFO with one reply of that many bytes."""

    def script(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"$%d\r\n" % size)
        for _ in range(size // 65536):
            connection.sendall(b"x" * 65536)

    return script


@contextlib.contextmanager
def full_backlog() -> Iterator[int]:
    """Yield the port of a server that accepts nobody and whose queue is full: attempts get no answer."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def info_with(lines: Sequence[bytes]) -> bytes:
    """Return an INFO reply with further lines at its end."""
    return bulk(captured("redis-7.0/info_primary.txt") + b"\r\n".join(lines) + b"\r\n")
