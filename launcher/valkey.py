"""Valkey servers of our own: the broker, the demo fleet, the targets of tests."""

import os
import random
import signal
import socket
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from launcher import binaries, children, resp
from launcher.trouble import LauncherError
from launcher.waiting import until

HOST = "127.0.0.1"
SLOTS = 16_384
START_SECONDS = 10.0
CLUSTER_SECONDS = 30.0
# The bus listens 10,000 above the port; higher ports would fall into the range that the kernel lends to clients.
FIRST_PORT, LAST_PORT = 10_000, 22_767
BUS_OFFSET = 10_000
PORT_TRIES = 50

COMMON_OPTIONS = ("--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0", "--set-proc-title", "no")
CLUSTER_OPTIONS = ("--cluster-enabled", "yes", "--cluster-node-timeout", "3000")


class PortTakenError(LauncherError):
    """Somebody else listens on the port."""


@dataclass
class Valkey:
    """A server on a loopback port that ends with the process that started it."""

    port: int
    directory: Path
    options: tuple[str, ...] = ()
    program: Path = field(default_factory=binaries.valkey_server)
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> tuple[str, int]:
        return HOST, self.port

    @property
    def url(self) -> str:
        return f"redis://{HOST}:{self.port}"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def start(self) -> "Valkey":
        """Start it, again after a stop or a kill, and wait for the first PONG. Raise LauncherError when none comes."""
        if not is_free(self.port):
            raise PortTakenError(f"Port {self.port} is taken by another program.")
        self.directory.mkdir(parents=True, exist_ok=True)
        log = os.open(self.directory / "server.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            self.process = children.spawn(self._command(), log=log, cwd=self.directory)
        finally:
            os.close(log)
        if not until(lambda: self.is_up() or self.has_ended(), START_SECONDS) or self.has_ended():
            self.kill()
            raise LauncherError(f"The Valkey server on port {self.port} did not start: {self.last_words()}")
        return self

    def _command(self) -> list[str | Path]:
        place = ("--bind", HOST, "--port", str(self.port), "--dir", str(self.directory))
        return [self.program, *place, *COMMON_OPTIONS, *self.options]

    def has_ended(self) -> bool:
        return self.process is None or self.process.poll() is not None

    def is_up(self) -> bool:
        """Return whether it answers, be it with a demand for a password."""
        return answers(self.address)

    def ask(self, *words: str | int) -> resp.Reply:
        """Send one command without signing in. Raise resp.ReplyError for an error reply."""
        return resp.ask(self.address, *words)

    def stop(self) -> None:
        if self.process is not None:
            # A paused server would not see the signal.
            self.process.send_signal(signal.SIGCONT)
            children.stop(self.process)

    def kill(self) -> None:
        """End it as a crash would."""
        if self.process is not None:
            children.stop(self.process, signal.SIGKILL)

    def pause(self) -> None:
        """Let it accept connections and answer nothing."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def last_words(self) -> str:
        lines = (self.directory / "server.log").read_text(errors="replace").split("\n")
        return " / ".join(line.strip() for line in lines[-4:] if line.strip())


def answers(address: resp.Address) -> bool:
    """Return whether a server that has loaded its data is there."""
    try:
        resp.ask(address, "PING", timeout=1)
    except resp.ReplyError as error:
        return not str(error).startswith(("LOADING", "BUSY"))
    except OSError:
        return False
    return True


def start_valkey(directory: Path, *options: str, port: int | None = None, program: Path | None = None) -> Valkey:
    """Start a server with its files in `directory`, on a free port unless one is named."""
    program = program or binaries.valkey_server()
    if port is not None:
        return Valkey(port, directory, options, program).start()
    for _ in range(PORT_TRIES):
        try:
            return Valkey(free_port(), directory, options, program).start()
        except PortTakenError:
            continue
    raise LauncherError("No free port was found for a Valkey server.")


def free_port() -> int:
    """Return a port for a server that is free now, together with that of its cluster bus."""
    for _ in range(PORT_TRIES):
        port = random.SystemRandom().randint(FIRST_PORT, LAST_PORT)
        if is_free(port) and is_free(port + BUS_OFFSET):
            return port
    raise LauncherError(f"No port between {FIRST_PORT} and {LAST_PORT} is free.")


def is_free(port: int, host: str = HOST) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def form_cluster(nodes: Sequence[Valkey], shards: int = 3) -> None:
    """Make one cluster of empty nodes that run with CLUSTER_OPTIONS.

    The first `shards` become primaries, the rest their replicas in turn.
    """
    primaries, replicas = nodes[:shards], nodes[shards:]
    for number, primary in enumerate(primaries):
        primary.ask("CLUSTER", "ADDSLOTSRANGE", SLOTS * number // shards, SLOTS * (number + 1) // shards - 1)
    for epoch, node in enumerate(nodes, start=1):
        node.ask("CLUSTER", "SET-CONFIG-EPOCH", epoch)
    for node in nodes[1:]:
        nodes[0].ask("CLUSTER", "MEET", *node.address)
    _wait(nodes, lambda node: known_nodes(node) == len(nodes), "meet")
    for number, replica in enumerate(replicas):
        replica.ask("CLUSTER", "REPLICATE", str(primaries[number % shards].ask("CLUSTER", "MYID")))
    _wait(nodes, lambda node: "cluster_state:ok" in str(node.ask("CLUSTER", "INFO")), "agree")
    _wait(replicas, lambda node: "master_link_status:up" in str(node.ask("INFO", "replication")), "follow")


def known_nodes(node: Valkey) -> int:
    """Return how many nodes of the cluster this one has shaken hands with, itself counted."""
    lines = str(node.ask("CLUSTER", "NODES")).splitlines()
    return sum("handshake" not in line for line in lines)


def _wait(nodes: Sequence[Valkey], claim: Callable[[Valkey], bool], act: str) -> None:
    if not until(lambda: all(claim(node) for node in nodes), CLUSTER_SECONDS):
        raise LauncherError(f"The nodes of a Valkey cluster did not {act} within {CLUSTER_SECONDS:g} s.")


def start_cluster(directory: Path, *options: str, shards: int = 3, replicas: int = 1) -> list[Valkey]:
    """Start and form a cluster; primaries come first. Stop every node of it in the end."""
    nodes: list[Valkey] = []
    try:
        for number in range(shards * (1 + replicas)):
            node = start_valkey(directory / str(number), *CLUSTER_OPTIONS, *options)
            nodes.append(node)
        form_cluster(nodes, shards)
    except BaseException:
        stop_all(nodes)
        raise
    return nodes


def stop_all(nodes: Sequence[Valkey]) -> None:
    for node in nodes:
        node.kill()
