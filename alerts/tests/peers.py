"""A scripted HTTP service on a loopback port: it answers as it is told, and keeps what it was sent."""

import contextlib
import json
import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from collectors.tests.certificates import Authority
from collectors.tests.peers import Peer
from collectors.tests.peers import closed_port as closed_port

Script: TypeAlias = Callable[["Exchange"], None]


@dataclass
class Exchange:
    """One request and the connection that it came on."""

    connection: socket.socket
    line: str
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return self.line.split(" ")[1]

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def reply(self, status: int, body: object = "", headers: Mapping[str, str] | None = None) -> None:
        content = body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()
        lines = [f"HTTP/1.1 {status} -", f"Content-Length: {len(content)}", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        self.connection.sendall("\r\n".join([*lines, "", ""]).encode("latin-1") + content)


class Service(Peer):
    """Runs a script for every request; scripts may be exchanged while it runs."""

    def __init__(self, script: Script, tls: ssl.SSLContext | None = None) -> None:
        self.script, self.tls = script, tls
        self.seen: list[Exchange] = []
        super().__init__(self._answer)

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://localhost:{self.port}"

    def _answer(self, connection: socket.socket) -> None:
        with contextlib.suppress(ValueError):
            if self.tls:
                connection = self.tls.wrap_socket(connection, server_side=True)
            exchange = read(connection)
            self.seen.append(exchange)
            self.script(exchange)
            connection.close()


def read(connection: socket.socket) -> Exchange:
    stream = connection.makefile("rb")
    line = stream.readline().decode("latin-1").strip()
    headers: dict[str, str] = {}
    while text := stream.readline().decode("latin-1").strip():
        name, _, value = text.partition(":")
        headers[name.lower()] = value.strip()
    return Exchange(connection, line, headers, stream.read(int(headers.get("content-length", "0"))))


def secured(authority: Authority, folder: Path, host: str = "localhost", days: int = 30) -> ssl.SSLContext:
    """Return the certificate of a service that the authority vouches for."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.issue(host, days=days).files(folder, "server"))
    return context


def says(status: int, body: object = "", **headers: str) -> Script:
    """Return a script that always gives this answer; underscores in names of headers become hyphens."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda exchange: exchange.reply(status, body, named)


def in_turn(*scripts: Script) -> Script:
    """Return a script that runs these one after the other, the last one again and again."""
    left = list(scripts)

    def script(exchange: Exchange) -> None:
        (left.pop(0) if len(left) > 1 else left[0])(exchange)

    return script


def hangs(exchange: Exchange) -> None:
    while exchange.connection.recv(65536):
        pass


def closes(exchange: Exchange) -> None:
    """End the connection without a word."""


def closes_within(exchange: Exchange) -> None:
    exchange.connection.sendall(b"HTTP/1.1 202 -\r\nContent-Length: 400\r\n\r\n{")


def drips(exchange: Exchange) -> None:
    """Answer so slowly that no single read takes long, and the whole never ends."""
    exchange.connection.sendall(b"HTTP/1.1 202 -\r\n")
    stopped = threading.Event()
    while not stopped.wait(0.05):
        exchange.connection.sendall(b"X: y\r\n")


def floods(exchange: Exchange) -> None:
    exchange.connection.sendall(b"HTTP/1.1 200 -\r\nContent-Length: 100000000\r\n\r\n")
    for _ in range(1_000):
        exchange.connection.sendall(b"x" * 100_000)
