"""Scripted servers that make a cluster: they answer INFO as a test says, at ticks that the test makes up."""

import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from alerts import evaluate
from collectors import leases
from collectors.poll import Poll
from collectors.tests.conftest import Poller
from collectors.tests.peers import OK, Peer, bulk, captured, commands
from fleet.models import Cache

LIMIT = 10**9
UPTIME = 100_000
# What INFO says in words of its own.
SAID = {
    "master_link_up": ("master_link_status", "up", "down"),
    "rdb_last_bgsave_ok": ("rdb_last_bgsave_status", "ok", "err"),
    "aof_last_write_status": ("aof_last_write_status", "ok", "err"),
}
CPU = ("used_cpu_user_main_thread", "used_cpu_sys_main_thread")
SLOTS = 16_384


class Server(Peer):
    """One server of the cluster. `values` are named as samples name them, `errors` are replies counted by type."""

    def __init__(self, number: int, is_primary: bool) -> None:
        self.number, self.is_primary = number, is_primary
        # Some servers tell nobody what they do when they are full.
        self.policy = ""
        self.values: dict[str, Any] = {}
        self.errors: dict[str, int] = {}
        self.uptime = UPTIME
        # What it answers to CLUSTER NODES; of a primary, where its replica is.
        self.layout, self.replica_port = "", 0
        # Its port while it is stopped.
        self.place = 0
        self.base = captured(f"redis-7.0/info_{'primary' if is_primary else 'replica'}.txt").decode().split("\r\n")
        super().__init__(self._answer)

    @property
    def identity(self) -> str:
        return f"{self.number:040x}"

    def stop(self) -> None:
        """Refuse connections from now on."""
        self.place = self.port
        self.close()

    def be_there(self) -> None:
        """Listen again at the same port where it was stopped, as a server that has just been started."""
        if self.place:
            self._listener, self.uptime = socket.create_server(("127.0.0.1", self.place)), 20
            threading.Thread(target=self._accept, daemon=True).start()
            self.place = 0

    def _answer(self, connection: socket.socket) -> None:
        for words in commands(connection):
            connection.sendall(self.reply(" ".join(words)))

    def reply(self, line: str) -> bytes:
        if line.startswith("INFO"):
            threading.Event().wait(self.values.get("round_trip_seconds", 0))
            return bulk(self.info().encode())
        if line == "CLUSTER INFO":
            return bulk("\r\n".join(self.cluster_info()).encode())
        if line == "CLUSTER NODES":
            return bulk(self.layout.encode())
        return OK if line.startswith("CLIENT") else b"-ERR unknown command\r\n"

    def cluster_info(self) -> Iterator[str]:
        state = "ok" if self.values.get("cluster_state_ok", True) else "fail"
        yield f"cluster_state:{state}"
        yield f"cluster_slots_assigned:{SLOTS}"
        yield f"cluster_slots_ok:{self.values.get('cluster_slots_ok', SLOTS)}"
        yield "cluster_slots_fail:0"

    def info(self) -> str:
        said = dict(self.fields())
        lines = [
            f"{name_of(line)}:{said[name_of(line)]}" if name_of(line) in said else line
            for line in self.base
            if name_of(line) not in {"slave0", "maxmemory_policy"} or name_of(line) in said
        ]
        errors = [f"errorstat_{name}:count={count}" for name, count in self.errors.items()]
        place = lines.index("# Errorstats") + 1
        return "\r\n".join([*lines[:place], *errors, *lines[place:]])

    def fields(self) -> Iterator[tuple[str, object]]:
        """Yield what INFO says of the values, by INFO's own names."""
        yield from (("redis_mode", "cluster"), ("cluster_enabled", 1), ("run_id", self.identity))
        yield "uptime_in_seconds", self.uptime
        if self.policy:
            yield "maxmemory_policy", self.policy
        values = self.values
        yield from (("used_memory", int(values.get("memory", 0.5) * LIMIT)), ("maxmemory", LIMIT))
        for name, value in values.items():
            if name in SAID:
                field_name, good, bad = SAID[name]
                yield field_name, good if value else bad
            elif name in CPU:
                yield name, f"{value / 1e6:.6f}"
            else:
                yield name, int(value) if isinstance(value, bool) else value
        if self.is_primary and values.get("connected_slaves", 1):
            lag = int(values.get("replication_lag_seconds", 0))
            yield "slave0", f"ip=127.0.0.1,port={self.replica_port},state=online,offset=1463,lag={lag}"


class OnTime(Poll):
    """A poll that began with its tick, however long ago the test lets that be."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.offset_seconds = 0.0


def poll_and_judge(cache: Cache, tick: int, poller: Poller) -> None:
    leases.make_missing([cache.pk])
    OnTime(leases.claim([cache.pk], tick, "test"), tick, poller.pool, "test").run()
    evaluate.evaluate([cache.pk], tick)


@dataclass
class Cluster:
    """Shards of a primary and a replica each, and the poller that reads them."""

    servers: list[Server]
    cache: Cache
    poller: Poller
    every: int
    tick: int

    @classmethod
    def of(cls, shards: int, poller: Poller, every: int, tick: int) -> "Cluster":
        servers = [Server(number + 1, number % 2 == 0) for number in range(2 * shards)]
        for primary, replica in zip(servers[::2], servers[1::2], strict=True):
            primary.replica_port = replica.port
        for server in servers:
            server.layout = layout(servers, server)
        cache = Cache.objects.create(name="game", address=servers[0].url, poll_interval_seconds=every)
        return cls(servers, cache, poller, every, tick)

    def pass_time(self, values: Sequence[Mapping[str, Any]]) -> None:
        """Let an interval pass, poll the servers as they are then, and judge."""
        self.tick += self.every
        for server, told in zip(self.servers, values, strict=True):
            server.values = dict(told)
            server.uptime += self.every
        poll_and_judge(self.cache, self.tick, self.poller)

    def close(self) -> None:
        for server in self.servers:
            server.close()


def name_of(line: str) -> str:
    return line.partition(":")[0]


def layout(servers: Sequence[Server], asked: Server) -> str:
    """Return what a server answers to CLUSTER NODES."""
    shards = len(servers) // 2
    lines = []
    for index, server in enumerate(servers):
        shard = index // 2
        first, last = shard * SLOTS // shards, (shard + 1) * SLOTS // shards - 1
        flags = ("myself," if server is asked else "") + ("master" if server.is_primary else "slave")
        place = f"127.0.0.1:{server.port}@{server.port + 1}"
        primary = "-" if server.is_primary else servers[index - 1].identity
        slots = f" {first}-{last}" if server.is_primary else ""
        lines.append(f"{server.identity} {place} {flags} {primary} 0 0 {shard + 1} connected{slots}")
    return "\n".join(lines) + "\n"
