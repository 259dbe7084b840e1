"""Storage: the same month of samples in our tables and in Prometheus' blocks: bytes on disk, times of panels."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import orjson
from django.conf import settings
from django.db import connection

from bench import details, peers
from bench.database import own_database
from bench.month import DAY, END, HOUR, Month, load, moment
from bench.peers import Prometheus
from bench.report import NOT_INSTALLED, Report, Row, compared
from bench.timing import interleaved
from bench.workload import INTERVAL_SECONDS, instance
from collectors import series
from collectors.partitions import PARTITIONED
from collectors.series import Series

METRIC = "used_memory"
# Name, seconds, and how many times Prometheus' time ours may take at most.
WINDOWS = (("1 h", HOUR, 1.8), ("24 h", DAY, 1.0), ("30 d", 30 * DAY, 0.5))
ROWS_A_DAY = {"sample": DAY // INTERVAL_SECONDS, "rollup_5m": 288, "rollup_1h": 24, "rollup_8h": 3}
WHOLE_DAYS = 90
BYTES_BAR, WHOLE_BAR = 3.8, 1.0
# Rollups keep four-byte floats: seven digits.
TOLERANCE = 1e-6


def run(quick: bool) -> Report:
    report = Report("storage", versions=peers.versions())
    promtool = peers.program("promtool") if peers.program("prometheus") else None
    runs = 5 if quick else 31
    with own_database() as database:
        report.versions["postgres"] = database.version()
        month = load(database.directory, promtool, days=9 if quick else 30)
        _sizes(report, month, database.directory, promtool)
        if promtool is None:
            _panels(report, month, None, runs)
        else:
            with peers.prometheus(database.directory) as peer:
                _panels(report, month, peer, runs)
    return report


def _sizes(report: Report, month: Month, directory: Path, promtool: str | None) -> None:
    peer_bytes = peers.folder_bytes(directory / "data") if promtool else None
    peer_day = peer_bytes / month.days / len(month.nodes) if peer_bytes else None
    note = "" if promtool else NOT_INSTALLED
    values = month.values / month.rows
    per_day = {table: _node_day_bytes(table) for table in ROWS_A_DAY}
    ours, peer = per_day["sample"] / ROWS_A_DAY["sample"] / values, peer_bytes and peer_bytes / month.values
    report.add(Row("raw sample on disk", "bytes", ours, peer, bar=BYTES_BAR, note=note))
    for table, size in per_day.items():
        report.add(Row(f"{table}, a node and day", "bytes", size, peer_day if table == "sample" else None))
    numbers = details.reported(directory)
    detail = details.node_day_bytes(month.nodes, numbers)
    peer_detail = details.peer_node_day_bytes(directory, promtool, numbers) if promtool else None
    report.add(Row("detail, a node and day", "bytes", detail, peer_detail))
    whole = sum(size * min(WHOLE_DAYS, _kept_days(table)) for table, size in per_day.items())
    peer_whole = peer_day and peer_day * WHOLE_DAYS
    title = f"a node for {WHOLE_DAYS} days"
    report.add(Row(title, "bytes", whole, peer_whole, bar=WHOLE_BAR, note=note))
    whole += detail * min(WHOLE_DAYS, _kept_days("detail"))
    peer_whole = peer_whole + peer_detail * WHOLE_DAYS if peer_whole and peer_detail else None
    report.add(Row(f"{title}, with details", "bytes", whole, peer_whole, bar=WHOLE_BAR, note=note))
    kept = ", ".join(f"{table} {_kept_days(table)}" for table in [*per_day, "detail"])
    report.notes += [
        f"{month.values:,} numbers of {len(month.nodes)} nodes in {month.days} days, {values:.1f} a row.",
        f"{WHOLE_DAYS} days are computed from the bytes measured and the days that tables are kept: {kept}.",
        f"{len(numbers)} numbers are details: ours every {settings.DETAIL_INTERVAL_SECONDS} s, the peer's always.",
    ]


def _kept_days(table: str) -> int:
    return int(getattr(settings, PARTITIONED[table].keep_setting))


def _node_day_bytes(table: str) -> float:
    """Return the bytes that one node takes a day in a table, with indexes and TOAST."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT (SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits"
            f" WHERE inhparent = '{table}'::regclass)"
            f" / count(*) FROM {table}"
        )
        return float(cursor.fetchone()[0]) * ROWS_A_DAY[table]


def _panels(report: Report, month: Month, peer: Prometheus | None, runs: int) -> None:
    for name, seconds, bar in WINDOWS:
        start = END - min(seconds, month.days * DAY)
        drawn = _read(month, start)
        ways: dict[str, Callable[[], object]] = {"ours": partial(_answer, month, start)}
        if peer:
            report.notes.append(f"{name}: {_verified(month, peer, drawn)}")
            ways["peer"] = partial(_ask, peer, drawn)
        taken = interleaved(ways, runs)
        report.add(compared(f"panel of {name}, 6 nodes, mean and max", "ms", taken["ours"], taken.get("peer"), bar))


def _answer(month: Month, start: int) -> bytes:
    """Return the panel as JSON, as a page would get it."""
    return orjson.dumps(_read(month, start))


def _read(month: Month, start: int) -> Series:
    return series.read(month.cache, [METRIC], moment(start), moment(END), by="node")[0]


def _queries(drawn: Series) -> tuple[str, str]:
    """Return PromQL for the mean and the maximum of each point.

    A range holds both its ends, so one second less than the step keeps the next point's sample out.
    """
    window = f"{METRIC}[{drawn.step - 1}s]"
    return f"avg_over_time({window})", f"max_over_time({window})"


def _range(drawn: Series) -> tuple[int, int, int]:
    last = drawn.times[-1]
    return drawn.start + drawn.step - 1, last + drawn.step - 1, drawn.step


def _ask(peer: Prometheus, drawn: Series) -> None:
    for query in _queries(drawn):
        peer.range(query, *_range(drawn))


def _verified(month: Month, peer: Prometheus, drawn: Series) -> str:
    """Compare every point of ours with Prometheus'. Raise RuntimeError where one differs."""
    means, highest = (peer.values(query, *_range(drawn)) for query in _queries(drawn))
    order = {node.pk: instance(number) for number, node in enumerate(month.nodes, start=1)}
    points = 0
    for line in drawn.lines:
        name = order[line.node_id or 0]
        for at, mean, maximum in zip(drawn.times, line.mean, line.maximum, strict=True):
            theirs = (means[name].get(at + drawn.step - 1), highest[name].get(at + drawn.step - 1))
            if not _same(mean, theirs[0]) or not _same(maximum, theirs[1]):
                raise RuntimeError(f"{name} at {at}: ours {mean}, {maximum}; Prometheus {theirs}")
            points += 1
    return f"{points:,} points of {drawn.step} s equal Prometheus' in mean and maximum"


def _same(ours: float | None, theirs: float | None) -> bool:
    if ours is None or theirs is None:
        return ours is theirs
    return abs(ours - theirs) <= TOLERANCE * abs(theirs)
