"""Scripted Memcached servers: they answer their statistics as a test says, at ticks that the test makes up."""

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from alerts.tests.scripted import poll_and_judge
from collectors.tests.conftest import Poller
from collectors.tests.peers import Peer, captured
from fleet.engines import Engine
from fleet.models import Cache, Topology

LIMIT = 64 * 2**20
THREADS = 4
REPLIES = {name: captured(f"memcached-1.6/{name}.txt").decode() for name in ("stats", "settings", "items", "slabs")}
SETTINGS = {"maxclients": ("max_connections", "maxconns"), "connected_clients": ("curr_connections",)}


class Server(Peer):
    """One server. `values` are named as samples name them; what is not named is as in a captured reply."""

    def __init__(self) -> None:
        self.values: dict[str, float] = {}
        self.uptime, self.cpu_seconds = 100_000, 0.0
        super().__init__(self._answer)

    def pass_time(self, seconds: int, values: Mapping[str, float]) -> None:
        self.values = dict(values)
        self.uptime += seconds
        self.cpu_seconds += values.get("threads_busy_ratio", 0.0) * THREADS * seconds

    def _answer(self, connection: socket.socket) -> None:
        for raw in connection.makefile("rb"):
            connection.sendall(self.reply(raw.decode().strip()))

    def reply(self, line: str) -> bytes:
        if line == "version":
            return b"VERSION 1.6.18\r\n"
        name = line.removeprefix("stats").strip() or "stats"
        return f"{self._said(REPLIES[name])}END\r\n".encode() if name in REPLIES else b"ERROR\r\n"

    def _said(self, captured_reply: str) -> str:
        told = self._told()
        lines = []
        for line in captured_reply.split("\r\n"):
            field = line.removeprefix("STAT ").partition(" ")[0]
            # Classes count by themselves: the first one tells of the whole server.
            known = told.get(field.partition(":")[2].partition(":")[2] if field.startswith("items:4:") else field)
            lines.append(
                line if known is None else f"STAT {field} {known:g}" if known < 1e5 else f"STAT {field} {known:.0f}"
            )
        return "\r\n".join(lines)

    def _told(self) -> dict[str, float]:
        given = {"uptime": self.uptime, "rusage_user": self.cpu_seconds, "rusage_system": 0.0, "threads": THREADS}
        given |= {"limit_maxbytes": LIMIT, "bytes": self.values.get("memory", 0.5) * LIMIT}
        for name, value in self.values.items():
            for field in SETTINGS.get(name, (name.removeprefix("items_"),)):
                given[field] = value
        return given


@dataclass
class Pool:
    """Servers that clients shard over, and the poller that reads them."""

    servers: list[Server]
    cache: Cache
    poller: Poller
    every: int
    tick: int

    @classmethod
    def of(cls, count: int, poller: Poller, every: int, tick: int) -> "Pool":
        servers = [Server() for _ in range(count)]
        address = ", ".join(f"memcached://127.0.0.1:{server.port}" for server in servers)
        cache = Cache.objects.create(
            name="pages",
            address=address,
            engine=Engine.MEMCACHED,
            topology=Topology.SHARDED,
            poll_interval_seconds=every,
        )
        return cls(servers, cache, poller, every, tick)

    def pass_time(self, values: Sequence[Mapping[str, float]]) -> None:
        """Let an interval pass, poll the servers as they are then, and judge."""
        self.tick += self.every
        for server, told in zip(self.servers, values, strict=True):
            server.pass_time(self.every, told)
        poll_and_judge(self.cache, self.tick, self.poller)

    def close(self) -> None:
        for server in self.servers:
            server.close()
