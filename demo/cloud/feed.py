"""The demo fleet's numbers as points of Cloud Monitoring."""

import math
import statistics
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from collectors.cloud.metric_types import metric_types, resource_labels
from collectors.cloud.products import Product
from demo.cloud import measures
from demo.cloud.measures import Labels, Measure
from demo.cloud.reading import Reading
from demo.cloud.store import Point, Points

PREFIXES = {
    Product.REDIS: "redis.googleapis.com",
    Product.REDIS_CLUSTER: "redis.googleapis.com/cluster",
    Product.VALKEY: "memorystore.googleapis.com/instance",
    Product.MEMCACHED: "memcache.googleapis.com",
}
TABLES: Mapping[Product, Mapping[str, Measure]] = {
    Product.REDIS: measures.REDIS,
    Product.REDIS_CLUSTER: measures.NODE,
    Product.VALKEY: measures.NODE,
    Product.MEMCACHED: measures.MEMCACHED,
}
HEALTHY = "node/server/healthy"


class Server(Protocol):
    """Something that can be read; None where it does not answer."""

    def read(self, now: float) -> Reading | None: ...


class Number(NamedTuple):
    """A value of a node, or of the whole instance where `node_id` is ""."""

    path: str
    labels: Labels
    value: float
    start: float
    role: str
    node_id: str = ""
    shard_id: str = ""
    zone: str = ""


@dataclass(frozen=True)
class Whole:
    """A metric of the whole instance: its nodes' numbers, folded. Replicas hold what primaries hold."""

    path: str
    of: str
    fold: Callable[[Sequence[float]], float]
    primaries_only: bool = False


COUNTED = (
    "connections_received",
    "evicted_keys",
    "expired_keys",
    "keyspace_hits",
    "keyspace_misses",
    "net_input_bytes",
    "net_output_bytes",
    "rejected_connections",
)
WHOLES = (
    Whole("clients/average_connected_clients", "node/clients/connected_clients", statistics.fmean),
    Whole("clients/maximum_connected_clients", "node/clients/connected_clients", max),
    Whole("clients/total_connected_clients", "node/clients/connected_clients", sum),
    Whole("commandstats/total_calls_count", "node/commandstats/calls_count", sum),
    Whole("commandstats/total_usec_count", "node/commandstats/usec_count", sum),
    Whole("cpu/average_utilization", "#cpu", statistics.fmean),
    Whole("cpu/maximum_utilization", "#cpu", max),
    Whole("keyspace/total_keys", "node/keyspace/total_keys", sum, primaries_only=True),
    Whole("memory/average_utilization", "node/memory/utilization", statistics.fmean),
    Whole("memory/maximum_utilization", "node/memory/utilization", max),
    Whole("memory/size", "#maxmemory", sum, primaries_only=True),
    Whole("memory/total_used_memory", "node/memory/usage", sum, primaries_only=True),
    Whole("replication/average_ack_lag", "#ack_lag", statistics.fmean),
    Whole("replication/maximum_ack_lag", "#ack_lag", max),
    Whole("replication/average_offset_diff", "#offset_diff", statistics.fmean),
    Whole("replication/maximum_offset_diff", "#offset_diff", max),
    *(Whole(f"stats/total_{name}_count", f"node/stats/{name}_count", sum) for name in COUNTED),
)


@dataclass
class Fed:
    """One instance and the servers that are its nodes, each in a zone of its own."""

    product: Product
    name: str
    uid: str
    servers: Sequence[Server]
    zones: Sequence[str]
    before: dict[int, Reading] = field(default_factory=dict)

    def read(self, points: Points, now: float) -> None:
        """Add what all servers say now."""
        found = [number for place in range(len(self.servers)) for number in self.look(place, now)]
        for number in [*found, *self.wholes(found)]:
            if not number.path.startswith("#"):
                self.add(points, number, now)

    def look(self, place: int, now: float) -> list[Number]:
        """Read one server; one that was there before and is silent now is not healthy."""
        reading, before = self.servers[place].read(now), self.before.get(place)
        of = reading or before
        if of is None:
            return []
        node = (of.node_id or f"node-{place}", of.shard_id, self.zones[place])
        if reading is None:
            return [Number(HEALTHY, {}, 0, now, of.role, *node)] if HEALTHY in TABLES[self.product] else []
        self.before[place] = reading
        start = before.at if before else now
        return [
            Number(path, labels, value, start, reading.role, *node)
            for path, measure in TABLES[self.product].items()
            for labels, value in measure(reading, before)
        ]

    def wholes(self, found: Sequence[Number]) -> Iterable[Number]:
        if HEALTHY not in TABLES[self.product]:
            return
        by_path: dict[str, list[Number]] = defaultdict(list)
        for number in found:
            by_path[number.path].append(number)
        for whole in WHOLES:
            yield from self.folded(whole, by_path[whole.of])

    def folded(self, whole: Whole, numbers: Sequence[Number]) -> Iterable[Number]:
        """Return one number for each role that the metric tells apart, and each of its other labels."""
        has_role = "role" in metric_types()[self.type_of(whole.path)].labels
        groups: dict[tuple[object, ...], list[Number]] = defaultdict(list)
        for number in numbers:
            if number.role == "primary" or not whole.primaries_only:
                groups[number.role if has_role else "", *sorted(number.labels.items())].append(number)
        for members in groups.values():
            first = members[0]
            value = whole.fold([number.value for number in members])
            yield Number(whole.path, first.labels, value, min(number.start for number in members), first.role)

    def type_of(self, path: str) -> str:
        return f"{PREFIXES[self.product]}/{path}"

    def add(self, points: Points, number: Number, now: float) -> None:
        of = metric_types()[self.type_of(number.path)]
        labels = {**number.labels, "role": number.role} if "role" in of.labels else dict(number.labels)
        start = number.start if of.kind == "DELTA" else now
        if of.kind == "DELTA" and start == now:
            # Nothing was counted yet between two looks.
            return
        value = round(number.value) if of.value_type == "INT64" else number.value
        points.add(of.type, of.resource, self.resource(of.resource, number), labels, Point(start, now, value))

    def resource(self, resource: str, number: Number) -> dict[str, str]:
        _, project, _, region, _, short_id = self.name.split("/")
        values = {
            "project_id": project,
            "resource_container": project,
            "region": region,
            "location": number.zone or region,
            # Redis alone gives the whole path.
            "instance_id": self.name if self.product == Product.REDIS else short_id,
            "cluster_id": short_id,
            "instance_uid": self.uid,
            "cluster_uid": self.uid,
            "node_id": number.node_id,
            "shard_id": number.shard_id,
        }
        return {label: values[label] for label in resource_labels()[resource]}


def feed(points: Points, instances: Sequence[Fed], seconds: float, ending: threading.Event) -> None:
    """Read all instances now and at each multiple of so many seconds, until told to end."""
    while not ending.is_set():
        now = float(math.floor(time.time()))
        for one in instances:
            one.read(points, now)
        ending.wait(seconds - time.time() % seconds)
