"""Collecting: CPU of ours and of the peer for the same servers, the load both put on them, and 1,000 nodes at once."""

import statistics
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
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
from collectors import retention
from collectors.models import PollLease, PollWorker
from fleet.models import Cache, Node
from launcher.waiting import until

MANY_NODES, MANY_INTERVAL_SECONDS = 1_000, 15
CPU_BAR, LOAD_BAR, LAG_BAR_SECONDS = 0.10, 0.5, 2.0
START_SECONDS = 90.0
# Windows begin and end this long before a tick, when the polls of the one before are over.
EARLY_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured."""

    compared_nodes: int
    many_nodes: int
    rounds: int
    window_seconds: int
    many_polls: int


FULL = Scale(300, MANY_NODES, 3, 20, 5)
QUICK = Scale(60, 120, 1, 10, 2)


@dataclass(slots=True)
class Windows:
    """What one side cost in each window, per 1,000 polls of one node; `seconds` is how long these took."""

    cpu: list[float] = field(default_factory=list)
    load: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    parts: list[dict[str, float]] = field(default_factory=list)

    def net_load(self, idle: float) -> list[float]:
        return [load - idle * seconds for load, seconds in zip(self.load, self.seconds, strict=True)]

    def parts_in_words(self) -> str:
        names = self.parts[0] if self.parts else {}
        return ", ".join(f"{name} {statistics.median(part[name] for part in self.parts):.3f}" for name in names)


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
    idle: list[float] = []
    sides: dict[str, Side] = {"ours": ours}
    with ExitStack() as stack:
        if peers.program("prometheus") and peers.program(*peers.EXPORTER_NAMES):
            urls = servers.urls(len(ours.caches))
            directory = ours.database.directory
            sides["peer"] = stack.enter_context(peer_of(directory / "kept", urls, KEPT))
            sides["everything"] = stack.enter_context(peer_of(directory / "everything", urls, None))
            for name in ("peer", "everything"):
                sides[name].switch(on=False)
        found = {name: Windows() for name in sides}
        for number in range(scale.rounds):
            idle.append(_idle_load(servers, scale.window_seconds))
            order = ["ours", "peer"] if number % 2 else ["peer", "ours"]
            for name in [*order, *(["everything"] if number == 0 else [])]:
                if name in sides:
                    _measure(sides[name], found[name], servers, scale.window_seconds)
        _rows(report, scale, found, statistics.median(idle))
        _memory(report, sides)


def _idle_load(servers: Targets, seconds: int) -> float:
    """Return the CPU seconds a second of all watched servers while nobody asks them anything."""
    meter = Meter({"servers": servers.processes})
    time.sleep(seconds)
    return meter.read()["servers"] / seconds


def _measure(side: Side, found: Windows, servers: Targets, seconds: int) -> None:
    """Switch the side on for a window that holds whole intervals, after two to get going."""
    side.switch(on=True)
    try:
        _sleep_to_interval(3)
        meter = Meter({**side.processes(), "servers": servers.processes})
        polls, began = side.polls(), time.monotonic()
        _sleep_to_interval(seconds // INTERVAL_SECONDS)
        spent, made = meter.read(), side.polls() - polls
        found.seconds.append((time.monotonic() - began) * 1000 / made)
    finally:
        side.switch(on=False)
    if not made:
        raise RuntimeError("Nothing was collected in a window.")
    per_thousand = {name: seconds_of_cpu * 1000 / made for name, seconds_of_cpu in spent.items()}
    found.load.append(per_thousand.pop("servers"))
    found.cpu.append(sum(per_thousand.values()))
    found.parts.append(per_thousand)


def _sleep_to_interval(count: int) -> None:
    """Sleep to shortly before a poll is due: from there on, `count` rounds of polls are made."""
    now = time.time()
    begun = (now + EARLY_SECONDS) // INTERVAL_SECONDS
    time.sleep(max((begun + count) * INTERVAL_SECONDS - EARLY_SECONDS - now, 0))


def _rows(report: Report, scale: Scale, found: dict[str, Windows], idle: float) -> None:
    ours, peer = found["ours"], found.get("peer")
    report.add(compared("CPU per 1,000 node-polls", "s", ours.cpu, peer.cpu if peer else None, CPU_BAR))
    report.add(
        compared(
            "load on the watched, per 1,000", "s", ours.net_load(idle), peer.net_load(idle) if peer else None, LOAD_BAR
        )
    )
    if peer:
        every = found["everything"]
        report.add(compared("CPU per 1,000, peer stores everything", "s", ours.cpu, every.cpu))
    for name, windows in found.items():
        report.notes.append(f"{name}, CPU seconds per 1,000 by part: {windows.parts_in_words()}")
    report.notes.append(
        f"{scale.compared_nodes} nodes every {INTERVAL_SECONDS} s; {scale.rounds} windows of {scale.window_seconds} s,"
        f" in turns; the load is net of what the servers spend when nobody asks, {idle:.3f} s a second."
    )


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
