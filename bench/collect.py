"""Collecting: CPU of ours and of the peer for the same servers, the load both put on them, and 1,000 nodes at once.

Two polls are compared, each with a peer that stores what it stores: the lean one (INFO and CLUSTER INFO), and the full
one (also commands, errors, latency, slow logs). What is asked once a minute by default, where polls come every fifteen
seconds, is asked here at the same share of the polls.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import psutil
from django.conf import settings
from django.db import connection
from django.db.models import Sum

from bench import peers
from bench.application import Application, application
from bench.database import Database, own_database
from bench.processes import Meter, resident_bytes
from bench.report import Report, Row, compared
from bench.sides import INTERVAL_SECONDS, KEPT, KEPT_BY_NAME, Ours, Side, peer_of
from bench.targets import NODES_A_CACHE, Targets, targets
from bench.windows import Costs, costs_together, idle_load, load_of
from collectors import retention
from collectors.models import PollLease, PollWorker
from fleet.models import Cache, Node
from launcher.waiting import until

MANY_NODES, MANY_INTERVAL_SECONDS = 1_000, 15
LOAD_BAR, LAG_BAR_SECONDS = 0.5, 2.0
START_SECONDS = 180.0
NEVER_SECONDS = 86_400
# Sources that only the full poll asks, by the setting of their interval; both polls keep details.
FULL_SOURCES = ("COMMANDS", "LATENCY", "SLOWLOG", "SLOTS")
DETAILS = ("DETAIL",)


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured."""

    compared_nodes: int
    many_nodes: int
    rounds: int
    window_seconds: int
    many_polls: int


# Some of what both ask comes once a minute: a window is a whole one.
FULL = Scale(300, MANY_NODES, 3, 60, 5)
QUICK = Scale(60, 120, 1, 10, 2)


@dataclass(frozen=True, slots=True)
class Poll:
    """One kind of poll: the intervals that make it, what the peer stores beside it, and the bar."""

    name: str
    intervals: Mapping[str, int]
    kept: str
    bar: float


def shared_out(name: str) -> int:
    """Return the interval of a source that gives it the share of polls that it has by default."""
    seconds = int(getattr(settings, f"{name}_INTERVAL_SECONDS"))
    return max(seconds * INTERVAL_SECONDS // settings.POLL_INTERVAL_SECONDS, INTERVAL_SECONDS)


def polls() -> tuple[Poll, Poll]:
    details = {name: shared_out(name) for name in DETAILS}
    full = {name: shared_out(name) for name in FULL_SOURCES}
    lean = dict.fromkeys((*FULL_SOURCES, "CLIENTS"), NEVER_SECONDS)
    return Poll("lean", details | lean, KEPT, 0.10), Poll("full", details | full, f"{KEPT}|{KEPT_BY_NAME}", 0.25)


def run(quick: bool) -> Report:
    scale = QUICK if quick else FULL
    report = Report("collect", versions=peers.versions())
    with ExitStack() as stack:
        database = stack.enter_context(own_database())
        report.versions["postgres"] = database.version()
        servers = stack.enter_context(targets(database.directory, scale.many_nodes))
        report.versions["valkey (watched)"] = servers.version()
        caches = servers.register()
        for poll in polls():
            with _collecting(database, poll.intervals) as app:
                ours = Ours(app, database, caches[: scale.compared_nodes // NODES_A_CACHE])
                _compare(report, scale, poll, ours, servers)
        with _collecting(database, {}) as app:
            _many(report, scale, Ours(app, database, caches[: scale.many_nodes // NODES_A_CACHE]))
            _rollups(report, Ours(app, database, caches))
    return report


@contextmanager
def _collecting(database: Database, intervals: Mapping[str, int]) -> Iterator[Application]:
    """Run poller, worker and beat with these intervals of sources."""
    PollWorker.objects.all().delete()
    extra = {f"SHARDWATCH_{name}_INTERVAL_SECONDS": str(seconds) for name, seconds in intervals.items()}
    with application(database, extra) as app:
        app.start("poller", "worker", "beat")
        if not until(PollWorker.objects.exists, START_SECONDS, step=0.5):
            raise RuntimeError(f"No poller began within {START_SECONDS:g} s; {app.directory}/poller.log says why.")
        yield app


def _compare(report: Report, scale: Scale, poll: Poll, ours: Ours, servers: Targets) -> None:
    seconds = scale.window_seconds
    idle = idle_load(servers, seconds // 2)
    sides: dict[str, Side] = {"ours": ours}
    with ExitStack() as stack:
        if peers.program("prometheus") and peers.program(*peers.EXPORTER_NAMES):
            urls, directory = servers.urls(len(ours.caches)), ours.database.directory
            sides["peer"] = stack.enter_context(peer_of(directory / poll.name, urls, poll.kept))
            sides["peer"].switch(on=False)
        found = costs_together(sides, scale.rounds, seconds)
        loads = {name: load_of(side, servers, idle, seconds)[0] for name, side in sides.items()}
        _memory(report, poll, sides)
    _rows(report, poll, found, loads)
    report.notes.append(
        f"{poll.name} poll of {scale.compared_nodes} nodes every {INTERVAL_SECONDS} s: {scale.rounds} windows of"
        f" {seconds} s with both on, then one of each alone for the load, net of {idle:.3f} s a second that the"
        " watched spend when nobody asks."
    )


def _rows(report: Report, poll: Poll, found: Mapping[str, Costs], loads: Mapping[str, float]) -> None:
    ours, peer = found["ours"].cpu, found["peer"].cpu if "peer" in found else None
    report.add(compared(f"{poll.name} poll: CPU per 1,000 node-polls", "s", ours, peer, poll.bar))
    load = [loads["peer"]] if "peer" in loads else None
    report.add(compared(f"{poll.name} poll: load on the watched, per 1,000", "s", [loads["ours"]], load, LOAD_BAR))
    for name, costs in found.items():
        report.notes.append(f"{poll.name} poll, {name}, CPU seconds per 1,000 by part: {costs.in_words()}")


def _memory(report: Report, poll: Poll, sides: Mapping[str, Side]) -> None:
    def total(side: Side) -> float:
        return sum(resident_bytes(process) for found in side.processes().values() for process in found) / 1e6

    peer = sides.get("peer")
    report.add(
        Row(f"{poll.name} poll: resident memory, all parts", "MB", total(sides["ours"]), total(peer) if peer else None)
    )


def _many(report: Report, scale: Scale, ours: Ours) -> None:
    """Poll many nodes on the one worker, full and at default intervals; look how late it gets and what it takes."""
    ids = [cache.pk for cache in ours.caches]
    Cache.objects.filter(pk__in=ids).update(is_paused=False, poll_interval_seconds=MANY_INTERVAL_SECONDS)
    nodes = len(ids) * NODES_A_CACHE
    if not until(lambda: _answered(ids) == nodes, START_SECONDS, step=0.5):
        raise RuntimeError(f"Only {_answered(ids)} of {nodes} nodes answered within {START_SECONDS:g} s.")
    poller = ours.application.process("poller")
    skipped, memory = _skipped(ids), resident_bytes(poller)
    first = (int(time.time()) // MANY_INTERVAL_SECONDS + 1) * MANY_INTERVAL_SECONDS
    last = first + (scale.many_polls - 1) * MANY_INTERVAL_SECONDS
    time.sleep(first - 1 - time.time())
    meter = Meter(ours.processes())
    time.sleep(last + MANY_INTERVAL_SECONDS - 1 - time.time())
    spent, seconds = meter.read(), MANY_INTERVAL_SECONDS * scale.many_polls
    rows, middle, late, latest = _lags(first, last)
    name = f"{nodes} nodes every {MANY_INTERVAL_SECONDS} s"
    report.add(Row(f"{name}: poll lag, median", "s", middle, runs=rows))
    report.add(Row(f"{name}: poll lag, 99th percentile", "s", late, runs=rows, bar=LAG_BAR_SECONDS, bar_on="ours"))
    report.add(Row(f"{name}: poll lag, highest", "s", latest, runs=rows))
    missing = nodes * scale.many_polls - rows
    report.add(Row(f"{name}: samples missing", "", missing, runs=scale.many_polls, bar=0, bar_on="ours"))
    report.add(Row(f"{name}: polls skipped", "", _skipped(ids) - skipped, runs=scale.many_polls, bar=0, bar_on="ours"))
    thousands = nodes * scale.many_polls / 1000
    report.add(Row(f"{name}: CPU per 1,000 node-polls, all parts", "s", sum(spent.values()) / thousands))
    report.add(Row(f"{name}: poller, share of a core", "ratio", spent["poller"] / seconds))
    report.add(Row(f"{name}: poller's memory at the end", "MB", resident_bytes(poller) / 1e6))
    report.notes.append(f"Memory of the poller: {memory / 1e6:.0f} MB after its first round of {nodes} nodes.")


def _answered(cache_ids: list[int]) -> int:
    return Node.objects.filter(cache_id__in=cache_ids, left_at=None, status__answered_at__isnull=False).count()


def _skipped(cache_ids: list[int]) -> int:
    return PollLease.objects.filter(cache_id__in=cache_ids).aggregate(total=Sum("skipped"))["total"] or 0


def _lags(first: int, last: int) -> tuple[int, float, float, float]:
    """Return the number of samples of these ticks; median, 99th percentile and maximum of their delay in seconds."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY read_after_ms) / 1000,"
            " percentile_cont(0.99) WITHIN GROUP (ORDER BY read_after_ms) / 1000, max(read_after_ms) / 1000.0::float8"
            " FROM sample WHERE at BETWEEN to_timestamp(%s) AND to_timestamp(%s)",
            [first, last],
        )
        rows, middle, late, latest = cursor.fetchone()
    if not rows:
        raise RuntimeError("No sample was stored.")
    return rows, middle, late, latest


def _rollups(report: Report, ours: Ours) -> None:
    """Roll up what was collected, which a worker does later, and print it beside: it is work of ours, too."""
    Cache.objects.update(is_paused=True)
    ours.application.stop_part("beat")
    rows = _rows_to_roll()
    meter = Meter({"postgres": [ours.database.process], "bench": [psutil.Process()]})
    retention.roll_up(datetime.now(UTC) + timedelta(hours=2))
    spent = sum(meter.read().values())
    if rows:
        report.add(Row("rollups, per 1,000", "s", spent * 1000 / rows))


def _rows_to_roll() -> float:
    """Return the samples that no tier has yet; one that a single tier lacks counts a half."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) / 2.0 FROM sample CROSS JOIN (VALUES ('5m'), ('1h')) AS tiers (tier)"
            " LEFT JOIN rollup_mark USING (tier) WHERE until IS NULL OR at >= until"
        )
        return float(cursor.fetchone()[0])
