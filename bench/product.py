"""The whole product as a person starts it, in a throw-away folder, with its demo fleet."""

import http.client
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg

from launcher.checkout import ROOT
from launcher.data import Data

START_SECONDS = 240
# What the shell that drills run in sets must not reach the product.
FOREIGN = ("DATABASE_URL", "CELERY_BROKER_URL", "SECRET_KEY", "DJANGO_SETTINGS_MODULE")


@dataclass(frozen=True, slots=True)
class Product:
    """A running Shardwatch."""

    data: Data

    def pid(self, name: str) -> int:
        """Return the process that has this name in run.json now; a restarted one has another id."""
        return int(self.data.run()["pids"][name])

    def signal(self, name: str, number: signal.Signals) -> int:
        """Send a signal to one part; return its process id."""
        pid = self.pid(name)
        os.kill(pid, number)
        return pid

    def manage(self, *words: str) -> str:
        return door("manage", {}, "--data", str(self.data.root), *words)

    def ask(self, query: str, *arguments: object) -> list[tuple[Any, ...]]:
        """Return the rows of a query on a connection of its own. Raise psycopg.Error while the database is away."""
        with psycopg.connect(self.data.postgres.url, autocommit=True, connect_timeout=5) as connection:
            return connection.execute(query.encode(), arguments).fetchall()

    def status_of(self, path: str) -> int:
        """Return the status of a page for monitors, 0 where none comes."""
        address = urlsplit(str(self.data.run()["url"]))
        connection = http.client.HTTPConnection(str(address.hostname), address.port or 80, timeout=10)
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        except OSError:
            return 0
        finally:
            connection.close()


def door(name: str, settings: Mapping[str, str], *words: str) -> str:
    """Run a door of bin/ and return what it prints. Raise RuntimeError where it fails."""
    kept = {k: v for k, v in os.environ.items() if k not in FOREIGN and not k.startswith("SHARDWATCH_")}
    done = subprocess.run(
        [str(ROOT / "bin" / name), *words],
        env={**kept, **settings},
        capture_output=True,
        text=True,
        check=False,
        timeout=START_SECONDS,
    )
    if done.returncode:
        raise RuntimeError(f"bin/{name} {' '.join(words)} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


@contextmanager
def started(settings: Mapping[str, str]) -> Iterator[Product]:
    folder = Path(tempfile.mkdtemp(prefix="sw-drill-", dir="/tmp"))
    # The database's account must pass through to its socket.
    folder.chmod(0o711)
    place = ("--data", str(folder))
    try:
        door("up", settings, *place, "--detach")
        yield Product(Data(folder))
    finally:
        if json.loads((folder / "run.json").read_text() if (folder / "run.json").exists() else "{}"):
            door("up", {}, *place, "--stop")
        shutil.rmtree(folder, ignore_errors=True)
