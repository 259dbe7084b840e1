"""Who holds the connections of a cache, as its page and the API show it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db.models.fields.json import KeyTransform
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import AuditEntry, User
from collectors import client_lists, client_trends
from collectors.client_list import Client, Group, top_rows
from collectors.client_reading import ROWS_KEPT
from collectors.client_trends import Trends
from collectors.keyscan.reasons import Reason, words
from collectors.models import ClientReading, ClientRows
from dashboard.refusals import Refusal, refusals
from dashboard.watched import WatchedNode, nodes_of
from fleet.models import Cache

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

Words = Mapping[str, "StrOrPromise"]
BY_WORDS: Words = {
    "name": gettext_lazy("Name"),
    "user": gettext_lazy("User"),
    "library": gettext_lazy("Library"),
    "network": gettext_lazy("Network"),
    "idle": gettext_lazy("Idle time"),
    "command": gettext_lazy("Last command"),
}
SORT_WORDS: Words = {"memory": gettext_lazy("Memory"), "idle": gettext_lazy("Idle"), "age": gettext_lazy("Age")}
# Where connections have no names.
BY_FEWER: Words = {"network": BY_WORDS["network"], "idle": BY_WORDS["idle"], "command": gettext_lazy("State")}
SORT_FEWER: Words = {"idle": SORT_WORDS["idle"]}
ROWS_SHOWN = 50
COMMANDS = ("CLIENT LIST", "stats conns")


@dataclass(frozen=True, slots=True)
class ClientNode:
    """One node with its last reading, None where its list was never read."""

    watched: WatchedNode
    reading: ClientReading | None
    interval_seconds: int

    @property
    def connected(self) -> int | None:
        """Return how many connections the newest sample shows, ours included."""
        number = self.watched.value("connected_clients")
        return None if number is None else int(number)

    @property
    def failure(self) -> str:
        return self.reading.failure if self.reading else ""

    @property
    def is_read(self) -> bool:
        return self.reading is not None and not self.reading.failure

    @property
    def is_over_limit(self) -> bool:
        return self.connected is not None and self.connected > settings.CLIENTS_LIMIT

    @property
    def new_per_second(self) -> float | None:
        """Return the rate of new connections without the one that reading the list took."""
        rate = self.watched.value("connections_received_per_second")
        if rate is None or self.watched.latest is None:
            return None
        end: datetime = self.watched.latest.at
        begun = self.reading.read_at if self.reading else None
        is_ours = begun is not None and end - timedelta(seconds=self.interval_seconds) < begun <= end
        return max(rate - is_ours / self.interval_seconds, 0.0)


@dataclass(frozen=True, slots=True)
class ClientGroup:
    """Connections that share a label, over nodes; `share` is of all that were read, 0 to 1."""

    label: str
    is_rest: bool
    connections: int
    qbuf: int | None
    omem: int | None
    tot_mem: int | None
    idle: int | None
    share: float
    # Over the last 24 hours, oldest first; None is not read.
    trend: Sequence[int | None] = ()
    change: int | None = None


@dataclass(frozen=True, slots=True)
class SingleClient:
    node: WatchedNode
    client: Client


@dataclass(frozen=True, slots=True)
class Clients:
    """The connections of a cache, or of one node where it was asked for."""

    by: str
    nodes: Sequence[ClientNode]
    chosen: Sequence[ClientNode]
    groups: Sequence[ClientGroup]
    refused: Sequence[Refusal]
    rows: Sequence[SingleClient] = field(default_factory=list)

    @property
    def connections(self) -> int:
        return sum(node.reading.connections for node in self.chosen if node.reading)

    @property
    def own(self) -> int:
        return sum(node.reading.own for node in self.chosen if node.reading)

    @property
    def replication(self) -> int:
        return sum(node.reading.replication for node in self.chosen if node.reading)

    @property
    def is_read(self) -> bool:
        return any(node.is_read for node in self.chosen)

    @property
    def has_failed(self) -> bool:
        """Whether somebody tried in vain to read a list, or would."""
        return bool(self.refused) or any(node.failure for node in self.chosen)


def by_words(cache: Cache) -> Words:
    """Return by what the connections of a cache can be grouped; the first is the usual one."""
    return BY_WORDS if cache.abilities.client_names else BY_FEWER


def sort_words(cache: Cache) -> Words:
    return SORT_WORDS if cache.abilities.client_names else SORT_FEWER


def list_command(cache: Cache) -> str:
    """Return the command that tells who is connected."""
    return COMMANDS[0] if cache.abilities.client_names else COMMANDS[1]


def clients_of(cache: Cache, by: str, node_id: int = 0, sort: str = "memory") -> Clients:
    """Return what the last readings say; a `node_id` that is none of the cache's stands for all."""
    watched = nodes_of([cache.pk]).get(cache.pk, [])
    readings = newest_readings([node.node.pk for node in watched], by)
    nodes = [ClientNode(node, readings.get(node.node.pk), cache.poll_interval_seconds) for node in watched]
    chosen = [node for node in nodes if node.watched.node.pk == node_id] or nodes
    ids = [node.watched.node.pk for node in chosen]
    trends, refused = client_trends.read(ids, by, timezone.now()), refusals(ids, COMMANDS)
    parts = (getattr(node.reading, "chosen_groups", None) for node in chosen if node.is_read)
    return Clients(by, nodes, chosen, merged(filter(None, parts), trends), refused, rows_of(chosen, sort))


def newest_readings(node_ids: Sequence[int], by: str) -> dict[int, ClientReading]:
    """Return the last reading of each node, of its groups only those asked for."""
    found = ClientReading.objects.filter(node_id__in=node_ids).order_by("node_id", "-read_at").distinct("node_id")
    return {row.node_id: row for row in found.annotate(chosen_groups=KeyTransform(by, "groups")).defer("groups")}


def merged(parts: Iterable[Any], trends: Trends) -> list[ClientGroup]:
    groups: dict[str | None, Group] = {}
    for rows in parts:
        for label, connections, qbuf, omem, tot_mem, idle in rows:
            groups.setdefault(label, Group()).add(qbuf, omem, tot_mem, idle, connections)
    rows = top_rows(groups)
    total = sum(row[1] for row in rows) or 1
    return [
        ClientGroup(
            label or "",
            label is None,
            connections,
            qbuf,
            omem,
            tot_mem,
            idle,
            connections / total,
            trends.values.get(label, ()),
            trends.change(label),
        )
        for label, connections, qbuf, omem, tot_mem, idle in rows
    ]


def rows_of(nodes: Sequence[ClientNode], sort: str) -> list[SingleClient]:
    """Return single connections that are still kept, largest first."""
    watched = {node.watched.node.pk: node.watched for node in nodes}
    kept = ClientRows.objects.filter(node_id__in=watched, read_at__gt=timezone.now() - ROWS_KEPT)
    found = [SingleClient(watched[rows.node_id], Client(*row)) for rows in kept for row in rows.rows]
    key = {"memory": "tot_mem", "idle": "idle", "age": "age"}[sort]
    return sorted(found, key=lambda single: getattr(single.client, key) or 0, reverse=True)[:ROWS_SHOWN]


def read_now(by: User, cache: Cache, node_id: int = 0) -> str:
    """Read client lists on demand; return why that is not possible now, "" where they were read."""
    if cache.is_paused:
        return words(Reason.PAUSED_CACHE, {})
    if not client_lists.read(cache.pk, is_demanded=True, node_id=node_id):
        return _("The client lists were read just now, or are being read. Wait ten seconds.")
    AuditEntry.record(by, "clients.read", cache.name, **({"node": node_id} if node_id else {}))
    return ""


def label_words(group: ClientGroup, by: str) -> str:
    """Return what a page calls a group."""
    if group.is_rest:
        return _("other")
    if group.label:
        return group.label
    return _("no name") if by == "name" else _("not reported")
