"""What we cost the watched servers: the price of each command, and what its turns come to.

Prices were measured with `bin/bench prices` on a cluster of six nodes whose application uses forty commands;
docs/load.md shows them. Slow logs are priced full, at 128 entries.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from collectors.capabilities import name_of
from collectors.memcached.sources import make_memcached_sources
from collectors.source import Command, Standing
from collectors.sources import make_sources
from collectors.sources.info import INFO
from fleet.engines import Engine

VALKEY, REDIS, MEMCACHED = Engine.VALKEY, Engine.REDIS, Engine.MEMCACHED


@dataclass(frozen=True, slots=True)
class Price:
    """Microseconds of a server's time by engine, and the bytes of the reply."""

    usec: Mapping[str, float]
    reply_bytes: int


PRICES: dict[str, Price] = {
    "INFO": Price({VALKEY: 70, REDIS: 61}, 6_600),
    "INFO commandstats": Price({VALKEY: 83, REDIS: 113}, 4_700),
    "LATENCY HISTOGRAM": Price({VALKEY: 786, REDIS: 328}, 4_800),
    "LATENCY LATEST": Price({VALKEY: 3, REDIS: 3}, 4),
    "SLOWLOG GET": Price({VALKEY: 87, REDIS: 72}, 11_600),
    "COMMANDLOG GET": Price({VALKEY: 109}, 14_200),
    "CLUSTER INFO": Price({VALKEY: 36, REDIS: 32}, 840),
    "CLUSTER SHARDS": Price({VALKEY: 40, REDIS: 43}, 1_560),
    "CLUSTER SLOTS": Price({VALKEY: 4, REDIS: 29}, 530),
    "CLUSTER NODES": Price({VALKEY: 97, REDIS: 50}, 760),
    "CLUSTER SLOT-STATS": Price({VALKEY: 243}, 2_110),
    "ACL DRYRUN": Price({VALKEY: 3, REDIS: 5}, 5),
    "CONFIG GET": Price({VALKEY: 10, REDIS: 8}, 32),
}
# As docs/memcached.md shows them: with forty classes of chunks and a hundred connections.
MEMCACHED_PRICES: dict[str, Price] = {
    "stats": Price({MEMCACHED: 28}, 2_240),
    "stats settings": Price({MEMCACHED: 23}, 1_890),
    "stats slabs": Price({MEMCACHED: 63}, 4_920),
    "stats items": Price({MEMCACHED: 88}, 11_880),
    "stats conns": Price({MEMCACHED: 195}, 13_730),
}


@dataclass(frozen=True, slots=True)
class Charge:
    """One command that is sent every so many seconds. `once` is once a cache, else to every node."""

    name: str
    every: int
    usec: float
    reply_bytes: int
    once: bool = False

    @property
    def usec_per_minute(self) -> float:
        return self.usec * 60 / self.every

    @property
    def bytes_per_minute(self) -> float:
        return self.reply_bytes * 60 / self.every


@dataclass(frozen=True, slots=True)
class OwnLoad:
    """What one node of a cache is asked; what goes to one node of all counts as if this were it."""

    charges: list[Charge]

    @property
    def usec_per_minute(self) -> float:
        return sum(charge.usec_per_minute for charge in self.charges)

    @property
    def bytes_per_minute(self) -> float:
        return sum(charge.bytes_per_minute for charge in self.charges)

    @property
    def time_share(self) -> float:
        return self.usec_per_minute / 60e6


def charges(standing: Standing, interval: int, refused: Collection[str] = ()) -> list[Charge]:
    """Return what a cache of such nodes is asked; `refused` are the names of commands that all of them refuse."""
    found: dict[Command, Charge] = {}
    has_layout = False
    for source in make_memcached_sources() if standing.engine == MEMCACHED else make_sources("", tls=False):
        allowed = [command for command in source.commands() if command == INFO or name_of(command) not in refused]
        has_better = any(name_of(command) not in refused for command in source.instead_of)
        if not source.wanted(standing) or not allowed or has_better or (source.once_a_cache and has_layout):
            continue
        has_layout |= source.once_a_cache
        for command in allowed:
            charge = _charge(command, standing.engine, max(source.every(), interval), source.once_a_cache)
            known = found.get(command)
            if known is None or charge.every < known.every:
                found[command] = charge
    return list(found.values())


def _charge(command: Command, engine: str, every: int, once: bool) -> Charge:
    return Charge(" ".join(command), every, *price_of(command, engine), once)


def price_of(command: Command, engine: str) -> tuple[float, int]:
    """Return microseconds and bytes of a command; where the engine is not known, those of the dearer one."""
    price = (PRICES | MEMCACHED_PRICES).get(name_of(command), Price({}, 0))
    return price.usec.get(engine, max(price.usec.values(), default=0.0)), price.reply_bytes
