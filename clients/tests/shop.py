"""Hosts of an application in PHP, and the Shardwatch that they ask, for tests of the whole."""

import json
import subprocess
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from switches.board import Board
from switches.gate import Gate

SHOP = Path(__file__).parent / "php" / "shop.php"
SECONDS = 20


class Server(ThreadingMixIn, WSGIServer):
    """As many requests at once as come."""

    daemon_threads = True


class Quiet(WSGIRequestHandler):
    """Writes no log."""

    def log_message(self, *_: Any) -> None: ...


def nothing_behind(_: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    start_response("404 Not Found", [])
    return []


@dataclass
class RunningShardwatch:
    """The read path of a web process on a loopback port, with the database behind it."""

    board: Board = field(default_factory=lambda: Board(None))

    def __post_init__(self) -> None:
        gate = Gate(self.board, nothing_behind)
        self._server = make_server("127.0.0.1", 0, gate, server_class=Server, handler_class=Quiet)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self.board.stop()


@dataclass
class Host:
    """One php-cli with an APCu of its own, which serves requests until it is stopped."""

    process: subprocess.Popen[str]

    @classmethod
    def start(cls, php: str, url: str, key: str, folder: Path, name: str, *, lies: bool = False) -> "Host":
        words = [php, "-d", "apc.enable_cli=1", "-d", "display_errors=stderr", str(SHOP)]
        words += [url, key, str(folder / name), name, "lies" if lies else ""]
        return cls(subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))

    def stop(self) -> dict[str, Any]:
        """Return how many requests it served, and its errors."""
        self.process.terminate()
        said, complaints = self.process.communicate(timeout=SECONDS)
        assert complaints == ""
        told: dict[str, Any] = json.loads(said)
        return told

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()
