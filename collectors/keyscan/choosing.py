"""Which nodes a scan goes to: one of each shard, a replica in good order first, the primary only when allowed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from collectors import latest
from collectors.keyscan.models import ScanShard
from collectors.keyscan.options import ScanOptions
from collectors.keyscan.reasons import Reason, ScanRefusedError
from collectors.latest import NodeLatest
from collectors.models import NodeStatus
from fleet.models import Cache, Node

# A replica further behind than this has other keys than its primary.
LAG_BYTES, LAG_SECONDS = 32_000_000, 10


@dataclass(frozen=True, slots=True)
class Choice:
    """The node that a shard is read from. `keys` is how many it last reported."""

    number: int
    node: Node
    is_replica: bool
    keys: int | None = None
    # How far a replica was behind at its last poll.
    lag_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """A node with what is known of it now."""

    node: Node
    newest: NodeLatest | None
    is_silent: bool

    @property
    def is_replica(self) -> bool:
        return self.node.role == Node.Role.REPLICA

    @property
    def keeps_up(self) -> bool:
        """Return whether a replica has lost neither its primary nor much of what was written."""
        if self.newest is None:
            return False
        is_near = (self.newest.replication_lag_bytes or 0) <= LAG_BYTES
        return self.newest.master_link_up is not False and is_near and self.lag_seconds <= LAG_SECONDS

    @property
    def lag_seconds(self) -> float:
        return (self.newest and self.newest.replication_lag_seconds) or 0.0

    @property
    def lag(self) -> tuple[float, int]:
        return (self.newest.replication_lag_bytes or 0 if self.newest else 0), self.node.pk

    def choice(self) -> Choice:
        number = self.node.shard.number if self.node.shard else 0
        if self.newest is None:
            return Choice(number, self.node, self.is_replica)
        lag = self.newest.replication_lag_bytes if self.is_replica else None
        return Choice(number, self.node, self.is_replica, self.newest.keys, lag)


def choose(cache: Cache, asked: ScanOptions) -> list[Choice]:
    """Return a node for every shard asked for. Raise ScanRefusedError where one has none, or is being scanned."""
    if not cache.abilities.key_scans:
        raise ScanRefusedError(Reason.NO_KEY_WALK)
    groups = shards_of(cache)
    if not groups:
        raise ScanRefusedError(Reason.NO_NODES)
    for number in asked.shards:
        if number not in groups:
            raise ScanRefusedError(Reason.NO_SUCH_SHARD, shard=number)
    chosen = [choose_one(number, groups[number], asked.may_use_primary) for number in asked.shards or sorted(groups)]
    refuse_scanned(choice.node for choice in chosen)
    return chosen


def shards_of(cache: Cache) -> dict[int, list[Known]]:
    """Return the present nodes of a cache by the number of their shard."""
    nodes = list(cache.nodes.present().select_related("shard"))
    ids = [node.pk for node in nodes]
    newest = latest.nodes([cache.pk])
    silent = set(NodeStatus.objects.filter(pk__in=ids, failing_since__isnull=False).values_list("pk", flat=True))
    groups: dict[int, list[Known]] = defaultdict(list)
    for node in nodes:
        if node.shard is None and len(nodes) > 1 and any(other.shard_id for other in nodes):
            # It has joined and serves no shard yet.
            continue
        known = Known(node, newest.get(node.pk), node.pk in silent)
        groups[node.shard.number if node.shard else 1].append(known)
    return {number: members for number, members in groups.items() if not is_empty(members)}


def is_empty(members: Collection[Known]) -> bool:
    """Return whether these are nodes of a cluster's shard that holds no slots."""
    shard = next(iter(members)).node.shard
    in_cluster = shard is not None and shard.cache.topology == "cluster"
    return in_cluster and shard is not None and not shard.slots


def choose_one(number: int, members: Iterable[Known], may_use_primary: bool) -> Choice:
    answering = [known for known in members if not known.is_silent]
    replicas = [known for known in answering if known.is_replica]
    primaries = [known for known in answering if not known.is_replica]
    good = sorted((known for known in replicas if known.keeps_up), key=lambda known: known.lag)
    if good:
        return good[0].choice()
    if primaries and may_use_primary:
        return primaries[0].choice()
    if not answering:
        raise ScanRefusedError(Reason.NODES_SILENT, shard=number)
    raise ScanRefusedError(Reason.REPLICA_LAGS if replicas else Reason.NO_REPLICA, shard=number)


def refuse_scanned(nodes: Iterable[Node]) -> None:
    """Raise ScanRefusedError where one of these nodes is being scanned."""
    busy = ScanShard.objects.filter(is_active=True, node__in=list(nodes)).order_by("pk").first()
    if busy:
        raise ScanRefusedError(Reason.NODE_SCANNED, address=busy.address, scan=busy.scan_id)
