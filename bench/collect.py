"""Collecting: CPU of ours and of the peer for the same servers, the load both put on them, and 1,000 nodes at once."""

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import psutil
from django.db import connection
from django.db.models import Sum

from bench import peers
from bench.application import Application, application
from bench.database import own_database
from bench.processes import Meter, cpu_seconds, resident_bytes
from bench.report import Report, Row, compared
from bench.sides import INTERVAL_SECONDS, KEPT, Ours, Side, peer_of
from bench.targets import NODES_A_CACHE, Targets, targets
from bench.windows import Costs, costs_together, idle_load, load_of
from collectors import retention
from collectors.models import PollLease, PollWorker
from fleet.models import Cache, Node
from launcher.waiting import until

MANY_NODES, MANY_INTERVAL_SECONDS = 1_000, 15
CPU_BAR, LOAD_BAR, LAG_BAR_SECONDS = 0.10, 0.5, 2.0
START_SECONDS = 90.0


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


def run(quick: bool) -> Report:
    scale = QUICK if quick else FULL
    report = Report("collect", versions=peers.versions())
    with ExitStack() as stack:
        database = stack.enter_context(own_database())
        report.versions["postgres"] = database.version()
        servers = stack.enter_context(targets(database.directory, scale.many_nodes))
        report.versions["valkey (watched)"] = servers.version()
        caches = servers.register()
        app = stack.enter_context(application(database))
        app.start("poller", "worker", "beat")
        if not until(PollWorker.objects.exists, START_SECONDS, step=0.5):
            raise RuntimeError(f"No poller began within {START_SECONDS:g} s; {app.directory}/poller.log says why.")
        ours = Ours(app, database, caches[: scale.compared_nodes // NODES_A_CACHE])
        _compare(report, scale, ours, servers)
        _many(report, scale, app, caches[: scale.many_nodes // NODES_A_CACHE])
        _rollups(report, ours)
    return report


def _compare(report: Report, scale: Scale, ours: Ours, servers: Targets) -> None:
    seconds = scale.window_seconds
    idle = idle_load(servers, seconds // 2)
    sides: dict[str, Side] = {"ours": ours}
    with ExitStack() as stack:
        if has_peer := bool(peers.program("prometheus") and peers.program(*peers.EXPORTER_NAMES)):
            urls, directory = servers.urls(len(ours.caches)), ours.database.directory
            sides["peer"] = stack.enter_context(peer_of(directory / "kept", urls, KEPT))
            everything = stack.enter_context(peer_of(directory / "everything", urls, None))
            for side in (sides["peer"], everything):
                side.switch(on=False)
        found = costs_together(sides, scale.rounds, seconds)
        loads = {name: load_of(side, servers, idle, seconds)[0] for name, side in sides.items()}
        _memory(report, sides)
        if has_peer:
            found["everything"] = load_of(everything, servers, idle, seconds)[1]
    _rows(report, found, loads)
    report.notes.append(
        f"{scale.compared_nodes} nodes every {INTERVAL_SECONDS} s: {scale.rounds} windows of {seconds} s with both on,"
        f" then one of each alone for the load, net of {idle:.3f} s a second that the watched spend when nobody asks."
    )


def _rows(report: Report, found: Mapping[str, Costs], loads: Mapping[str, float]) -> None:
    ours, peer = found["ours"].cpu, found["peer"].cpu if "peer" in found else None
    report.add(compared("CPU per 1,000 node-polls", "s", ours, peer, CPU_BAR))
    load = [loads["peer"]] if "peer" in loads else None
    report.add(compared("load on the watched, per 1,000", "s", [loads["ours"]], load, LOAD_BAR))
    if "everything" in found:
        report.add(compared("CPU per 1,000, peer stores everything", "s", ours, found["everything"].cpu))
    for name, costs in found.items():
        report.notes.append(f"{name}, CPU seconds per 1,000 by part: {costs.in_words()}")


def _memory(report: Report, sides: dict[str, Side]) -> None:
    def total(side: Side) -> float:
        return sum(resident_bytes(process) for found in side.processes().values() for process in found) / 1e6

    peer = sides.get("peer")
    report.add(Row("resident memory, all parts", "MB", total(sides["ours"]), total(peer) if peer else None))


def _many(report: Report, scale: Scale, app: Application, caches: list[Cache]) -> None:
    """Poll many nodes on the one worker and look how late it gets and what it takes."""
    ids = [cache.pk for cache in caches]
    Cache.objects.filter(pk__in=ids).update(is_paused=False, poll_interval_seconds=MANY_INTERVAL_SECONDS)
    nodes = len(ids) * NODES_A_CACHE
    if not until(lambda: _answered(ids) == nodes, START_SECONDS, step=0.5):
        raise RuntimeError(f"Only {_answered(ids)} of {nodes} nodes answered within {START_SECONDS:g} s.")
    poller = app.process("poller")
    skipped, memory, spent = _skipped(ids), resident_bytes(poller), cpu_seconds(poller)
    first = (int(time.time()) // MANY_INTERVAL_SECONDS + 1) * MANY_INTERVAL_SECONDS
    last = first + (scale.many_polls - 1) * MANY_INTERVAL_SECONDS
    time.sleep(last + MANY_INTERVAL_SECONDS - 1 - time.time())
    spent, seconds = cpu_seconds(poller) - spent, time.time() - first
    rows, middle, late, latest = _lags(first, last)
    name = f"{nodes} nodes every {MANY_INTERVAL_SECONDS} s"
    report.add(Row(f"{name}: poll lag, median", "s", middle, runs=rows))
    report.add(Row(f"{name}: poll lag, 99th percentile", "s", late, runs=rows, bar=LAG_BAR_SECONDS, bar_on="ours"))
    report.add(Row(f"{name}: poll lag, highest", "s", latest, runs=rows))
    missing = nodes * scale.many_polls - rows
    report.add(Row(f"{name}: samples missing", "", missing, runs=scale.many_polls, bar=0, bar_on="ours"))
    report.add(Row(f"{name}: polls skipped", "", _skipped(ids) - skipped, runs=scale.many_polls, bar=0, bar_on="ours"))
    report.add(Row(f"{name}: poller, share of a core", "ratio", spent / seconds))
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
        report.add(Row("rollups of both tiers, per 1,000", "s", spent * 1000 / rows))


def _rows_to_roll() -> float:
    """Return the samples that no tier has yet; one that a single tier lacks counts a half."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) / 2.0 FROM sample CROSS JOIN (VALUES ('5m'), ('1h')) AS tiers (tier)"
            " LEFT JOIN rollup_mark USING (tier) WHERE until IS NULL OR at >= until"
        )
        return float(cursor.fetchone()[0])
