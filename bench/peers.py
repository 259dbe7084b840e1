"""The peers, from Debian's packages where they are installed: Prometheus, promtool, redis_exporter."""

import http.client
import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psutil

from launcher import children, valkey
from launcher.waiting import until

START_SECONDS = 60.0
REPLY_SECONDS = 120.0
# Blocks of 54 hours are what Prometheus itself compacts to when it keeps 30 days.
BLOCK_SECONDS = 54 * 3600
EXPORTER_NAMES = ("prometheus-redis-exporter", "redis_exporter")


def program(*names: str) -> str | None:
    """Return the path of the first of these programs that is installed."""
    return next((path for name in names if (path := shutil.which(name))), None)


def version(path: str) -> str:
    """Return what the program says of itself, without the word 'version' and what follows the number."""
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False, timeout=30)
    words = f"{said.stdout} {said.stderr}".replace(",", " ").split()
    return next((word for word in words if word[:1].isdigit() and word.count(".") >= 2 and ":" not in word), "unknown")


def versions() -> dict[str, str]:
    found = {"prometheus": program("prometheus"), "redis_exporter": program(*EXPORTER_NAMES)}
    return {name: version(path) if path else "not installed" for name, path in found.items()}


@dataclass(slots=True)
class Backfill:
    """Blocks being made of text files, one file at a time while the next is written."""

    promtool: str
    blocks: Path
    running: subprocess.Popen[bytes] | None = field(default=None)
    waiting: Path | None = None

    def add(self, text: Path) -> None:
        """Begin to make blocks of a file that ends with # EOF; raise RuntimeError where the file before failed."""
        self.finish()
        command = [self.promtool, "tsdb", "create-blocks-from", f"--max-block-duration={BLOCK_SECONDS}s"]
        self.running = children.spawn([*command, "openmetrics", text, self.blocks])
        self.waiting = text

    def finish(self) -> None:
        if self.running is None:
            return
        status = self.running.wait()
        if status:
            raise RuntimeError(f"promtool could not make blocks of {self.waiting}: exit status {status}")
        if self.waiting is not None:
            self.waiting.unlink()
        self.running = self.waiting = None


@dataclass(slots=True)
class Prometheus:
    """A running server with one kept connection to it."""

    process: psutil.Process
    connection: http.client.HTTPConnection

    def ask(self, path: str, **parameters: object) -> bytes:
        """Return the body of an answer, unread. Raise RuntimeError for any status but 200."""
        self.connection.request("GET", f"{path}?{urlencode(parameters)}")
        reply = self.connection.getresponse()
        body = reply.read()
        if reply.status != 200:
            raise RuntimeError(f"Prometheus answered {reply.status}: {body[:200]!r}")
        return body

    def number(self, query: str) -> float:
        """Return the one value of a query now, 0 where it finds nothing."""
        found = json.loads(self.ask("/api/v1/query", query=query))["data"]["result"]
        return float(found[0]["value"][1]) if found else 0.0

    def range(self, query: str, start: int, end: int, step: int) -> bytes:
        return self.ask("/api/v1/query_range", query=query, start=start, end=end, step=step)

    def values(self, query: str, start: int, end: int, step: int) -> dict[str, dict[int, float]]:
        """Return the points of each series by instance and time."""
        result = json.loads(self.range(query, start, end, step))["data"]["result"]
        return {
            line["metric"]["instance"]: {int(at): float(number) for at, number in line["values"]} for line in result
        }


@contextmanager
def prometheus(directory: Path, config: Mapping[str, Any] | None = None) -> Iterator[Prometheus]:
    """Run a server on the blocks in `directory`/data; it compacts nothing and forgets nothing meanwhile."""
    path = program("prometheus")
    assert path is not None
    settings = directory / "prometheus.json"
    # JSON is YAML, too.
    settings.write_text(json.dumps(config or {}))
    port = valkey.free_port()
    options = {
        "config.file": settings,
        "storage.tsdb.path": directory / "data",
        "storage.tsdb.retention.time": "20y",
        "storage.tsdb.max-block-duration": f"{BLOCK_SECONDS}s",
        "web.listen-address": f"127.0.0.1:{port}",
        "log.level": "error",
    }
    child = children.spawn([path, *(f"--{name}={value}" for name, value in options.items())], cwd=directory)
    server = Prometheus(psutil.Process(child.pid), http.client.HTTPConnection("127.0.0.1", port, timeout=REPLY_SECONDS))
    try:
        if not until(lambda: _is_ready(port), START_SECONDS):
            raise RuntimeError(f"Prometheus did not become ready within {START_SECONDS:g} s.")
        yield server
    finally:
        server.connection.close()
        children.stop(child)


def _is_ready(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", "/-/ready")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def folder_bytes(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
