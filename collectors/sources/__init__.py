"""The sources, in the order in which their commands are sent."""

from collectors.source import Source
from collectors.sources.cluster import ClusterDetail, ClusterInfo, ClusterShards, ClusterSlots
from collectors.sources.commandstats import Commandstats
from collectors.sources.config import ConfigLimits
from collectors.sources.errorstats import Errorstats
from collectors.sources.info import Info, InfoDetail
from collectors.sources.latency import LatencyHistogram
from collectors.sources.latency_events import LatencyEvents, LatencyThreshold
from collectors.sources.rights import DefaultUser
from collectors.sources.slots import SlotStats
from collectors.sources.slowlog import CommandLog, CommandLogSlow, SlowLog


def make_sources(host: str, tls: bool) -> tuple[Source, ...]:
    """Return the sources of one node, which is reached at `host`."""
    return (
        Info(),
        InfoDetail(),
        Commandstats(),
        Errorstats(),
        LatencyHistogram(),
        LatencyEvents(),
        LatencyThreshold(),
        SlowLog(),
        CommandLog(),
        CommandLogSlow(),
        ClusterInfo(),
        ClusterDetail(),
        SlotStats(),
        ConfigLimits(),
        DefaultUser(),
        ClusterShards(host, tls),
        ClusterSlots(host),
    )
