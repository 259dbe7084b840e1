"""Which of some known clients are still connected to a cache: all its nodes are asked now, others are counted."""

import asyncio
from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from collectors import capabilities
from collectors.capabilities import Support
from collectors.client_list import REPLICATION_FLAGS, client_of, fields_of
from collectors.client_lists import take_list
from collectors.connections import CONNECTION_NAME
from collectors.failures import Cause, ReadError
from collectors.steps import Step
from collectors.targets import NodeRow, Way, read_nodes
from fleet.models import Cache

NODE_SECONDS = 5.0


@dataclass(slots=True)
class Connected:
    """The connections of one known client: the shortest idle time in seconds, and the command of that one."""

    connections: int = 0
    idle: int | None = None
    command: str = ""

    def add(self, idle: int | None, command: str) -> None:
        self.connections += 1
        if idle is not None and (self.idle is None or idle < self.idle):
            self.idle, self.command = idle, command


@dataclass(slots=True)
class Presence:
    """What client lists say of those that are wanted: hosts, hosts with a port, names of connections."""

    wanted: Set[str]
    own_address: str = ""
    # Of applications, wanted or not; ours and those of replication are left out.
    connections: int = 0
    present: dict[str, Connected] = field(default_factory=dict)
    failure: ReadError | None = None

    def take(self, line: bytes) -> None:
        """Take in one line; one that is no client's is passed over."""
        found = fields_of(line)
        if b"addr" not in found or REPLICATION_FLAGS & frozenset(found.get(b"flags", b"")):
            return
        client = client_of(found)
        if client.address == self.own_address or client.name == CONNECTION_NAME:
            return
        self.connections += 1
        host = client.address.rpartition(":")[0].strip("[]")
        for known in self.wanted & {client.name, client.address, host}:
            self.present.setdefault(known, Connected()).add(client.idle, client.command)


def read(cache_id: int, wanted: Set[str]) -> Presence:
    """Ask every node of a cache who is connected; a failure of one is kept, as then nobody can tell."""
    seen = Presence(wanted)
    cache, nodes = Cache.objects.filter(pk=cache_id).first(), read_nodes([cache_id])
    if cache is None or not nodes:
        seen.failure = ReadError(Step.ADDRESS, Cause.SILENT)
        return seen
    support = capabilities.load([node.pk for node in nodes])
    asyncio.run(_ask_all(nodes, support, Way.to(cache), seen))
    return seen


async def _ask_all(nodes: list[NodeRow], support: Mapping[int, Support], way: Way, seen: Presence) -> None:
    # One after the other: a cache must not stand still as a whole.
    for node in nodes:
        try:
            async with asyncio.timeout(NODE_SECONDS):
                await take_list(node, support[node.pk], way, seen)
        except ReadError as failure:
            seen.failure = failure
        except TimeoutError:
            seen.failure = ReadError(Step.INFO, Cause.SILENT)
