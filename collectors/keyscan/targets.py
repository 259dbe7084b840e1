"""Which nodes a scan goes to: one of each shard, found through any server of the cache."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from collectors.cluster_replies import CLUSTER_NODES, CLUSTER_SHARDS, CLUSTER_SLOTS, from_nodes_or_slots, from_shards
from collectors.connections import Access, Link, ask, log_in, open_link, tls_context
from collectors.failures import ReadError
from collectors.keyscan.guards import number, read_info, replicas_in
from collectors.layout import PRIMARY, REPLICA, Layout, SeenNode, SeenShard, Slots, address_text
from collectors.protocol import INFO
from fleet.addresses import Address


@dataclass(frozen=True, slots=True)
class Target:
    """A node to scan. `shard` is what its shard is called by; `slots` are its share of a cluster."""

    host: str
    port: int
    shard: str = ""
    is_replica: bool = False
    node_id: int | None = None
    slots: Slots = ()

    @property
    def label(self) -> str:
        return address_text(self.host, self.port)


async def find(seeds: Sequence[Address], access: Access, use_replicas: bool) -> list[Target]:
    """Return a node of each shard of a cluster, or the servers named. Raise ReadError where none answers.

    With `use_replicas` a healthy replica is taken where the shard, or the server named, has one.
    """
    layout = await layout_of(seeds, access)
    if layout:
        return of_layout(layout, use_replicas)
    return [await _replica_of(seed, access) if use_replicas else _server(seed) for seed in seeds]


async def layout_of(seeds: Sequence[Address], access: Access) -> Layout | None:
    """Return a cluster's layout as the first server that answers tells it; None outside of clusters.

    Raise ReadError where none answers.
    """
    context = tls_context(access) if access.tls else None
    failure: ReadError | None = None
    for seed in seeds:
        try:
            link = await open_link(seed.host, seed.port, context)
            try:
                await log_in(link, access)
                return await _layout(link, seed)
            finally:
                link.close()
        except ReadError as error:
            failure = error
    assert failure is not None
    raise failure


async def _layout(link: Link, seed: Address) -> Layout | None:
    """Return a cluster's layout; None of a server that is in none, or that tells nothing."""
    (reply,) = await ask(link, [INFO])
    if isinstance(reply, bytes) and read_info(reply).get("cluster_enabled", "0") != "1":
        return None
    (shards,) = await ask(link, [CLUSTER_SHARDS])
    if layout := from_shards(shards, seed.host, seed.tls):
        return layout
    slots, nodes = await ask(link, [CLUSTER_SLOTS, CLUSTER_NODES])
    return from_nodes_or_slots(slots, nodes, seed.host)


def serving(target: Target, found: Iterable[Target]) -> Target | None:
    """Return who has the slots of a target now; outside of clusters that is the target itself."""
    if not target.slots:
        return target
    first = target.slots[0][0]
    return next((other for other in found if any(low <= first <= high for low, high in other.slots)), None)


def of_layout(layout: Layout, use_replicas: bool) -> list[Target]:
    """Return a target for each shard that holds slots; its label is that of the shard's primary."""
    shards = (shard for shard in layout.shards if shard.slots)
    return [target for shard in shards if (target := _of_shard(shard, use_replicas))]


def _of_shard(shard: SeenShard, use_replicas: bool) -> Target | None:
    healthy = [node for node in shard.nodes if not node.is_failed]
    primary = _first(healthy, PRIMARY)
    replica = _first(healthy, REPLICA) if use_replicas else None
    chosen = replica or primary
    if chosen is None:
        return None
    name = address_text(primary.host, primary.port) if primary else shard.identity
    return Target(chosen.host, chosen.port, name, chosen is replica, slots=shard.slots)


def _first(nodes: Iterable[SeenNode], role: str) -> SeenNode | None:
    return next((node for node in nodes if node.role == role), None)


def _server(seed: Address, is_replica: bool = False) -> Target:
    return Target(seed.host, seed.port, address_text(seed.host, seed.port), is_replica)


async def _replica_of(seed: Address, access: Access) -> Target:
    """Return the replica of a server that has copied most, the server itself where it has none or does not tell."""
    try:
        info = await _info_of(seed, access)
    except ReadError:
        return _server(seed)
    replicas = [replica for replica in replicas_in(info) if replica.get("state") == "online"]
    if info.get("role") != "master" or not replicas:
        return _server(seed, is_replica=info.get("role") == "slave")
    best = max(replicas, key=lambda replica: number(replica, "offset") or 0.0)
    return Target(best["ip"], int(best["port"]), address_text(seed.host, seed.port), is_replica=True)


async def _info_of(seed: Address, access: Access) -> dict[str, str]:
    link = await open_link(seed.host, seed.port, tls_context(access) if access.tls else None)
    try:
        await log_in(link, access)
        (reply,) = await ask(link, [INFO])
        return read_info(reply) if isinstance(reply, bytes) else {}
    finally:
        link.close()
