"""Watched nodes as this process holds them: a kept connection each, and what is remembered from poll to poll."""

import asyncio
import ssl
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import hiredis
from django.conf import settings

from collectors import background
from collectors.capabilities import Support
from collectors.connections import RESP, SETNAME, Access, Link, ask, log_in, open_link, tls_context
from collectors.credentials import access_of
from collectors.cursors import raw_cursor
from collectors.dialect import Dialect
from collectors.failures import Cause, ReadError, from_error_reply
from collectors.layout import address_text
from collectors.memcached.discovery import CONFIG_CLUSTER, ConfigCluster
from collectors.memcached.sources import make_memcached_sources
from collectors.memcached.text import MEMCACHED
from collectors.models import Step
from collectors.plans import Plan
from collectors.source import Command, ReplicaSeen, Source, Standing, Value
from collectors.sources import make_sources
from collectors.topology import Standalone
from fleet.addresses import Address, AddressError, Protocol, parse_addresses
from fleet.engines import Engine
from fleet.models import Cache, Node

# A refusal is asked again some time, and settings change.
PLAN_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Way:
    """How to reach the nodes of one cache; `broken` says why it cannot be tried at all."""

    access: Access
    context: ssl.SSLContext | None
    broken: ReadError | None = None
    dialect: Dialect = RESP

    @classmethod
    def to(cls, cache: Cache) -> "Way":
        """Return the way to a cache's nodes, which speak TLS where its first address does."""
        seeds = cache.seeds()
        return cls.of(cache, bool(seeds) and seeds[0].tls)

    @classmethod
    def of(cls, cache: Cache, tls: bool) -> "Way":
        access, dialect = Access(tls), dialect_of(seeds_of(cache.address))
        try:
            access = access_of(cache, tls)
            return cls(access, tls_context(access) if tls else None, dialect=dialect)
        except ReadError as failure:
            return cls(access, None, failure, dialect)


class CacheRow(NamedTuple):
    """What a poll reads of a cache; secrets as they are stored."""

    pk: int
    address: str
    username: str
    password: str
    ca_bundle: str
    client_certificate: str
    client_key: str
    tls_check_hostname: bool
    login: str
    poll_interval_seconds: int
    engine: str
    topology: str

    @property
    def seeds(self) -> tuple[Address, ...]:
        return seeds_of(self.address)

    @property
    def endpoint(self) -> Address | None:
        """Return the discovery endpoint that names the nodes; None where the address names them itself."""
        return self.seeds[0] if self.seeds and self.seeds[0].protocol is Protocol.DISCOVERY else None

    @property
    def stamp(self) -> tuple[object, ...]:
        """Return what the way to the cache's nodes depends on."""
        return self[1:9]


class NodeRow(NamedTuple):
    """What a poll reads of a node."""

    pk: int
    cache_id: int
    identity: str
    host: str
    port: int
    role: str
    shard_id: int | None


# Read at every poll of every batch: model instances would cost as much as the poll itself.
READ_CACHES = """
    SELECT id, address, username, password, ca_bundle, client_certificate, client_key, tls_check_hostname,
        login, poll_interval_seconds, engine, topology
    FROM fleet_cache WHERE id = ANY(%s)
"""
READ_NODES = """
    SELECT id, cache_id, identity, host, port, role, shard_id
    FROM fleet_node WHERE cache_id = ANY(%s) AND left_at IS NULL ORDER BY id
"""


@lru_cache(maxsize=4096)
def seeds_of(address: str) -> tuple[Address, ...]:
    """Return the servers named in an address, none where it cannot be read."""
    try:
        return tuple(parse_addresses(address)[0])
    except AddressError:
        return ()


def dialect_of(seeds: Sequence[Address]) -> Dialect:
    return RESP if not seeds or seeds[0].protocol is Protocol.REDIS else MEMCACHED


def read_caches(cache_ids: Sequence[int]) -> list[CacheRow]:
    with raw_cursor() as cursor:
        return [CacheRow._make(row) for row in cursor.execute(READ_CACHES, [list(cache_ids)], prepare=True)]


def read_nodes(cache_ids: Sequence[int]) -> list[NodeRow]:
    """Return the present nodes of these caches."""
    with raw_cursor() as cursor:
        return [NodeRow._make(row) for row in cursor.execute(READ_NODES, [list(cache_ids)], prepare=True)]


def read_endpoint(cache_id: int, seed: Address) -> NodeRow | None:
    """Return the row that stands for a cache's discovery endpoint, present or not; None where the cache is gone."""
    rows = Node.objects.filter(cache_id=cache_id, identity=address_text(seed.host, seed.port))
    row = rows.values_list("pk", "cache_id", "identity", "host", "port", "role", "shard_id").first()
    return NodeRow._make(row) if row else None


class KeptPlan(NamedTuple):
    """A plan with the ticks it is good for, and with what it was made from."""

    plan: Plan
    since: int
    until: int
    standing: Standing
    lessons: int


class Target:
    """One node that this process polls. The link belongs to the loop's thread, the rest to the poll at hand.

    A discovery endpoint is one too: it is asked for the list of nodes, and for no numbers.
    """

    def __init__(self, node: NodeRow, way: Way, support: Support, is_endpoint: bool = False) -> None:
        self.node_id, self.cache_id = node.pk, node.cache_id
        self.identity, self.host, self.port = node.identity, node.host, node.port
        self.role, self.shard_id = node.role, node.shard_id
        self.way, self.support, self.is_endpoint = way, support, is_endpoint
        self.link: Link | None = None
        self.opening: asyncio.Task[Link] | None = None
        # Why the last poll failed; a node that failed holds up no later poll.
        self.failure: ReadError | None = None
        self.failing_since: float | None = None
        # Since we know the node, not since this process does.
        self.has_answered = False
        self.sources: tuple[Source, ...] = self._make_sources()
        self.due: dict[str, int] = {}
        self._kept: KeptPlan | None = None
        # Ways to learn the layout that brought none, and when.
        self.fruitless: dict[str, float] = {}
        self.ran_at: dict[str, int] = {}
        self.standing = Standing(Engine.MEMCACHED if way.dialect is MEMCACHED else Engine.UNKNOWN)
        self.texts: dict[str, str] = {}
        self.carried: dict[int, Value] = {}
        self.replicas: Sequence[ReplicaSeen] = ()
        self.peer: tuple[str, int] | None = None
        self.rank: tuple[int, ...] = ()
        self.used_at = time.monotonic()
        self.interval_seconds = float(settings.POLL_INTERVAL_SECONDS)

    def _make_sources(self) -> tuple[Source, ...]:
        if self.is_endpoint:
            return (ConfigCluster(),)
        if self.way.dialect is MEMCACHED:
            return make_memcached_sources()
        return make_sources(self.host, self.way.access.tls)

    @property
    def place(self) -> tuple[str, int]:
        return self.host, self.port

    @property
    def vital(self) -> Command:
        """Return the command at which the node must not fail."""
        return CONFIG_CLUSTER if self.is_endpoint else self.way.dialect.vital

    @property
    def step(self) -> Step:
        """Return the step that the vital command is."""
        return Step.NODES if self.is_endpoint else self.way.dialect.step

    @property
    def is_placeholder(self) -> bool:
        """Return whether the node is known by its address alone."""
        return self.identity == address_text(self.host, self.port)

    def plan(self, tick: int) -> Plan:
        """Return what to ask at a tick."""
        kept = self._kept
        if not (
            kept
            and kept.since <= tick < kept.until
            and kept.lessons == self.support.lessons
            and kept.standing == self.standing
        ):
            kept = self._kept = self._make_plan(tick)
        return kept.plan

    def _make_plan(self, tick: int) -> "KeptPlan":
        sources = self.due_sources(tick)
        later = [due for due in self.due.values() if due > tick]
        until = tick if any(source.every() for source in sources) else min([tick + PLAN_SECONDS, *later])
        return KeptPlan(
            Plan.of(sources, self.way.dialect.pack), tick, until, replace(self.standing), self.support.lessons
        )

    def due_sources(self, tick: int) -> list[Source]:
        """Return the sources of nodes whose time has come and whose commands are not refused."""
        return [
            source
            for source in self.sources
            if not source.once_a_cache
            and (source.every() == 0 or self._has_turn(source.name, tick))
            and source.wanted(self.standing)
            and self.may_run(source.commands())
            and all(self.support.is_refused(command) for command in source.instead_of)
        ]

    def _has_turn(self, name: str, tick: int) -> bool:
        # What ran later than now ran before the clock was set back: its next time may be days away.
        return self.due.get(name, tick) <= tick or self.ran_at.get(name, tick) > tick

    def named_sources(self, name: str) -> list[Source]:
        return [source for source in self.sources if source.name == name]

    def layout_source(self) -> Source | None:
        """Return the source that this node can tell the whole cache's layout by: the one not in vain for longest."""
        able = (
            source
            for source in self.sources
            if source.once_a_cache and source.wanted(self.standing) and self.may_run(source.commands())
        )
        oldest = time.monotonic() - settings.COMMAND_RECHECK_SECONDS
        return min(able, key=lambda source: max(self.fruitless.get(source.name, oldest), oldest), default=None)

    def note_layout(self, source: Source, has_told: bool) -> None:
        """Remember whether a source told the layout: servers have many words for not knowing its command."""
        if has_told:
            self.fruitless.pop(source.name, None)
        elif source.once_a_cache:
            self.fruitless[source.name] = time.monotonic()

    def may_run(self, commands: Iterable[Command]) -> bool:
        """Return whether at least one of these commands is not known to be refused."""
        return any(not self.support.is_refused(command) or command == self.vital for command in commands)

    def ran(self, source: Source, tick: int) -> int | None:
        """Set the next time of a source; return the seconds since its last, None for the first.

        Nodes take their turns at different ticks, so that load stays even.
        """
        if every := source.every():
            spread = self.node_id * settings.POLL_TICK_SECONDS % every
            self.due[source.name] = ((tick + spread) // every + 1) * every - spread
        before, self.ran_at[source.name] = self.ran_at.get(source.name), tick
        return None if before is None else tick - before

    def postpone(self, sources: Iterable[Source], tick: int) -> None:
        """Leave out what is not asked at every poll for a long time: their replies were too long to read."""
        for source in sources:
            if source.every():
                self.due[source.name] = tick + settings.COMMAND_RECHECK_SECONDS

    def forget(self) -> None:
        """Compare no reply with an earlier one: the server restarted."""
        for source in self.sources:
            source.forget()

    def learn(self, facts: dict[str, str]) -> None:
        """Take in what the node says of its kind."""
        self.texts.update(facts)
        texts = self.texts
        if "memcached_version" in texts:
            self.standing.version = version_of(texts["memcached_version"])
            return
        valkey = "valkey_version" in texts or texts.get("server_name") == "valkey"
        mode = texts.get("redis_mode") or texts.get("server_mode")
        self.standing.engine = Engine.VALKEY if valkey else Engine.REDIS
        self.standing.version = version_of(texts.get("redis_version", ""))
        self.standing.valkey_version = version_of(texts.get("valkey_version", ""))
        self.standing.in_cluster = texts.get("cluster_enabled") == "1" or mode == "cluster"

    def seen(self) -> Standalone | None:
        """Return what the node said of its replication at the last poll, None where it failed."""
        if self.standing.engine == Engine.MEMCACHED and not self.failure:
            return Standalone(Node.Role.PRIMARY.value, peer=self.peer)
        if self.failure or "role" not in self.texts:
            return None
        role = {"master": Node.Role.PRIMARY.value, "slave": Node.Role.REPLICA.value}.get(self.texts["role"], "")
        host, port = self.texts.get("master_host", ""), self.texts.get("master_port", "")
        is_replica = role == Node.Role.REPLICA and host and port.isdecimal() and len(port) < 6
        listed = tuple((replica.host or self.host, replica.port) for replica in self.replicas)
        return Standalone(
            role, self.texts.get("run_id", ""), (host, int(port)) if is_replica else None, listed, self.peer
        )

    async def open(self) -> Link:
        """Connect and log in; name the connection unless the node is known to refuse that."""
        if self.way.broken:
            raise self.way.broken
        self.link = link = await open_link(self.host, self.port, self.way.context, self.way.dialect)
        self.peer = link.peer
        try:
            await log_in(link, self.way.access)
            if self.way.dialect.names_connections and not self.support.is_refused(SETNAME):
                await self._name(link)
        except ReadError as failure:
            # A server that is stuck keeps this one connection: it may yet answer.
            if failure.cause is not Cause.SILENT:
                link.close()
            raise
        return link

    async def _name(self, link: Link) -> None:
        """Name the connection on the client list. Raise ReadError for an error that concerns more than that."""
        (reply,) = await ask(link, [SETNAME])
        self.support.note(SETNAME, reply)
        if isinstance(reply, hiredis.ReplyError):
            failure = from_error_reply(str(reply), Step.INFO)
            if failure.step in {Step.AUTH, Step.CONNECT}:
                raise failure

    def mark_failing(self) -> None:
        self.failing_since = self.failing_since or time.monotonic()

    def drop_soon(self) -> None:
        """Close a connection that is up but of no use, from any thread."""
        if self.link and self.link.lost is None:
            background.loop().call_soon_threadsafe(self.drop)

    def drop(self) -> None:
        """Close the connection; only in the loop's thread."""
        if self.opening:
            self.opening.cancel()
        if self.link:
            self.link.close()
        self.link = self.opening = None


def version_of(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(".") if number.isdecimal() and len(number) < 10)
