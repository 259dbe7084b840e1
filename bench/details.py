"""The further numbers of INFO, which our table of details keeps every five minutes and Prometheus at every scrape."""

import random
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path

from django.conf import settings
from django.db import connection

from bench.month import DAY, END, moment
from bench.peers import BLOCK_SECONDS, Backfill, folder_bytes
from bench.workload import INTERVAL_SECONDS, SEED
from collectors.metrics import Kind
from collectors.metrics.detail import DETAIL
from collectors.partitions import ensure_partition
from collectors.sources.info import numbers_by_name
from fleet.models import Node
from launcher import valkey
from launcher.valkey import CLUSTER_OPTIONS

COUNTERS = {metric.name for metric in DETAIL if metric.kind is Kind.COUNTER}
GROWTH = 400


def reported(directory: Path) -> dict[str, float]:
    """Return what a real server of today reports of the table's numbers."""
    server = valkey.start_valkey(directory / "reporter", *CLUSTER_OPTIONS)
    try:
        said = f"{server.ask('INFO', 'ALL')}\r\n{server.ask('CLUSTER', 'INFO')}"
        return numbers_by_name(said.encode().splitlines())
    finally:
        server.stop()


def node_day_bytes(nodes: Sequence[Node], numbers: dict[str, float]) -> float:
    """Store a day of details of these nodes; return the bytes that one of them takes."""
    ensure_partition("detail", moment(END - DAY))
    row = [numbers.get(metric.name) for metric in DETAIL]
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO detail (at, node_id, numbers) SELECT at, node_id, %s::float8[]"
            " FROM generate_series(%s::timestamptz, %s, make_interval(secs => %s)) AS at, unnest(%s::int[]) AS node_id",
            [row, moment(END - DAY), moment(END - 1), settings.DETAIL_INTERVAL_SECONDS, [node.pk for node in nodes]],
        )
        cursor.execute(
            "SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits WHERE inhparent = 'detail'::regclass"
        )
        return float(cursor.fetchone()[0]) / len(nodes)


def peer_node_day_bytes(directory: Path, promtool: str, numbers: dict[str, float]) -> float:
    """Return the bytes a day that Prometheus' blocks take for the same numbers of one node, scraped at every poll."""
    text = directory / "details.txt"
    start = END - BLOCK_SECONDS
    with text.open("w") as file:
        for name, value in numbers.items():
            file.writelines(_lines(name, value, range(start, END, INTERVAL_SECONDS)))
        file.write("# EOF\n")
    backfill = Backfill(promtool, directory / "details")
    backfill.add(text)
    backfill.finish()
    return folder_bytes(directory / "details") * DAY / BLOCK_SECONDS


def _lines(name: str, value: float, stamps: range) -> Iterator[str]:
    """Counters that have counted grow with noise, all else stands still: the cheapest that Prometheus can meet."""
    if name not in COUNTERS or not value:
        return (f'{name}{{instance="10.0.0.1:6379",job="redis"}} {value!r} {stamp}\n' for stamp in stamps)
    chance = random.Random(f"{SEED} {name}")
    values = accumulate((chance.randrange(GROWTH) for _ in stamps), initial=value)
    pairs = zip(values, stamps, strict=False)
    return (f'{name}{{instance="10.0.0.1:6379",job="redis"}} {number!r} {stamp}\n' for number, stamp in pairs)
