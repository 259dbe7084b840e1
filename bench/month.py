"""The same samples of a cluster of six nodes in our tables and in Prometheus' blocks."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from django.db import connection

from bench.peers import BLOCK_SECONDS, Backfill
from bench.workload import INTERVAL_SECONDS, SimulatedNode, Value, open_metrics, samples_in
from collectors import retention, samples
from collectors.partitions import ensure_partition, existing
from fleet.models import Cache, Node, Shard

HOUR, DAY = 3600, 86_400
SHARDS = 3
# A piece divides a day and a block of Prometheus.
PIECE_SECONDS = 6 * HOUR
PIECE_TICKS = PIECE_SECONDS // INTERVAL_SECONDS
# The last midnight: recent enough for charts to read the raw samples that have not been dropped.
END = int(time.time()) // DAY * DAY


def moment(stamp: float) -> datetime:
    return datetime.fromtimestamp(stamp, UTC)


@dataclass(slots=True)
class Month:
    """What was stored. `values` counts the numbers that are not missing, in Prometheus as in our raw rows."""

    cache: Cache
    nodes: list[Node]
    days: int
    values: int = 0
    rollup_seconds: float = 0
    simulated: list[SimulatedNode] = field(default_factory=list)

    @property
    def start(self) -> int:
        return END - self.days * DAY

    @property
    def rows(self) -> int:
        return len(self.nodes) * self.days * DAY // INTERVAL_SECONDS


def cluster(name: str = "game", shards: int = SHARDS) -> tuple[Cache, list[Node]]:
    """Register a cluster with one replica a shard; return it with primaries and replicas in turn."""
    cache = Cache.objects.create(name=name, address="redis://10.0.0.1:6379", topology="cluster", engine="valkey")
    nodes = []
    for number in range(1, shards + 1):
        shard = Shard.objects.create(cache=cache, identity=f"shard-{number}", number=number)
        for index, role in enumerate((Node.Role.PRIMARY, Node.Role.REPLICA)):
            host = f"10.0.0.{number * 2 - 1 + index}"
            nodes.append(Node.objects.create(cache=cache, shard=shard, identity=host, host=host, port=6379, role=role))
    return cache, nodes


def load(directory: Path, promtool: str | None, days: int) -> Month:
    """Store `days` until END; roll up and drop at the end of each day, as production does."""
    cache, nodes = cluster()
    month = Month(cache, nodes, days)
    month.simulated = [SimulatedNode(number, number % 2 == 1) for number in range(1, len(nodes) + 1)]
    backfill = Backfill(promtool, directory / "data") if promtool else None
    text: TextIO | None = None
    for start in range(month.start, END, PIECE_SECONDS):
        if backfill and text is None:
            text = (directory / f"{start}.txt").open("w")
        _store_piece(month, start, text)
        end = start + PIECE_SECONDS
        if backfill and text and (end % BLOCK_SECONDS == 0 or end == END):
            _close(text, backfill)
            text = None
        if end % DAY == 0:
            _end_day(end)
    if backfill:
        backfill.finish()
    return month


def _store_piece(month: Month, start: int, text: TextIO | None) -> None:
    stamps = range(start, start + PIECE_SECONDS, INTERVAL_SECONDS)
    ensure_partition("sample", moment(start))
    pieces = [node.piece(start, PIECE_TICKS) for node in month.simulated]
    month.values += sum(samples_in(columns) for columns in pieces)
    copy_rows([node.pk for node in month.nodes], pieces, stamps)
    if text is not None:
        for node, columns in zip(month.simulated, pieces, strict=True):
            text.writelines(open_metrics(node, columns, stamps))


def copy_rows(node_ids: Sequence[int], pieces: Sequence[Sequence[Sequence[Value]]], stamps: Sequence[int]) -> None:
    """Store rows in the order in which polls bring them: all nodes of a tick, then the next tick."""
    rows = zip(*(zip(*columns, strict=True) for columns in pieces), strict=True)
    with samples.raw_cursor() as cursor, cursor.copy(samples.COPY_SAMPLES) as copy:
        copy.set_types(samples.COPY_TYPES)
        for stamp, polled in zip(stamps, rows, strict=True):
            at = moment(stamp)
            for node_id, hot in zip(node_ids, polled, strict=True):
                copy.write_row((at, *hot, node_id))


def _close(text: TextIO, backfill: Backfill) -> None:
    text.write("# EOF\n")
    text.close()
    backfill.add(Path(text.name))


def _end_day(end: int) -> None:
    # Autovacuum keeps statistics in production; here a month passes in minutes.
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {existing('sample')[-1][0]}")
    retention.roll_up(moment(end))
    retention.keep_partitions(moment(end))
