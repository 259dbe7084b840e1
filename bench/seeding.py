"""A fleet for pages to show: many caches with an hour of samples, and one with a day and 90 days of rollups."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from bench.month import DAY, HOUR, copy_rows, moment
from bench.workload import INTERVAL_SECONDS, SimulatedNode
from collectors import retention, samples, statuses
from collectors.partitions import ensure_partition
from collectors.samples import NodeReading
from fleet.models import Cache, Node, Shard

# Their figures stay fresh for four of these intervals.
SLOW_INTERVAL_SECONDS = 60
# Most caches are well; each twentieth has a shard without a replica, which is a finding.
SHARDS_OF_MANY, SHARDS_OF_FEW, FEW = (2, 3), (2, 2, 1), 20
SHARDS_OF_ONE = (2, 2, 2, 2, 2, 2)
DAYS = 90


@dataclass(slots=True)
class Seeded:
    """The fleet. `charted` is the cache with a day of samples."""

    nodes: list[Node]
    simulated: list[SimulatedNode]
    charted: Cache
    newest: int

    def poll(self, tick: int) -> None:
        """Write one more sample of every node, as a poll would."""
        pieces = [node.piece(tick, 1, tick - self.newest) for node in self.simulated]
        self.newest = tick
        now = moment(tick)
        readings = [
            NodeReading(node.pk, tick, [column[0] for column in columns])
            for node, columns in zip(self.nodes, pieces, strict=True)
        ]
        statuses.record([(node.pk, None) for node in self.nodes], now)
        samples.write(readings)

    def refresh(self) -> None:
        if (tick := int(time.time()) // INTERVAL_SECONDS * INTERVAL_SECONDS) > self.newest:
            self.poll(tick)


def seed(caches: int, minutes: int, hours: int) -> Seeded:
    """Fill the database with samples up to now, through the module that polls write with."""
    newest = int(time.time()) // SLOW_INTERVAL_SECONDS * SLOW_INTERVAL_SECONDS
    nodes = [node for number in range(caches) for node in _ordinary_cache(number)]
    charted = _cache("charted", SHARDS_OF_ONE, INTERVAL_SECONDS)
    simulated = [SimulatedNode(number, node.role == Node.Role.PRIMARY) for number, node in enumerate(nodes + charted)]
    retention.keep_partitions()
    first = newest - minutes * SLOW_INTERVAL_SECONDS
    _fill(charted, simulated[len(nodes) :], newest - hours * HOUR, first)
    fleet = Seeded(nodes + charted, simulated, charted[0].cache, first - SLOW_INTERVAL_SECONDS)
    for tick in range(first, newest + 1, SLOW_INTERVAL_SECONDS):
        fleet.poll(tick)
    retention.roll_up()
    _repeat([node.pk for node in charted], newest)
    return fleet


def _repeat(node_ids: Sequence[int], newest: int) -> None:
    """Give nodes the same day in hourly rollups for DAYS days before, and what those make together."""
    for day in range(1, DAYS + 1):
        ensure_partition("rollup_1h", moment(newest - day * DAY))
    columns = "mean, minimum, maximum, last, samples"
    with samples.raw_cursor() as cursor:
        cursor.execute(
            f"INSERT INTO rollup_1h (node_id, at, {columns})"
            f" SELECT node_id, at - day * interval '1 day', {columns} FROM rollup_1h, generate_series(1, %s) AS day"
            " WHERE node_id = ANY(%s)",
            [DAYS, list(node_ids)],
        )
        cursor.execute("DELETE FROM rollup_mark WHERE tier = %s", [retention.MERGED])
    while retention.roll_up():
        pass


def _ordinary_cache(number: int) -> list[Node]:
    shape = SHARDS_OF_MANY if number % FEW else SHARDS_OF_FEW
    return _cache(f"cache-{number:03}", shape, SLOW_INTERVAL_SECONDS)


def _cache(name: str, shards: Sequence[int], interval: int) -> list[Node]:
    """Register a cluster whose shards have so many nodes each, the first of them the primary."""
    labels = {"env": "live", "team": f"team-{sum(map(ord, name)) % 7}"}
    cache = Cache.objects.create(
        name=name,
        address=f"redis://{name}.example:6379",
        labels=labels,
        topology="cluster",
        engine="valkey",
        poll_interval_seconds=interval,
    )
    members = []
    for number, size in enumerate(shards, start=1):
        slots = [[16_384 * (number - 1) // len(shards), 16_384 * number // len(shards) - 1]]
        shard = Shard.objects.create(cache=cache, identity=str(number), number=number, slots=slots)
        for index in range(size):
            role = Node.Role.REPLICA if index else Node.Role.PRIMARY
            host = f"{name}-{number}-{index}.example"
            members.append(Node(cache=cache, shard=shard, identity=host, host=host, port=6379, role=role))
    return Node.objects.bulk_create(members)


def _fill(nodes: Sequence[Node], simulated: Sequence[SimulatedNode], start: int, end: int) -> None:
    for begin in range(start, end, HOUR):
        stamps = range(begin, min(begin + HOUR, end), INTERVAL_SECONDS)
        for at in (stamps[0], stamps[-1]):
            ensure_partition("sample", moment(at))
        copy_rows([node.pk for node in nodes], [node.piece(begin, len(stamps)) for node in simulated], stamps)
