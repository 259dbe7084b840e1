"""Looking at an address while somebody waits: the connection test, step by step, and the first look at a cache."""

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import hiredis
from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from collectors import leases, poll, topology
from collectors.connections import RESP, Access, Link, SocketAddress, ask, attach, log_in, reach, resolve, tls_context
from collectors.credentials import access_of
from collectors.failures import Cause, ReadError, from_error_reply
from collectors.layout import Layout, address_text
from collectors.memcached import looking
from collectors.memcached.discovery import NODES_LIMIT
from collectors.models import Step
from collectors.pool import Pool
from collectors.source import Command
from collectors.sources.cluster import ClusterShards, ClusterSlots
from collectors.sources.info import INFO, Info
from collectors.targets import dialect_of
from collectors.worker import Identity
from fleet.addresses import Address, AddressError, Protocol
from fleet.models import Cache, Reach

# Servers of a list that are tested at most; the others are found to work or not once they are polled.
TESTED_SERVERS = 20
PING: Command = ("PING",)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StepResult:
    """How one step of a test went. The sentence says what was found, or why it failed and what to do."""

    step: Step
    ok: bool
    seconds: float
    sentence: str
    address: str = ""

    @property
    def label(self) -> str:
        return str(self.step.label)


@dataclass(frozen=True, slots=True)
class Discovery:
    """What was found at a cache's address when it was registered."""

    ok: bool
    sentence: str


def test_connection(cache: Cache) -> list[StepResult]:
    """Return the steps of reaching a cache as it is filled in, saved or not, up to the first that fails.

    Of several servers all are tried, and the steps of the first one that fails are returned. So it is with the
    nodes that a discovery endpoint names, after its own steps.
    """
    try:
        seeds = cache.seeds()
        access = access_of(cache, seeds[0].tls)
    except AddressError as error:
        return [StepResult(Step.ADDRESS, False, 0.0, str(error))]
    except ReadError as failure:
        return [StepResult(failure.step, False, 0.0, failure.sentence())]
    return asyncio.run(_test_all(seeds, access))


async def _test_all(servers: Sequence[Address], access: Access) -> list[StepResult]:
    tests = [_Test(server, access) for server in servers[:TESTED_SERVERS]]
    taken = await asyncio.gather(*(test.run() for test in tests))
    steps = next((steps for steps in taken if not steps[-1].ok), taken[0])
    return steps + await _test_all(tests[0].named, access) if tests[0].named else steps


class _Test:
    """The test of one server: the steps taken so far, and the link once there is one."""

    def __init__(self, seed: Address, access: Access) -> None:
        self.seed, self.access = seed, access
        self.results: list[StepResult] = []
        self.step = Step.RESOLVE
        self.began = time.monotonic()
        self.link: Link | None = None
        # The nodes that the server names, where it is a discovery endpoint.
        self.named: list[Address] = []

    async def run(self) -> list[StepResult]:
        try:
            async with asyncio.timeout(settings.TEST_CONNECTION_SECONDS):
                await self._go_through()
        except ReadError as failure:
            self._add(failure.step, False, failure.sentence())
        except TimeoutError:
            self._add(self.step, False, ReadError(self.step, Cause.SILENT).sentence())
        finally:
            if self.link:
                self.link.close()
        return self.results

    async def _go_through(self) -> None:
        host, port = self.seed.host, self.seed.port
        addresses = await self._take(Step.RESOLVE, resolve(host, port), _tell_addresses)
        sock = await self._take(Step.CONNECT, reach(addresses), _tell_peer)
        if self.seed.tls:
            self.link = link = await self._take(Step.TLS, self._secure(sock), _tell_certificate)
        else:
            self.link = link = await attach(sock, host, None, dialect_of([self.seed]))
        await self._take(Step.AUTH, self._authenticate(link), self._tell_login)
        if self.seed.protocol is Protocol.REDIS:
            await self._look_at_redis(link)
        elif self.seed.protocol is Protocol.MEMCACHED:
            await self._take(Step.STATS, looking.version(link), lambda version: f"Memcached {version}")
        else:
            layout = await self._take(Step.NODES, looking.nodes(link), _tell_nodes)
            self.named = [Address(node.host, node.port, self.seed.tls, Protocol.MEMCACHED) for node in layout.nodes()]

    async def _look_at_redis(self, link: Link) -> None:
        await self._take(Step.PING, _ping(link), lambda _reply: _("The server answers."))
        texts = await self._take(Step.INFO, _info(link), _tell_server)
        if texts.get("cluster_enabled") == "1":
            await self._take(Step.LAYOUT, _layout(link, self.seed), _tell_layout)
        else:
            self._begin(Step.LAYOUT)
            self._add(Step.LAYOUT, True, _tell_replication(texts))

    async def _take(self, step: Step, work: Awaitable[T], tell: Callable[[T], str]) -> T:
        """Take a step and write down how it went."""
        self._begin(step)
        found = await work
        self._add(step, True, tell(found))
        return found

    def _begin(self, step: Step) -> None:
        self.step, self.began = step, time.monotonic()

    def _add(self, step: Step, ok: bool, sentence: str) -> None:
        self.results.append(StepResult(step, ok, time.monotonic() - self.began, sentence, self.seed.text))

    async def _secure(self, sock: socket.socket) -> Link:
        try:
            return await attach(sock, self.seed.host, tls_context(self.access), dialect_of([self.seed]))
        except ReadError:
            sock.close()
            raise

    async def _authenticate(self, link: Link) -> None:
        await log_in(link, self.access)
        if link.dialect is not RESP:
            return
        # Without credentials the first command tells whether the server wants some.
        (reply,) = await ask(link, [PING], Step.AUTH)
        if isinstance(reply, hiredis.ReplyError):
            failure = from_error_reply(self.access.redact(str(reply)), Step.PING)
            if failure.step in {Step.AUTH, Step.CONNECT}:
                raise failure

    def _tell_login(self, _done: None) -> str:
        if self.access.login() is None and self.access.tokens is None:
            return _("The server needs no password.")
        return _("The server accepts the credentials.")


def _tell_addresses(addresses: Sequence[SocketAddress]) -> str:
    return _("The host is %(addresses)s.") % {"addresses": ", ".join(sorted({str(a[0]) for _f, a in addresses}))}


def _tell_peer(sock: socket.socket) -> str:
    return _("Connected to %(address)s.") % {"address": address_text(*sock.getpeername()[:2])}


def _tell_certificate(link: Link) -> str:
    certificate = (link.tls.getpeercert() if link.tls else None) or {}
    version = link.tls.version() if link.tls else ""
    return _("%(version)s; the certificate is valid until %(date)s.") % {
        "version": version,
        "date": certificate.get("notAfter", ""),
    }


async def _ping(link: Link) -> None:
    (reply,) = await ask(link, [PING], Step.PING)
    failure = from_error_reply(str(reply), Step.PING) if isinstance(reply, hiredis.ReplyError) else None
    # A user who may not run PING may well run what we need.
    if failure and failure.cause is not Cause.NO_PERMISSION:
        raise failure


async def _info(link: Link) -> dict[str, str]:
    """Return the facts in INFO. Raise ReadError where it is no data server's."""
    (reply,) = await ask(link, [INFO], Step.INFO)
    if isinstance(reply, hiredis.ReplyError):
        raise from_error_reply(str(reply), Step.INFO)
    readings = Info().parse([reply])
    if readings.facts.get("redis_mode") == "sentinel":
        raise ReadError(Step.INFO, Cause.SENTINEL)
    if "redis_version" not in readings.facts:
        raise ReadError(Step.INFO, Cause.NOT_INFO)
    return {**readings.facts, "replicas": str(len(readings.replicas))}


def _tell_server(texts: Mapping[str, str]) -> str:
    if "valkey_version" in texts:
        return f"Valkey {texts['valkey_version']}"
    return f"Redis {texts['redis_version']}"


async def _layout(link: Link, seed: Address) -> Layout:
    """Return the cluster's layout. Raise ReadError where the server does not tell it."""
    for source in (ClusterShards(seed.host, seed.tls), ClusterSlots(seed.host)):
        replies = await ask(link, source.commands(), Step.LAYOUT)
        layout = source.parse(replies).layout
        if layout:
            return layout
    errors = [str(reply) for reply in replies if isinstance(reply, hiredis.ReplyError)]
    raise ReadError(Step.LAYOUT, Cause.NO_LAYOUT, errors[0] if errors else "")


def _tell_layout(layout: Layout) -> str:
    return _("A cluster of %(shards)s with %(nodes)s.") % _counted(len(layout.shards), len(layout.nodes()))


def _tell_nodes(layout: Layout) -> str:
    count = len(layout.nodes())
    if count >= NODES_LIMIT:
        return _("It names %(limit)s nodes or more; no more than these are watched.") % {"limit": NODES_LIMIT}
    return ngettext("It names %(count)d node.", "It names %(count)d nodes.", count) % {"count": count}


def _counted(shards: int, nodes: int) -> dict[str, str]:
    """Return both numbers with their words, as parts of a sentence."""
    return {
        "shards": ngettext("%(count)d shard", "%(count)d shards", shards) % {"count": shards},
        "nodes": ngettext("%(count)d node", "%(count)d nodes", nodes) % {"count": nodes},
    }


def _tell_replication(texts: Mapping[str, str]) -> str:
    if texts.get("role") == "slave":
        primary = f"{texts.get('master_host', '')}:{texts.get('master_port', '')}"
        return _("A replica of %(primary)s.") % {"primary": primary}
    count = int(texts["replicas"])
    return ngettext("A primary with %(count)d replica.", "A primary with %(count)d replicas.", count) % {"count": count}


def discover(cache: Cache) -> Discovery:
    """Look at a cache for the first time: make its nodes known and take the first samples.

    Whatever goes wrong is told in the sentence; the cache is polled from now on in any case.
    """
    topology.ensure_seeds(cache.pk, cache.seeds())
    if cache.is_paused:
        return Discovery(True, _("It is paused, so it was not polled."))
    if cache.reach == Reach.SERVICE:
        return Discovery(True, _("Its nodes are not polled: its figures come from Cloud Monitoring."))
    leases.make_missing([cache.pk])
    pool = Pool()
    try:
        polled = poll.poll_caches([cache.pk], poll.current_tick(), pool, Identity.name)
        failures = pool.failures()
    finally:
        pool.close()
    if not polled:
        return Discovery(True, _("Its first poll is under way."))
    return _tell_discovery(cache, failures)


def _tell_discovery(cache: Cache, failures: Sequence[tuple[str, ReadError]]) -> Discovery:
    nodes = cache.nodes.present().count()
    if len(failures) >= nodes:
        address, failure = failures[0]
        return Discovery(False, f"{address}: {failure.sentence()}")
    shards = cache.shards.filter(left_at=None).count()
    return Discovery(True, _("Found %(shards)s with %(nodes)s.") % _counted(shards, nodes))
