"""What each trouble does to a cache while it is ordered, and how its traces are removed."""

import resource
import socket
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from itertools import cycle, islice
from typing import Any, Protocol

import redis

from demo.backend import Backend
from demo.layout import GAME, Member
from demo.nodes import client
from demo.workload import FILLER, Request, Word, text_of
from launcher.valkey import HOST

GROWTH_PREFIX = "battle_log:"
GROWTH_SECONDS = 260
GROWTH_VALUE_BYTES = 8_000
# Beyond the limit, so that the server has to evict.
GROWTH_OVERSHOOT = 1.1

HOT_PREFIX = "user_cache:{world-boss}:"
HOT_KEYS = 500
HOT_READS_PER_SECOND = 900

STORM_SECONDS = 60
STORM_CHURN_PER_SECOND = 40
# What each primary in turn gets of its maxclients: the first has to refuse connections.
STORM_SHARES = (1.1, 0.5, 0.3)

BIG_STRING, BIG_HASH = "inventory_dump:all", "guild_history:1"
BIG_RANKING, BIG_LIST = "ranking:all_time", "matchmaking:backlog"
BIG_KEYS = (BIG_STRING, BIG_HASH, BIG_RANKING, BIG_LIST)
BIG_STRING_BYTES = 5_000_000
BIG_WRITES_PER_SECOND = 40
BIG_READ_SECONDS = 5.0


class Trouble(Protocol):
    """Something that goes wrong on one cache for as long as it is ordered."""

    def requests(self, seconds: float, now: float) -> list[Request]:
        """Return what it asks of the cache in a span of time."""

    def close(self) -> None:
        """Give back what it holds; what it wrote is swept away by `sweep`."""


class Growth:
    """Keys without a TTL pile up until every primary is full, within about five minutes."""

    def __init__(self, backend: Backend) -> None:
        room = sum(free_bytes(port) for port in backend.primary_ports) * GROWTH_OVERSHOOT
        self.per_second = room / GROWTH_VALUE_BYTES / GROWTH_SECONDS
        # A ring, so that a trouble left on for days stays as big as it was.
        self.numbers = cycle(range(max(1, int(room / GROWTH_VALUE_BYTES))))
        self.owed = 0.0

    def requests(self, seconds: float, now: float) -> list[Request]:
        self.owed += self.per_second * seconds
        due, self.owed = int(self.owed), self.owed % 1
        numbers = islice(self.numbers, due)
        return [Request(("SET", f"{GROWTH_PREFIX}{n}", text_of(n, GROWTH_VALUE_BYTES))) for n in numbers]

    def close(self) -> None:
        pass


class HotShard:
    """An event that everybody joins: its keys share a hash tag, so that one shard serves them all."""

    def __init__(self, backend: Backend) -> None:
        self.rng = backend.rng

    def requests(self, seconds: float, now: float) -> list[Request]:
        return [self.read() for _ in range(int(HOT_READS_PER_SECOND * seconds))]

    def read(self) -> Request:
        number = self.rng.randrange(HOT_KEYS)
        key = f"{HOT_PREFIX}{number}"
        return Request(("GET", key), ("SET", key, text_of(number, 2_000), "EX", 600))

    def close(self) -> None:
        pass


class BigKeys:
    """A few values of several megabytes are written, and read whole again and again."""

    def __init__(self, backend: Backend) -> None:
        self.writes = big_writes()
        self.read_at = 0.0
        self.reads = cycle((("GET", BIG_STRING), ("HGETALL", BIG_HASH), ("ZRANGE", BIG_RANKING, 0, -1)))

    def requests(self, seconds: float, now: float) -> list[Request]:
        due = list(islice(self.writes, max(1, int(BIG_WRITES_PER_SECOND * seconds))))
        if not due and now >= self.read_at:
            self.read_at = now + BIG_READ_SECONDS
            return [Request(next(self.reads))]
        return due

    def close(self) -> None:
        pass


class Storm:
    """Connections are opened and closed without end, more of them every second, until servers refuse."""

    def __init__(self, backend: Backend) -> None:
        raise_file_limit()
        self.goals = [
            (port, int(maxclients(port) * share))
            for port, share in zip(backend.primary_ports, STORM_SHARES, strict=False)
        ]
        self.held: dict[int, deque[socket.socket]] = {port: deque() for port, _ in self.goals}
        self.age = 0.0

    def requests(self, seconds: float, now: float) -> list[Request]:
        self.age += seconds
        for port, goal in self.goals:
            held = self.held[port]
            grown = int(goal * min(1.0, self.age / STORM_SECONDS))
            churn = int(STORM_CHURN_PER_SECOND * seconds)
            for _ in range(max(0, grown - len(held)) + churn):
                self.open(port)
            while len(held) > grown:
                held.popleft().close()
        return []

    def open(self, port: int) -> None:
        with suppress(OSError):
            connection = socket.create_connection((HOST, port), timeout=0.2)
            self.held[port].append(connection)
            connection.sendall(b"PING\r\n")

    def close(self) -> None:
        for held in self.held.values():
            while held:
                held.popleft().close()


def make(name: str, backend: Backend) -> Trouble | None:
    """Return the trouble as the traffic plays it, None for those that are the fleet's."""
    kinds: dict[str, type[Growth | HotShard | BigKeys | Storm]] = {
        "growth": Growth,
        "hotshard": HotShard,
        "bigkeys": BigKeys,
        "storm": Storm,
    }
    return kinds[name](backend) if name in kinds else None


def free_bytes(port: int) -> int:
    """Return how much a server can still store below maxmemory."""
    with client(port) as server:
        memory: dict[str, int] = server.info("memory")
    return max(0, memory["maxmemory"] - memory["used_memory"])


def maxclients(port: int) -> int:
    with client(port) as server:
        return int(server.info("clients")["maxclients"])


def raise_file_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4_096 if hard == resource.RLIM_INFINITY else min(4_096, hard)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def big_writes() -> Iterator[Request]:
    """Return the writes that make the big keys, each small enough to disturb nobody but the first."""
    yield Request(("SET", BIG_STRING, (FILLER * (BIG_STRING_BYTES // len(FILLER) + 1))[:BIG_STRING_BYTES]))
    for first in range(0, 30_000, 500):
        fields: list[Word] = [word for n in range(first, first + 500) for word in (f"day:{n}", text_of(n, 60))]
        yield Request(("HSET", BIG_HASH, *fields))
        scores: list[Word] = [word for n in range(first, first + 500) for word in (n * 7, f"player:{n}")]
        yield Request(("ZADD", BIG_RANKING, *scores))
        yield Request(("RPUSH", BIG_LIST, *(text_of(n, 60) for n in range(first, first + 500))))


def is_trace(key: str) -> bool:
    return key.startswith((GROWTH_PREFIX, HOT_PREFIX)) or key in BIG_KEYS


def sweep(members: list[Member]) -> int:
    """Delete what troubles wrote from every server that can be written to; return how many keys went."""
    return sum(sweep_one(member.port) for member in members)


def sweep_one(port: int) -> int:
    swept = 0
    with client(port, timeout=10) as server, suppress(redis.ConnectionError):
        role: dict[str, Any] = server.info("replication")
        if role["role"] != "master":
            return 0
        # One database: clusters have no other.
        for keys in batches(server.scan_iter(count=2_000)):
            if traces := [key for key in keys if is_trace(key)]:
                swept += sum(unlinked(server, traces))
    return swept


def unlinked(server: redis.Redis, keys: list[str]) -> list[int]:
    # One key a command: keys of different slots must not share one in a cluster.
    pipeline = server.pipeline(transaction=False)
    for key in keys:
        pipeline.unlink(key)
    return [reply for reply in pipeline.execute(raise_on_error=False) if isinstance(reply, int)]


def batches(keys: Iterator[str]) -> Iterator[list[str]]:
    while batch := list(islice(keys, 2_000)):
        yield batch


def suits(trouble: str, cache: str) -> bool:
    """Tell whether a cache can have a trouble: shards to heat and to lose have clusters only."""
    return cache == GAME or trouble not in {"hotshard", "kill-node"}
