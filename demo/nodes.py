"""Single servers of the demo fleet: their configuration, start, watch and end."""

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from demo.layout import GAME, Home, Member
from launcher.trouble import LauncherError
from launcher.valkey import CLUSTER_OPTIONS, HOST, Valkey
from launcher.waiting import until

BACK_OFF_SECONDS = (0.0, 1.0, 2.0, 5.0, 10.0)
# A server that lived this long has earned an immediate restart again.
STEADY_SECONDS = 30.0
TERM_SECONDS, KILL_SECONDS = 5.0, 2.0
PID_FILE = "valkey.pid"

OPTIONS = {
    "pidfile": PID_FILE,
    "loglevel": "warning",
    # A quarter of an hour of a cache may be lost; a log of every write would cost more than all the rest.
    "save": "900 1",
    "latency-monitor-threshold": "50",
    "repl-backlog-size": "1mb",
    "shutdown-timeout": "0",
    # By default a server that cannot save, as on a full disk, refuses to end.
    "shutdown-on-sigterm": "force",
}
CACHE_OPTIONS = {
    GAME: {
        "maxmemory": "48mb",
        "maxmemory-policy": "volatile-lru",
        "maxclients": "500",
        "cluster-slot-stats-enabled": "yes",
        "cluster-require-full-coverage": "no",
        "cluster-allow-replica-migration": "no",
        # A replica that restarted beside a dead primary must still take over.
        "cluster-replica-validity-factor": "0",
    },
    "": {"maxmemory": "32mb", "maxmemory-policy": "allkeys-lfu", "maxclients": "400"},
}


def client(port: int, timeout: float = 2.0) -> redis.Redis:
    return redis.Redis(
        host=HOST,
        port=port,
        decode_responses=True,
        socket_timeout=timeout,
        socket_connect_timeout=timeout,
        retry=Retry(NoBackoff(), 0),
    )


def options(member: Member, primary_port: int | None) -> tuple[str, ...]:
    chosen = OPTIONS | CACHE_OPTIONS.get(member.cache, CACHE_OPTIONS[""])
    words = tuple(word for name, value in chosen.items() for word in (f"--{name}", value))
    if member.bus_port:
        return (*words, *CLUSTER_OPTIONS)
    return (*words, "--replicaof", f"{HOST} {primary_port}") if primary_port else words


class Node:
    """One server of the fleet, started again when it dies unless it is held down."""

    def __init__(self, member: Member, home: Home, primary_port: int | None) -> None:
        self.member = member
        self.server = Valkey(member.port, home.node(member.name), options(member, primary_port))
        self.started_at = 0.0
        self.retry_at: float | None = None
        self.failures = 0

    @property
    def pid(self) -> int | None:
        return None if self.server.has_ended() else self.server.pid

    def start(self) -> None:
        """Start it and wait until it answers. Raise LauncherError where it does not."""
        self.started_at = time.monotonic()
        with suppress(FileNotFoundError):
            (self.server.directory / "server.log").unlink()
        self.server.start()

    def tend(self, held: bool, now: float) -> str:
        """Kill a server that is held down, start one that died; return what was done in words, "" for nothing."""
        if held:
            return self.kill()
        if self.pid:
            return self.settle(now)
        if self.retry_at is None:
            self.retry_at = now + BACK_OFF_SECONDS[min(self.failures, len(BACK_OFF_SECONDS) - 1)]
        if now < self.retry_at:
            return ""
        self.failures, self.retry_at = self.failures + 1, None
        try:
            self.start()
        except LauncherError as error:
            return str(error)
        return f"{self.member.name} on port {self.member.port} was down and was started again"

    def settle(self, now: float) -> str:
        if now - self.started_at > STEADY_SECONDS:
            self.failures = 0
        return ""

    def kill(self) -> str:
        self.failures, self.retry_at = 0, None
        if not self.pid:
            return ""
        self.server.kill()
        return f"{self.member.name} on port {self.member.port} was killed, as ordered"


def stop_all(nodes: list[Node]) -> None:
    """End all servers at once, politely, so that they save their data."""
    for node in nodes:
        if node.pid:
            os.kill(node.pid, signal.SIGTERM)
    for node in nodes:
        node.server.stop()


def end_leftovers(nodes: list[Node]) -> None:
    """End servers of this directory that an earlier fleet left behind when it was killed."""
    for number, seconds in ((signal.SIGTERM, TERM_SECONDS), (signal.SIGKILL, KILL_SECONDS)):
        for pid in leftovers(nodes):
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        until(lambda: not leftovers(nodes), seconds)


def leftovers(nodes: list[Node]) -> list[int]:
    return [pid for node in nodes if (pid := leftover(node))]


def leftover(node: Node) -> int | None:
    """Return the process id of a server that still runs in the node's directory, None where there is none."""
    with suppress(OSError, ValueError):
        pid = int((node.server.directory / PID_FILE).read_text(encoding="ascii"))
        os.kill(pid, 0)
        return pid if works_for(pid, node) else None
    return None


def works_for(pid: int, node: Node) -> bool:
    # A process id may belong to somebody else by now; the working directory tells on Linux.
    if sys.platform == "linux":
        return Path(f"/proc/{pid}/cwd").readlink() == node.server.directory.resolve()
    try:
        return bool(client(node.member.port).info("server")["process_id"] == pid)
    except redis.RedisError:
        return False
