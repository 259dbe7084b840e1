"""The parts of Shardwatch as bin/up starts them, on a bench's own database."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from bench.database import Database
from launcher import children, processes, valkey
from launcher.checkout import PYTHON, ROOT

START_SECONDS = 60.0


@dataclass
class Application:
    """Running parts by name, the broker among them once a part needs it."""

    directory: Path
    env: dict[str, str]
    port: int
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, *names: str) -> None:
        for name in names:
            command = processes.command(name, data=str(self.directory), host="127.0.0.1", port=self.port)
            command[0] = str(PYTHON.with_name(command[0]))
            log = os.open(self.directory / f"{name}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                self.running[name] = children.spawn(command, log=log, env=self.env, cwd=ROOT)
            finally:
                os.close(log)

    def process(self, name: str) -> psutil.Process:
        return psutil.Process(self.running[name].pid)

    def stop_part(self, name: str) -> None:
        children.stop(self.running.pop(name))

    def stop(self) -> None:
        for child in reversed(self.running.values()):
            children.stop(child)


@contextmanager
def application(database: Database, extra: Mapping[str, str] | None = None) -> Iterator[Application]:
    """Prepare to start parts on the database, with a broker of their own; stop what was started."""
    directory = database.directory
    socket = directory / "broker.sock"
    env = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "DATABASE_URL": database.url,
        "CELERY_BROKER_URL": f"redis+socket://{socket}",
        "SHARDWATCH_STATIC_ROOT": str(directory / "static"),
        **(extra or {}),
    }
    started = Application(directory, env, valkey.free_port())
    broker = valkey.start_valkey(
        directory / "broker", "--unixsocket", str(socket), "--appendonly", "yes", "--maxmemory-policy", "noeviction"
    )
    assert broker.process is not None
    started.running["broker"] = broker.process
    try:
        yield started
    finally:
        started.stop()
