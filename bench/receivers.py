"""A scripted PagerDuty and Slack on one loopback port: they take everything, and keep it with the time."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PAGERDUTY_PATH, SLACK_PATH = "/v2/enqueue", "/services/drill"


@dataclass(frozen=True, slots=True)
class Received:
    """One request: when it came, where to, and its JSON."""

    at: float
    path: str
    body: Any

    @property
    def is_page(self) -> bool:
        return self.path == PAGERDUTY_PATH and self.body["event_action"] == "trigger"

    @property
    def source(self) -> str:
        """Return the cache that a page is about."""
        return str(self.body["payload"]["source"])

    def names(self, text: str) -> bool:
        return text in json.dumps(self.body)


@dataclass(slots=True)
class Receivers:
    """What both services got, oldest first."""

    url: str
    seen: list[Received] = field(default_factory=list)

    def since(self, moment: float) -> list[Received]:
        return [one for one in list(self.seen) if one.at >= moment]

    def pages(self, moment: float = 0) -> list[Received]:
        return [one for one in self.since(moment) if one.is_page]

    def settings(self) -> dict[str, str]:
        """Return what Shardwatch is told, so that its pages come here."""
        return {"SHARDWATCH_PAGERDUTY_URL": self.url, "SHARDWATCH_ALLOWED_PRIVATE_HOSTS": "127.0.0.1"}


@contextmanager
def receivers() -> Iterator[Receivers]:
    made = Receivers("")

    class Service(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            now = time.time()
            made.seen.append(Received(now, self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
            status, body = (202, b'{"status": "success"}') if self.path == PAGERDUTY_PATH else (200, b"ok")
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    made.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
