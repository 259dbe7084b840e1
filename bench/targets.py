"""Servers to collect from: a few real ones, each under many loopback addresses, as caches of six nodes."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from fleet.models import Cache
from launcher import resp, valkey
from launcher.valkey import Valkey

# A server listens at sixteen addresses at most.
SERVERS = 66
# Nodes of one cache must be different processes: a server under two names counts once.
NODES_A_CACHE = 6
KEYS = 200
COMMANDS = (
    ("HSET", "user", "name", "a"),
    ("HGETALL", "user"),
    ("ZADD", "ranking", 1, "a"),
    ("ZRANGE", "ranking", 0, 9),
    ("INCR", "visits"),
    ("EXPIRE", "visits", 3600),
    ("SADD", "online", "a"),
    ("SCARD", "online"),
    ("LPUSH", "inbox", "hello"),
    ("LRANGE", "inbox", 0, 9),
    ("DEL", "inbox"),
    ("EXISTS", "user"),
)


@dataclass(frozen=True, slots=True)
class Targets:
    """Running servers; `addresses` has one list a cache."""

    servers: list[Valkey]
    addresses: list[list[str]]

    @property
    def processes(self) -> list[psutil.Process]:
        return [psutil.Process(server.pid) for server in self.servers]

    def version(self) -> str:
        said = str(self.servers[0].ask("INFO", "server"))
        return next(line.partition(":")[2] for line in said.splitlines() if line.startswith("valkey_version:"))

    def urls(self, caches: int) -> list[str]:
        return [url for addresses in self.addresses[:caches] for url in addresses]

    def register(self, paused: bool = True) -> list[Cache]:
        """Register all caches, polled every five seconds."""
        return Cache.objects.bulk_create(
            Cache(name=f"bench-{number}", address=",".join(urls), poll_interval_seconds=5, is_paused=paused)
            for number, urls in enumerate(self.addresses)
        )


@contextmanager
def targets(directory: Path, nodes: int) -> Iterator[Targets]:
    """Start servers that answer under as many addresses as it takes for that many nodes."""
    hosts = [f"127.0.0.{number}" for number in range(1, -(-nodes // SERVERS) + 1)]
    started: list[Valkey] = []
    try:
        for number in range(SERVERS):
            started.append(valkey.start_valkey(directory / f"target-{number}", "--bind", *hosts))
            _use(started[-1])
        yield Targets(started, [_addresses(started, host, first) for host in hosts for first in _firsts()])
    finally:
        valkey.stop_all(started)


def _firsts() -> range:
    return range(0, SERVERS, NODES_A_CACHE)


def _addresses(servers: list[Valkey], host: str, first: int) -> list[str]:
    return [f"redis://{host}:{server.port}" for server in servers[first : first + NODES_A_CACHE]]


def _use(server: Valkey) -> None:
    """Leave some keys and some commands to report: an idle server's INFO is short."""
    for number in range(KEYS):
        resp.ask(server.address, "SET", f"user_cache:{number}", "x" * 64)
    for words in COMMANDS:
        resp.ask(server.address, *words)
