"""The sources, in the order in which their commands are sent."""

from collectors.source import Source
from collectors.sources.cluster import ClusterDetail, ClusterInfo, ClusterShards, ClusterSlots
from collectors.sources.config import ConfigLimits
from collectors.sources.info import Info, InfoDetail


def make_sources(host: str, tls: bool) -> tuple[Source, ...]:
    """Return the sources of one node, which is reached at `host`."""
    return (
        Info(),
        InfoDetail(),
        ClusterInfo(),
        ClusterDetail(),
        ConfigLimits(),
        ClusterShards(host, tls),
        ClusterSlots(host),
    )
