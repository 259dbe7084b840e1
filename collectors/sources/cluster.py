"""The cluster's commands: CLUSTER INFO for numbers; SHARDS, or SLOTS with NODES, for the layout."""

from collections.abc import Sequence

from django.conf import settings

from collectors.cluster_replies import CLUSTER_NODES, CLUSTER_SHARDS, CLUSTER_SLOTS, from_nodes_or_slots, from_shards
from collectors.metrics.hot import HOT, HOT_INDEX
from collectors.source import Command, Readings, Reply, Source, Standing, empty_row
from collectors.sources.fields import Field, FieldReader, field_of, lines_of, words
from collectors.sources.info import numbers_by_name

CLUSTER_INFO: Command = ("CLUSTER", "INFO")
FIELDS = {
    metric.name.encode(): field_of(slot, metric)
    for slot, metric in enumerate(HOT)
    if metric.section == "cluster" and metric.name != "cluster_state_ok"
} | {b"cluster_state": Field(HOT_INDEX["cluster_state_ok"], 0, words(b"ok", b"fail"))}


class ClusterInfo(Source):
    """CLUSTER INFO: the cluster's health as this node sees it. Costs about 10 microseconds."""

    name = "cluster_info"

    def __init__(self) -> None:
        self._numbers = FieldReader(FIELDS)

    def wanted(self, standing: Standing) -> bool:
        return bool(standing.in_cluster)

    def commands(self) -> tuple[Command, ...]:
        return (CLUSTER_INFO,)

    def parse(self, replies: Sequence[Reply]) -> Readings:
        row = empty_row()
        if isinstance(replies[0], bytes):
            self._numbers.fill(lines_of(replies[0]), row)
        return Readings(row)


class ClusterDetail(Source):
    """All other numbers of CLUSTER INFO, from the reply that ClusterInfo asked for."""

    name = "cluster_detail"

    def every(self) -> int:
        return int(settings.DETAIL_INTERVAL_SECONDS)

    def wanted(self, standing: Standing) -> bool:
        return bool(standing.in_cluster)

    def commands(self) -> tuple[Command, ...]:
        return (CLUSTER_INFO,)

    def parse(self, replies: Sequence[Reply]) -> Readings:
        return Readings(detail=numbers_by_name(lines_of(replies[0])))


class ClusterShards(Source):
    """CLUSTER SHARDS: the layout, from one node of a cluster. Costs some microseconds for each node in it."""

    name = "cluster_shards"
    since = (7, 0)
    once_a_cache = True

    def __init__(self, host: str = "", tls: bool = False) -> None:
        self._host, self._tls = host, tls

    def every(self) -> int:
        return int(settings.TOPOLOGY_INTERVAL_SECONDS)

    def wanted(self, standing: Standing) -> bool:
        return bool(standing.in_cluster)

    def commands(self) -> tuple[Command, ...]:
        return (CLUSTER_SHARDS,)

    def parse(self, replies: Sequence[Reply]) -> Readings:
        return Readings(layout=from_shards(replies[0], self._host, self._tls))


class ClusterSlots(Source):
    """CLUSTER NODES, or CLUSTER SLOTS where that is refused: the layout from servers without SHARDS."""

    name = "cluster_slots"
    since = (3, 0)
    once_a_cache = True

    def __init__(self, host: str = "") -> None:
        self._host = host

    def every(self) -> int:
        return int(settings.TOPOLOGY_INTERVAL_SECONDS)

    def wanted(self, standing: Standing) -> bool:
        return bool(standing.in_cluster)

    def commands(self) -> tuple[Command, ...]:
        return (CLUSTER_SLOTS, CLUSTER_NODES)

    def parse(self, replies: Sequence[Reply]) -> Readings:
        slots, nodes = replies
        return Readings(layout=from_nodes_or_slots(slots, nodes, self._host))
