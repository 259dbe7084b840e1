"""What a client list says of who holds the connections of one node, taken in line by line.

A list of 64,000 connections is 20 MB: it is never held whole. Kept are groups, a bounded number of each kind,
and the few connections that are largest, idlest and oldest.
"""

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import ip_address, ip_network
from typing import Any, NamedTuple

from collectors.failures import printable

# Groups shown of each kind; the others are added up.
GROUPS = 50
# Different labels followed while a list is read; beyond them everything counts as the rest.
LABELS_FOLLOWED = 2_000
LABEL_LIMIT = 80
ROWS_BY = 200
DIGITS = 16
# Upper ends of the bands in seconds, with their labels.
IDLE_BANDS = ((10, "0-10 s"), (60, "10-60 s"), (600, "1-10 min"), (3_600, "10-60 min"), (86_400, "1-24 h"))
IDLE_LONGEST = "1 d or more"
UNIX_SOCKET = "unix socket"
# A replica's connection to its primary, and a primary's to its replica.
REPLICATION_FLAGS = frozenset(b"SM")
WANTED = frozenset(
    (
        b"addr",
        b"name",
        b"age",
        b"idle",
        b"flags",
        b"qbuf",
        b"omem",
        b"tot-mem",
        b"cmd",
        b"user",
        b"lib-name",
        b"lib-ver",
    )
)

Row = list[Any]


class Client(NamedTuple):
    """One connection; None is not reported. Times are seconds, the rest bytes."""

    address: str
    name: str
    user: str
    library: str
    command: str
    age: int | None
    idle: int | None
    qbuf: int | None
    omem: int | None
    tot_mem: int | None


@dataclass(slots=True)
class Group:
    """The connections that share a label: sums of bytes, and the longest idle time in seconds."""

    connections: int = 0
    qbuf: int | None = None
    omem: int | None = None
    tot_mem: int | None = None
    idle: int | None = None

    def add(self, qbuf: int | None, omem: int | None, tot_mem: int | None, idle: int | None, number: int = 1) -> None:
        self.connections += number
        self.qbuf, self.omem, self.tot_mem = plus(self.qbuf, qbuf), plus(self.omem, omem), plus(self.tot_mem, tot_mem)
        if idle is not None and (self.idle is None or idle > self.idle):
            self.idle = idle

    def merge(self, other: "Group") -> None:
        self.add(other.qbuf, other.omem, other.tot_mem, other.idle, other.connections)

    def row(self, label: str | None) -> Row:
        return [label, self.connections, self.qbuf, self.omem, self.tot_mem, self.idle]


def plus(total: int | None, number: int | None) -> int | None:
    return total if number is None else (total or 0) + number


LABELS: dict[str, Callable[[Client], str]] = {
    "name": lambda client: client.name,
    "user": lambda client: client.user,
    "library": lambda client: client.library,
    "network": lambda client: network_of(client.address),
    "idle": lambda client: idle_band(client.idle),
    "command": lambda client: client.command,
}
BYS = tuple(LABELS)


@dataclass(slots=True)
class ClientList:
    """The list of one node, as far as it was read. `own_address` and `own_name` tell our connections."""

    own_address: str = ""
    own_name: str = ""
    connections: int = 0
    own: int = 0
    replication: int = 0
    _groups: dict[str, dict[str | None, Group]] = field(default_factory=lambda: {by: {} for by in BYS})
    _tops: list[list[tuple[int, int, Client]]] = field(default_factory=lambda: [[], [], []])

    def take(self, line: bytes) -> None:
        """Take in one line; one that is no client's is passed over."""
        found = fields_of(line)
        if b"addr" not in found:
            return
        client = client_of(found)
        if client.address == self.own_address or (self.own_name and client.name == self.own_name):
            self.own += 1
        elif REPLICATION_FLAGS & frozenset(found.get(b"flags", b"")):
            self.replication += 1
        else:
            self._count(client)

    def _count(self, client: Client) -> None:
        self.connections += 1
        for by, label_of in LABELS.items():
            groups, label = self._groups[by], label_of(client)
            group = groups.get(label)
            if group is None:
                group = groups.setdefault(label if len(groups) < LABELS_FOLLOWED else None, Group())
            group.add(client.qbuf, client.omem, client.tot_mem, client.idle)
        for top, number in zip(self._tops, (client.tot_mem, client.idle, client.age), strict=True):
            # The count breaks ties: clients themselves are never compared.
            entry = (number or 0, -self.connections, client)
            if len(top) < ROWS_BY:
                heapq.heappush(top, entry)
            elif entry > top[0]:
                heapq.heapreplace(top, entry)

    def groups(self) -> dict[str, list[Row]]:
        """Return rows by grouping: label (None: the rest), connections, qbuf, omem, tot_mem, longest idle."""
        return {by: top_rows(groups) for by, groups in self._groups.items()}

    def rows(self) -> list[Row]:
        """Return the largest, idlest and oldest connections, each once, as Client's fields."""
        # Connections over a Unix socket share an address, so that the count tells them apart.
        found = {count: client for top in self._tops for _, count, client in top}
        return [list(client) for client in found.values()]


def top_rows(groups: Mapping[str | None, Group]) -> list[Row]:
    """Return the largest groups as rows, the others added up in one without a label."""
    ranked = sorted((label for label in groups if label is not None), key=lambda label: -groups[label].connections)
    rest = Group()
    for label in [*ranked[GROUPS:], *([None] if None in groups else [])]:
        rest.merge(groups[label])
    rows = [groups[label].row(label) for label in ranked[:GROUPS]]
    return [*rows, rest.row(None)] if rest.connections else rows


def fields_of(line: bytes) -> dict[bytes, bytes]:
    """Return the fields of a line that we use; of a name that comes twice the first counts."""
    found: dict[bytes, bytes] = {}
    for part in line.split(b" "):
        name, _, value = part.partition(b"=")
        if name in WANTED and name not in found:
            found[name] = value
    return found


def client_of(found: Mapping[bytes, bytes]) -> Client:
    library = f"{text_in(found, b'lib-name')} {text_in(found, b'lib-ver')}".strip()
    return Client(
        text_in(found, b"addr"),
        text_in(found, b"name"),
        text_in(found, b"user"),
        library[:LABEL_LIMIT],
        text_in(found, b"cmd").replace("|", " "),
        number_in(found, b"age"),
        number_in(found, b"idle"),
        number_in(found, b"qbuf"),
        number_in(found, b"omem"),
        number_in(found, b"tot-mem"),
    )


def text_in(found: Mapping[bytes, bytes], name: bytes) -> str:
    value = found.get(name, b"")
    # Most texts are plain: looking at each character of the others alone halves the time.
    if value.isascii() and (text := value.decode()).isprintable():
        return text[:LABEL_LIMIT]
    return printable(value, LABEL_LIMIT)


def number_in(found: Mapping[bytes, bytes], name: bytes) -> int | None:
    value = found.get(name, b"")
    return int(value) if value.isdigit() and len(value) < DIGITS else None


def idle_band(seconds: int | None) -> str:
    if seconds is None:
        return ""
    return next((label for end, label in IDLE_BANDS if seconds < end), IDLE_LONGEST)


def network_of(address: str) -> str:
    """Return the /24 or /64 that an address is in; its text where it is none."""
    if "/" in address:
        return UNIX_SOCKET
    return network_of_host(address.rpartition(":")[0].strip("[]"))


@lru_cache(maxsize=4_096)
def network_of_host(host: str) -> str:
    try:
        found = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    found = getattr(found, "ipv4_mapped", None) or found
    return str(ip_network(f"{found}/{24 if found.version == 4 else 64}", strict=False))
