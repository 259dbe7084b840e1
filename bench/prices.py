"""Prices: what each of our commands costs a server, by the server's own count, and the bytes of its reply."""

import shutil
import socket
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import hiredis

from bench.report import Report, Row
from collectors import own_load
from collectors.capabilities import CONTAINERS
from collectors.connections import pack
from collectors.source import Command, Standing
from collectors.sources import make_sources
from fleet.engines import Engine
from launcher import binaries, resp, valkey
from launcher.valkey import CLUSTER_OPTIONS, Valkey

SHARDS, NODES, ROUNDS, CALLS = 3, 6, 60, 60
# Polls come seldom: asked again at once, a server would answer out of warm caches.
PAUSE_SECONDS = 0.02
STANDINGS: dict[str, Standing] = {
    Engine.VALKEY: Standing(Engine.VALKEY, (7, 2, 4), in_cluster=True, reports_limits=False, valkey_version=(9, 1)),
    Engine.REDIS: Standing(Engine.REDIS, (7, 0, 15), in_cluster=True, reports_limits=False),
}
# A usual application: about forty commands, so that statistics by command have their usual length.
WRITES = (
    "SET k v|SETEX s 60 v|INCR n|INCRBY n 5|APPEND a x|HSET h f v|HINCRBY h c 1|LPUSH l v|RPUSH l v|SADD t 1|ZADD z 1 m"
    "|ZINCRBY z 2 m|EXPIRE k 600|PEXPIRE h 600000|SETBIT b 7 1|PFADD p 1|GETSET k v|UNLINK s|LTRIM l 0 99|MSET k v"
)
READS = (
    "GET k|MGET k|STRLEN a|HGET h f|HGETALL h|HMGET h f|HLEN h|LRANGE l 0 9|LLEN l|SMEMBERS t|SCARD t|SISMEMBER t 1"
    "|ZRANGE z 0 9|ZRANK z m|ZSCORE z m|ZCARD z|TTL k|EXISTS k|TYPE k|GETBIT b 7|BITCOUNT b|SCAN 0|PING|DBSIZE"
)


def run(quick: bool) -> Report:
    report = Report("prices")
    for engine, program in programs().items():
        with cluster(program) as node:
            version = str(node.ask("INFO", "server")).partition(f"{engine}_version:")[2].split()[0]
            report.versions[engine] = version
            _use(node, 5 if quick else ROUNDS)
            for command in commands_for(STANDINGS[engine]):
                usec, size = price(node, command, 10 if quick else CALLS)
                known = own_load.price_of(command, engine)
                title = f"{' '.join(command)} on {engine}"
                report.add(Row(title, "usec", usec, runs=CALLS, note=f"reckoned with {known[0]:g}"))
                report.add(Row(title, "bytes", size, runs=CALLS, note=f"reckoned with {known[1]:,}"))
    return report


def programs() -> dict[str, Path]:
    """Return Valkey's server, and Redis' where it is installed."""
    redis = shutil.which("redis-server")
    return {Engine.VALKEY: binaries.valkey_server(), **({Engine.REDIS: Path(redis)} if redis else {})}


def commands_for(standing: Standing) -> list[Command]:
    """Return what a node of this kind is asked, each command once."""
    wanted = [source for source in make_sources("127.0.0.1", tls=False) if source.wanted(standing)]
    return list(dict.fromkeys(command for source in wanted for command in source.commands()))


@contextmanager
def cluster(program: Path) -> Iterator[Valkey]:
    """Yield a primary of a cluster of three shards with a replica each."""
    directory = Path(tempfile.mkdtemp(prefix="prices-"))
    nodes: list[Valkey] = []
    try:
        for number in range(NODES):
            nodes += [valkey.start_valkey(directory / str(number), *CLUSTER_OPTIONS, program=program)]
        valkey.form_cluster(nodes, SHARDS)
        yield nodes[0]
    finally:
        valkey.stop_all(nodes)
        shutil.rmtree(directory, ignore_errors=True)


def _use(node: Valkey, rounds: int) -> None:
    """Run every command of the application, all of them slow enough for the slow log."""
    node.ask("CONFIG", "SET", "slowlog-log-slower-than", "0")
    with suppress(resp.ReplyError):
        # Redis does not know it; without it a server refuses to order slots by time.
        node.ask("CONFIG", "SET", "cluster-slot-stats-enabled", "yes")
    tag = next(f"{{{n}}}" for n in range(1000) if _holds(node, f"{{{n}}}"))
    for number in range(rounds):
        for line in (*WRITES.split("|"), *READS.split("|")):
            name, *arguments = line.split()
            if arguments and not arguments[0].isdigit():
                arguments[0] = f"{tag}{arguments[0]}"
            node.ask(name, *[f"{word}{'x' * number * 20}" if word == "v" else word for word in arguments])


def _holds(node: Valkey, key: str) -> bool:
    try:
        node.ask("GET", key)
    except resp.ReplyError:
        return False
    return True


def price(node: Valkey, command: Command, calls: int) -> tuple[float, int]:
    """Return the server's mean time for a command in microseconds, and the bytes of its reply."""
    name = "|".join(command[: 2 if command[0] in CONTAINERS - {"INFO"} else 1]).lower()
    packed = pack([command])
    with socket.create_connection(node.address) as connection:
        _read(connection, packed)
        before = _counted(node, name)
        sizes = []
        for _ in range(calls):
            time.sleep(PAUSE_SECONDS)
            sizes.append(_read(connection, packed))
    after = _counted(node, name)
    return (after[1] - before[1]) / (after[0] - before[0]), sorted(sizes)[calls // 2]


def _read(connection: socket.socket, packed: bytes) -> int:
    connection.sendall(packed)
    reader, size = hiredis.Reader(), 0
    while True:
        received = connection.recv(65_536)
        size += len(received)
        reader.feed(received)
        if reader.gets() is not False:
            return size


def _counted(node: Valkey, name: str) -> Sequence[int]:
    """Return the calls and the microseconds of a command so far."""
    for line in str(node.ask("INFO", "commandstats")).splitlines():
        if line.startswith(f"cmdstat_{name}:"):
            parts = dict(part.split("=") for part in line.partition(":")[2].split(","))
            return int(parts["calls"]), int(parts["usec"])
    return 0, 0
