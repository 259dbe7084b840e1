"""`config get cluster`: which nodes a managed Memcached has, as its discovery endpoint tells it."""

from collections.abc import Sequence

from collectors.failures import printable
from collectors.layout import PRIMARY, Layout, SeenNode, SeenShard, address_text
from collectors.source import Command, Readings, Reply, Source
from fleet.engines import Engine
from fleet.models import Topology
from fleet.registration import is_host

CONFIG_CLUSTER: Command = ("config", "get", "cluster")
# Far more than the services offer: of a longer list the first are watched, by their names.
NODES_LIMIT = 500
VERSION_DIGITS = 15

Place = tuple[str, int]


class ConfigCluster(Source):
    """The layout of one cache, asked of its discovery endpoint. Costs the endpoint next to nothing.

    Each change of the nodes raises the version. A lower one comes from a replica of the endpoint that lags, or from
    a cache that was made anew: it is believed at the second time.
    """

    name = "config_cluster"
    engines = (Engine.MEMCACHED,)
    once_a_cache = True

    def __init__(self) -> None:
        self._version = -1
        self._doubted = -1
        self._layout: Layout | None = None

    def commands(self) -> tuple[Command, ...]:
        return (CONFIG_CLUSTER,)

    def parse(self, replies: Sequence[Reply]) -> Readings:
        found = read_config(replies[0])
        if found is None:
            return Readings()
        version, places = found
        if version < self._version and version != self._doubted:
            self._doubted = version
        else:
            self._version, self._doubted, self._layout = version, -1, layout_of(places)
        return Readings(layout=self._layout)


def read_config(reply: Reply) -> tuple[int, list[Place]] | None:
    """Return the version and the nodes: a line with a number, then one of `host|ip|port` entries.

    None for anything else, also where a single entry is none: half a list must not send the other half away. Of more
    than NODES_LIMIT the same ones are taken in whatever order they come.
    """
    lines = reply.split(b"\n") if isinstance(reply, bytes) else []
    version = lines[0].strip() if lines else b""
    entries = lines[1].split() if len(lines) > 1 else []
    if not version.isdigit() or len(version) > VERSION_DIGITS or not entries:
        return None
    places = [place for entry in entries if (place := read_entry(entry))]
    if len(places) < len(entries):
        return None
    found = list(dict.fromkeys(places))
    return int(version), found if len(found) <= NODES_LIMIT else sorted(found)[:NODES_LIMIT]


def read_entry(entry: bytes) -> Place | None:
    """Return host and port of `host|ip|port`; the address alone where there is no host."""
    parts = entry.split(b"|")
    if len(parts) != 3 or not parts[2].isdigit() or len(parts[2]) > 5 or not 0 < int(parts[2]) < 65_536:
        return None
    host = next((name for part in parts[:2] if (name := printable(part, 254)) and is_host(name)), "")
    return (host, int(parts[2])) if host else None


def layout_of(places: Sequence[Place]) -> Layout:
    """Return the layout: every node holds keys of its own."""
    nodes = [SeenNode(address_text(*place), *place, PRIMARY) for place in places]
    kind = Topology.SHARDED if len(nodes) > 1 else Topology.STANDALONE
    return Layout(kind, tuple(SeenShard(node.identity, (node,)) for node in nodes))
