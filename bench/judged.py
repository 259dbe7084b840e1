"""A fleet for rules to be judged on: nodes with samples of the last minutes, and thresholds that nothing crosses."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import psutil
from django.db import connection

from alerts import evaluate
from alerts.rule import Rule
from alerts.spec import Spec
from alerts.spec_form import read_spec
from bench.month import HOUR, copy_rows, moment
from bench.processes import cpu_seconds
from bench.targets import NODES_A_CACHE
from bench.workload import INTERVAL_SECONDS, SimulatedNode, Value
from collectors import retention, samples, statuses
from collectors.metrics.hot import HOT_NAMES
from collectors.partitions import ensure_partition
from collectors.samples import NodeReading
from fleet.models import Cache, Node, Shard

HISTORY_SECONDS, OLD_INTERVAL_SECONDS = 300, 60
# Metric, how it is read over five minutes, and a bound that the workload never reaches.
THRESHOLDS: tuple[tuple[str, str, float], ...] = (
    ("used_memory", "last", 1e12),
    ("used_memory_rss", "last", 1e12),
    ("connected_clients", "last", 1e6),
    ("blocked_clients", "last", 1e6),
    ("rdb_changes_since_last_save", "last", 1e12),
    ("keys", "last", 1e12),
    ("mem_fragmentation_ratio", "avg", 50),
    ("mem_clients_normal", "avg", 1e12),
    ("total_commands_processed", "rate", 1e9),
    ("evicted_keys", "rate", 1e6),
)


def specs() -> list[Spec]:
    return [spec(*threshold) for threshold in THRESHOLDS]


def spec(metric: str, read: str, bound: float, **more: object) -> Spec:
    over = {} if read == "last" else {"over": "5m"}
    when = {"metric": metric, "read": read, **over, "warning": bound}
    return read_spec({"rule": metric.replace("_", "-"), "when": when, "for": "1m", **more})


@dataclass(slots=True)
class Judged:
    """The fleet; `first` and `newest` are the ticks of its oldest and last samples."""

    nodes: list[Node]
    caches: list[int]
    simulated: list[SimulatedNode]
    first: int
    newest: int
    rows: dict[int, Sequence[Value]] = field(default_factory=dict)

    def poll(self, tick: int) -> None:
        """Write one more sample of every node, as a poll would."""
        pieces = [one.piece(tick, 1, INTERVAL_SECONDS) for one in self.simulated]
        self.rows = {node.pk: [column[0] for column in piece] for node, piece in zip(self.nodes, pieces, strict=True)}
        samples.write([NodeReading(pk, tick, list(row)) for pk, row in self.rows.items()])
        statuses.record([(node.pk, None) for node in self.nodes], moment(tick))
        self.newest = tick

    def remember(self, hours: int) -> None:
        """Add samples from before, as they lie there when polls have run for hours."""
        end = self.first
        for begin in range(end - hours * HOUR, end, HOUR):
            stamps = range(begin, begin + HOUR, OLD_INTERVAL_SECONDS)
            for at in (stamps[0], stamps[-1]):
                ensure_partition("sample", moment(at))
            pieces = [
                SimulatedNode(one.number).piece(begin, len(stamps), OLD_INTERVAL_SECONDS) for one in self.simulated
            ]
            copy_rows([node.pk for node in self.nodes], pieces, stamps)
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE sample")

    def batches(self, nodes: int) -> list[list[int]]:
        """Return the caches in batches of about so many nodes."""
        size = max(1, nodes // NODES_A_CACHE)
        return [self.caches[start : start + size] for start in range(0, len(self.caches), size)]

    def value(self, node: Node, metric: str) -> Value:
        return self.rows[node.pk][HOT_NAMES.index(metric)]


def seed(nodes: int) -> Judged:
    """Register caches of six nodes with the last minutes of samples, and the rules."""
    made = [_cache(number) for number in range(-(-nodes // NODES_A_CACHE))]
    members = [node for group in made for node in group]
    newest = int(time.time()) // INTERVAL_SECONDS * INTERVAL_SECONDS
    retention.keep_partitions()
    simulated = [SimulatedNode(number, node.role == Node.Role.PRIMARY) for number, node in enumerate(members)]
    first = newest - HISTORY_SECONDS
    fleet = Judged(members, [group[0].cache_id for group in made], simulated, first, newest)
    for tick in range(first, newest + 1, INTERVAL_SECONDS):
        fleet.poll(tick)
    for one in specs():
        Rule.of(one).save()
    return fleet


def _cache(number: int) -> list[Node]:
    cache = Cache.objects.create(
        name=f"judged-{number:03}", address="redis://10.0.0.1:6379", topology="cluster", engine="valkey"
    )
    members = []
    for shard in range(1, NODES_A_CACHE // 2 + 1):
        made = Shard.objects.create(cache=cache, identity=str(shard), number=shard)
        for index, role in enumerate((Node.Role.PRIMARY, Node.Role.REPLICA)):
            host = f"10.{number // 250}.{number % 250}.{shard * 2 + index}"
            members.append(Node(cache=cache, shard=made, identity=host, host=host, port=6379, role=role))
    return Node.objects.bulk_create(members)


@dataclass(frozen=True, slots=True)
class Go:
    """What one judging of the whole fleet took: CPU of ours and of Postgres, and time."""

    instances: int
    own_seconds: float
    postgres_seconds: float
    wall_seconds: float

    @property
    def usec_an_instance(self) -> float:
        return (self.own_seconds + self.postgres_seconds) * 1e6 / self.instances


def judge(batches: Sequence[Sequence[int]], tick: int, postgres: psutil.Process) -> Go:
    """Judge all caches at a tick, batch by batch. Raise RuntimeError where nothing was judged."""
    instances, before, own, began = 0, cpu_seconds(postgres), time.thread_time(), time.monotonic()
    for batch in batches:
        instances += evaluate.evaluate(batch, tick).instances
    wall, own = time.monotonic() - began, time.thread_time() - own
    if not instances:
        raise RuntimeError("No rule was judged.")
    return Go(instances, own, cpu_seconds(postgres) - before, wall)
