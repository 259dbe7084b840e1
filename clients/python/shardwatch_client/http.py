"""Bounded questions to Shardwatch: in time, in size, and to that address only."""

import json
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from shardwatch_client.options import Options

MAX_BYTES = 1_000_000


@dataclass(frozen=True)
class Answer:
    """What came back; status 0 when nothing did."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    trouble: str = ""

    def seconds(self, header: str) -> float:
        with suppress(ValueError):
            return max(0.0, float(self.headers.get(header, "")))
        return 0.0

    def json(self) -> Any:
        with suppress(ValueError):
            return json.loads(self.body)
        return None


class Conversation:
    """One connection for a question and the report that follows it."""

    def __init__(self, options: Options) -> None:
        self._options = options
        parts = urlsplit(options.url)
        self._base = parts.path.rstrip("/")
        connects = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._connection = connects(parts.hostname or "", parts.port, timeout=options.connect_seconds)

    def get(self, path: str, etag: str) -> Answer:
        return self._ask("GET", path, {"If-None-Match": etag} if etag else {}, None)

    def post(self, path: str, rows: object) -> Answer:
        return self._ask("POST", path, {"Content-Type": "application/json"}, json.dumps(rows).encode())

    def local_address(self) -> str:
        with suppress(OSError, AttributeError):
            return str(self._connection.sock.getsockname()[0])
        return ""

    def _ask(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None) -> Answer:
        named = {**headers, "X-API-Key": self._options.client_key, "Accept": "application/json"}
        try:
            self._connection.request(method, self._base + path, body, named)
            response = self._connection.getresponse()
            content = response.read(MAX_BYTES + 1)
        except (OSError, HTTPException, ValueError) as error:
            return Answer(0, trouble=str(error) or type(error).__name__)
        if len(content) > MAX_BYTES:
            return Answer(0, trouble="the answer is too large")
        return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, content)

    def cut(self) -> None:
        """End it from another thread: a read that waits comes back at once."""
        if isinstance(stream := self._connection.sock, socket.socket):
            with suppress(OSError):
                socket.socket.shutdown(stream, socket.SHUT_RDWR)

    def connect(self) -> str:
        """Return what went wrong; '' when it is connected."""
        try:
            self._connection.connect()
        except (OSError, ssl.SSLError, HTTPException) as error:
            return str(error) or type(error).__name__
        self._connection.sock.settimeout(self._options.total_seconds)
        return ""

    def close(self) -> None:
        self._connection.close()


@contextmanager
def conversation(options: Options) -> Iterator[Conversation]:
    """Give a conversation that ends after the total time, however slowly the other side drips."""
    talk = Conversation(options)
    deadline = threading.Timer(options.total_seconds, talk.cut)
    deadline.daemon = True
    deadline.start()
    try:
        yield talk
    finally:
        deadline.cancel()
        talk.close()
