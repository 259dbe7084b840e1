"""Memcached servers of our own, where a `memcached` is installed: targets of tests."""

import os
import signal
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from launcher import children
from launcher.trouble import LauncherError
from launcher.valkey import HOST, PORT_TRIES, START_SECONDS, PortTakenError, free_port, is_free
from launcher.waiting import until

ANSWER_LIMIT = 65_536
# It drops its rights to this account when root starts it.
ACCOUNT = "nobody"


@dataclass
class Memcached:
    """A server on a loopback port that ends with the process that started it."""

    port: int
    log: Path
    options: tuple[str, ...] = ()
    program: str = "memcached"
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"memcached://{HOST}:{self.port}"

    def start(self) -> "Memcached":
        """Start it, again after a stop, and wait until it listens. Raise LauncherError when it does not."""
        if not is_free(self.port):
            raise PortTakenError(f"Port {self.port} is taken by another program.")
        log = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            account = ("-u", ACCOUNT) if os.geteuid() == 0 else ()
            place = ("-l", HOST, "-p", str(self.port), "-U", "0")
            self.process = children.spawn([self.program, *place, *account, *self.options], log=log)
        finally:
            os.close(log)
        if not until(lambda: self.listens() or self.has_ended(), START_SECONDS) or self.has_ended():
            self.kill()
            raise LauncherError(f"The Memcached on port {self.port} did not start: {self.log.read_text()[-300:]}")
        return self

    def has_ended(self) -> bool:
        return self.process is None or self.process.poll() is not None

    def listens(self) -> bool:
        try:
            socket.create_connection((HOST, self.port), timeout=1).close()
        except OSError:
            return False
        return True

    def ask(self, *lines: str) -> str:
        """Send lines on a new connection; return what comes until the server has said END, OK or the like."""
        with socket.create_connection((HOST, self.port), timeout=5) as connection:
            connection.sendall("".join(f"{line}\r\n" for line in (*lines, "quit")).encode())
            said = b""
            while part := connection.recv(ANSWER_LIMIT):
                said += part
        return said.decode()

    def kill(self) -> None:
        """End it; it keeps nothing anyway."""
        if self.process is not None:
            children.stop(self.process, signal.SIGKILL)


def start_memcached(log: Path, *options: str, path: str) -> Memcached:
    """Start a server on a free port."""
    for _ in range(PORT_TRIES):
        try:
            return Memcached(free_port(), log, options, path).start()
        except PortTakenError:
            continue
    raise LauncherError("No free port was found for a Memcached server.")


def stop_all(servers: Sequence[Memcached]) -> None:
    for server in servers:
        server.kill()
