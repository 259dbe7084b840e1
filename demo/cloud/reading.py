"""One look at a server of the demo: what it says of itself, under the names of its own fields."""

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import redis

from demo.layout import Member
from demo.nodes import client
from launcher.valkey import HOST

TIMEOUT_SECONDS = 1.0
END = b"END\r\n"


@dataclass(frozen=True)
class Reading:
    """What a server said at a time. `node_id` and `shard_id` are those of the cluster, "" where it is in none."""

    at: float
    info: Mapping[str, Any]
    node_id: str = ""
    shard_id: str = ""

    @property
    def role(self) -> str:
        return "primary" if self.info.get("role", "master") == "master" else "replica"

    def number(self, name: str) -> float:
        return float(self.info.get(name, 0))

    def grown(self, before: "Reading | None", name: str) -> float:
        """Return by how much a counter grew since the reading before; it begins at zero when the server restarts."""
        now, then = self.number(name), before.number(name) if before else 0.0
        return now - then if now >= then else now


@dataclass
class ValkeyServer:
    """A member of the demo fleet, asked as often as the feed wants."""

    member: Member
    is_clustered: bool
    identity: tuple[str, str] = field(default=("", ""))

    def read(self, now: float) -> Reading | None:
        """Return what it says now, None where it does not answer."""
        try:
            with client(self.member.port, TIMEOUT_SECONDS) as server:
                info: dict[str, Any] = server.info("everything")
                if self.is_clustered:
                    # A server that was started anew keeps its id; one that was made anew does not.
                    self.identity = word(server, "CLUSTER MYID"), word(server, "CLUSTER MYSHARDID")
        except redis.RedisError:
            return None
        return Reading(now, info, *self.identity)


def word(server: redis.Redis, command: str) -> str:
    told: str = server.execute_command(command)  # type: ignore[no-untyped-call]
    return told


@dataclass
class MemcachedServer:
    """A Memcached, asked in its own text protocol."""

    port: int

    def read(self, now: float) -> Reading | None:
        """Return its statistics, None where it does not answer."""
        try:
            told = asked(self.port, b"stats\r\n")
        except OSError:
            return None
        words = (line.split(maxsplit=2) for line in told.decode(errors="replace").splitlines())
        return Reading(now, {parts[1]: as_number(parts[2]) for parts in words if len(parts) == 3})


def asked(port: int, command: bytes) -> bytes:
    """Send one command and return the answer up to its END."""
    with socket.create_connection((HOST, port), timeout=TIMEOUT_SECONDS) as connection:
        connection.sendall(command)
        told = b""
        while not told.endswith(END):
            if not (part := connection.recv(65_536)):
                raise ConnectionResetError("It hung up in the middle of an answer.")
            told += part
    return told


def as_number(word: str) -> float | str:
    try:
        return float(word)
    except ValueError:
        return word
