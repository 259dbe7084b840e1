"""The layout of a cluster in the replies to CLUSTER SHARDS, NODES and SLOTS. What cannot be read is left out."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from collectors.failures import printable
from collectors.layout import CLUSTER, PRIMARY, REPLICA, SLOT_COUNT, Layout, SeenNode, SeenShard, Slots
from collectors.protocol import Command, Reply, lines_of

CLUSTER_SHARDS: Command = ("CLUSTER", "SHARDS")
CLUSTER_SLOTS: Command = ("CLUSTER", "SLOTS")
CLUSTER_NODES: Command = ("CLUSTER", "NODES")
# Said by a server that does not know its own address or may not tell it.
NO_HOST = {"", "?", ":0"}


def from_shards(reply: Reply, seed: str, tls: bool) -> Layout | None:
    """Return the layout in CLUSTER SHARDS; a node that tells no host is reached at that of the seed."""
    shards = (pairs_of(shard) for shard in listed(reply))
    return cluster_layout(found for shard in shards if (found := _shard(shard, seed, tls)))


def _shard(shard: dict[str, Any], seed: str, tls: bool) -> SeenShard | None:
    nodes = [node for entry in listed(shard.get("nodes")) if (node := _node(pairs_of(entry), seed, tls))]
    numbers = [number for number in listed(shard.get("slots")) if isinstance(number, int)]
    slots = slots_of(zip(numbers[::2], numbers[1::2], strict=False))
    return shard_of(nodes, slots, printable(shard.get("id", b"")))


def _node(node: dict[str, Any], seed: str, tls: bool) -> SeenNode | None:
    """Return a node by the address that clients should use."""
    ports = [node.get("tls-port"), node.get("port")] if tls else [node.get("port"), node.get("tls-port")]
    hosts = [printable(node.get(name) or b"") for name in ("endpoint", "ip")]
    host = next((host for host in hosts if host not in NO_HOST), seed)
    role = PRIMARY if node.get("role") == b"master" else REPLICA
    is_failed = printable(node.get("health") or b"").startswith("fail")
    return seen_node(node.get("id"), host, next((port for port in ports if port), None), role, is_failed)


def from_nodes_or_slots(slots: Reply, nodes: Reply, seed: str) -> Layout | None:
    """Return the layout in CLUSTER NODES, or in CLUSTER SLOTS where that is refused."""
    return cluster_layout(_from_nodes(nodes, seed) if isinstance(nodes, bytes) else _from_slots(listed(slots), seed))


def _from_nodes(text: bytes, seed: str) -> Iterator[SeenShard]:
    """CLUSTER NODES: id address flags primary ping pong epoch link slots…"""
    members: dict[str, list[SeenNode]] = {}
    slots: dict[str, Slots] = {}
    for line in printable_lines(text):
        words = line.split()
        if len(words) < 8 or {"noaddr", "handshake"} & set(words[2].split(",")):
            continue
        identity, primary = words[0], words[3]
        flags = words[2].split(",")
        role = PRIMARY if "master" in flags else REPLICA
        address = words[1].partition("@")[0]
        host, _, port = address.rpartition(":")
        place = host.strip("[]") or seed, number_in(port)
        if node := seen_node(identity, *place, role, "fail" in flags):
            home = identity if role == PRIMARY or primary == "-" else primary
            members.setdefault(home, []).append(node)
            slots[home] = slots.get(home, ()) + slots_of(_ranges(words[8:]))
    for home, nodes in members.items():
        if shard := shard_of(nodes, slots[home], home):
            yield shard


def _from_slots(entries: Sequence[Any], seed: str) -> Iterator[SeenShard]:
    """CLUSTER SLOTS: first, last, primary, replica… with address, port and id of each."""
    members: dict[str, list[SeenNode]] = {}
    slots: dict[str, Slots] = {}
    for entry in entries:
        if not isinstance(entry, list) or len(entry) < 3:
            continue
        nodes = [node for place, n in enumerate(entry[2:]) if (node := _listed_node(listed(n), place, seed))]
        if nodes:
            home = nodes[0].identity
            members[home] = nodes
            slots[home] = slots.get(home, ()) + slots_of([(entry[0], entry[1])])
    for home, nodes in members.items():
        if shard := shard_of(nodes, slots[home], home):
            yield shard


def _listed_node(node: Sequence[Any], place: int, seed: str) -> SeenNode | None:
    if len(node) < 3:
        return None
    host = printable(node[0] or b"")
    return seen_node(node[2], seed if host in NO_HOST else host, node[1], REPLICA if place else PRIMARY)


def cluster_layout(shards: Iterable[SeenShard]) -> Layout | None:
    """Return shards in the order of their first slots, None where there are none."""
    ordered = tuple(sorted(shards, key=lambda shard: (shard.slots or ((SLOT_COUNT, SLOT_COUNT),), shard.identity)))
    return Layout(CLUSTER, ordered) if ordered else None


def shard_of(nodes: Sequence[SeenNode], slots: Slots, identity: str) -> SeenShard | None:
    """Return a shard named by its id where the server has one, else by its primary's node id."""
    if not nodes:
        return None
    primary = next((node for node in nodes if node.role == PRIMARY), nodes[0])
    return SeenShard(identity or primary.identity, tuple(nodes), tuple(sorted(slots)))


def seen_node(identity: Any, host: str, port: Any, role: str, is_failed: bool = False) -> SeenNode | None:
    """Return a node, None where its id, host or port is of no use."""
    name = printable(identity or b"")
    if not name or host in NO_HOST or len(host) > 255 or not isinstance(port, int) or not 0 < port < 65536:
        return None
    return SeenNode(name, host, port, role, is_failed)


def slots_of(pairs: Iterable[tuple[Any, Any]]) -> Slots:
    """Return the pairs of first and last slot that can be true."""
    return tuple(
        (first, last)
        for first, last in pairs
        if isinstance(first, int) and isinstance(last, int) and 0 <= first <= last < SLOT_COUNT
    )


def _ranges(texts: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Read 5 and 0-5; [5->-id], a slot on the move, still belongs to its node and is listed there too."""
    for text in texts:
        first, _, last = text.partition("-")
        slots = number_in(first), number_in(last or first)
        if slots[0] is not None and slots[1] is not None:
            yield slots[0], slots[1]


def number_in(text: str) -> int | None:
    """Return a port or slot, None for what is none: more digits, or other digits than 0 to 9."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 5 else None


def pairs_of(flat: Any) -> dict[str, Any]:
    """Return the names and values of a flat list as a dictionary."""
    items = listed(flat)
    return {printable(name): value for name, value in zip(items[::2], items[1::2], strict=False)}


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def printable_lines(text: bytes) -> list[str]:
    return [printable(line, 100_000) for line in lines_of(text)]
