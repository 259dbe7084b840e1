"""A cache's shards and nodes as servers tell them. Free of tables: key scans from the command line know none."""

from dataclasses import dataclass

# As fleet's models store them.
PRIMARY, REPLICA, UNKNOWN = "primary", "replica", ""
CLUSTER = "cluster"
Slots = tuple[tuple[int, int], ...]
SLOT_COUNT = 16384


@dataclass(frozen=True, slots=True)
class SeenNode:
    """A node in a layout. In a cluster `identity` is the node id, elsewhere host:port."""

    identity: str
    host: str
    port: int
    role: str
    # The other nodes have given it up.
    is_failed: bool = False


@dataclass(frozen=True, slots=True)
class SeenShard:
    identity: str
    nodes: tuple[SeenNode, ...]
    slots: Slots = ()

    def is_former(self, node: SeenNode) -> bool:
        """Return whether a node was a primary until it failed and another one took over its slots."""
        if node.role != PRIMARY or not node.is_failed:
            return False
        return not self.slots or any(other.role == PRIMARY and not other.is_failed for other in self.nodes)


@dataclass(frozen=True, slots=True)
class Layout:
    """A cache's shards and nodes at one moment. Where it is not `complete`, what is missing has not left."""

    kind: str
    shards: tuple[SeenShard, ...]
    complete: bool = True

    def nodes(self) -> list[SeenNode]:
        return [node for shard in self.shards for node in shard.nodes]

    @property
    def is_forming(self) -> bool:
        """Return whether a shard holds no slots: it is on its way in or out, or its nodes are taken for another."""
        alive = (shard for shard in self.shards if not all(node.is_failed for node in shard.nodes))
        return self.kind == CLUSTER and not all(shard.slots for shard in alive)


def address_text(host: str, port: int) -> str:
    """Return host:port, the identity of a server that has no node id."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
