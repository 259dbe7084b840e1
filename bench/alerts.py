"""Rules: CPU of an instance beside Prometheus' in the same minutes, and the road from a sample to the pager."""

import statistics
import time
from contextlib import ExitStack
from dataclasses import dataclass, field

import psutil

from bench import alert_peer, alert_road, judged, peers
from bench.alert_peer import EVALUATED_EVERY_SECONDS, Spent
from bench.database import Database, own_database
from bench.judged import Go, Judged
from bench.report import NOT_INSTALLED, Report, Row, compared
from bench.workload import INTERVAL_SECONDS

CPU_BAR, FLAT_BAR = 0.2, 1.25
NODES = 1_000
# A landing is what one poller has of a tick: all of the fleet, or its share among several.
BATCHES = {"one poller": (NODES, CPU_BAR), "four pollers": (250, None), "twenty pollers": (50, None)}


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured. `warm_seconds` fills the windows that rules look at."""

    nodes: int
    warm_seconds: int
    windows: int
    window_seconds: int
    history_hours: int
    road: alert_road.Scale


FULL = Scale(NODES, judged.HISTORY_SECONDS, 3, 60, 6, alert_road.FULL)
QUICK = Scale(60, 0, 1, 15, 1, alert_road.QUICK)


def run(quick: bool) -> Report:
    scale = QUICK if quick else FULL
    report = Report("alerts", versions=peers.versions())
    with own_database() as database:
        report.versions["postgres"] = database.version()
        _instances(report, scale, database, judged.seed(scale.nodes))
    with own_database() as database:
        alert_road.run(report, scale.road, database)
    return report


def _instances(report: Report, scale: Scale, database: Database, fleet: Judged) -> None:
    """Let both judge the same thresholds in the same minutes."""
    found = Found()
    with ExitStack() as stack:
        sides = _peers(stack, database, fleet) if peers.program("prometheus") else {}
        _pass(scale.warm_seconds, fleet)
        for _ in range(scale.windows):
            spent = {name: Spent(side, sides["idle"]) for name, side in sides.items() if name != "idle"}
            _window(found, scale, fleet, database.process)
            for name, one in spent.items():
                found.peers.setdefault(name, []).append(one.usec_an_instance())
    _rows(report, found)
    _history(report, scale, fleet, database.process, found)
    report.notes.append(
        f"{len(judged.THRESHOLDS)} thresholds over {len(fleet.nodes)} nodes, six of the last value, four of 5 minutes;"
        f" both judge every {EVALUATED_EVERY_SECONDS} s. Ours is the judge and all of Postgres; Prometheus' is net of"
        " one that scrapes the same and has no rules. The bar is against one rule for each instance, as thresholds of"
        " their own need; for rules over all nodes see the row of its own."
    )


@dataclass(slots=True)
class Found:
    """Goes by how samples landed, and the peers' CPU an instance by what their rules are for."""

    goes: dict[str, list[Go]] = field(default_factory=dict)
    peers: dict[str, list[float]] = field(default_factory=dict)


def _peers(stack: ExitStack, database: Database, fleet: Judged) -> dict[str, alert_peer.Peer]:
    target = stack.enter_context(alert_peer.served(fleet))
    rules = {"each": alert_peer.rules_for_each(fleet), "all": alert_peer.rules_for_all(), "idle": []}
    over = {"each": 1, "all": len(fleet.nodes), "idle": 1}
    return {
        name: stack.enter_context(alert_peer.peer(database.directory / name, target, given, over[name]))
        for name, given in rules.items()
    }


def _pass(seconds: float, fleet: Judged) -> None:
    """Let time pass with polls in it."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        _poll_if_due(fleet)
        time.sleep(min(left, 1))


def _poll_if_due(fleet: Judged) -> None:
    tick = int(time.time()) // INTERVAL_SECONDS * INTERVAL_SECONDS
    if tick > fleet.newest:
        fleet.poll(tick)


def _window(found: Found, scale: Scale, fleet: Judged, postgres: psutil.Process) -> None:
    """Judge as often as the peer does, landings of each size in turn."""
    end, names = time.monotonic() + scale.window_seconds, list(BATCHES)
    for number in range(scale.window_seconds // EVALUATED_EVERY_SECONDS):
        _poll_if_due(fleet)
        name = names[number % len(names)]
        batches = fleet.batches(min(BATCHES[name][0], len(fleet.nodes)))
        found.goes.setdefault(name, []).append(judged.judge(batches, int(time.time()), postgres))
        time.sleep(max(0.0, end - scale.window_seconds + (number + 1) * EVALUATED_EVERY_SECONDS - time.monotonic()))


def _rows(report: Report, found: Found) -> None:
    each, every = found.peers.get("each"), found.peers.get("all")
    for name, goes in found.goes.items():
        usec = [go.usec_an_instance for go in goes]
        report.add(compared(f"CPU of an instance, {name}", "us", usec, each, BATCHES[name][1]))
    whole = found.goes["one poller"]
    report.add(
        compared(
            "CPU of an instance, Prometheus' rules over all nodes", "us", [g.usec_an_instance for g in whole], every
        )
    )
    wall = statistics.median(go.wall_seconds for go in whole)
    instances = max(go.instances for go in whole)
    report.add(Row(f"time to judge {instances:,} instances", "s", wall, runs=len(whole), bar=1, bar_on="ours"))
    if not each:
        report.notes.append(f"Prometheus: {NOT_INSTALLED}.")


def _history(report: Report, scale: Scale, fleet: Judged, postgres: psutil.Process, found: Found) -> None:
    """Judge again with hours of samples behind the minutes that rules look at."""
    before = [go.usec_an_instance for go in found.goes["one poller"]]
    fleet.remember(scale.history_hours)
    after = []
    for _ in range(max(3, len(before))):
        time.sleep(1)
        after.append(judged.judge([fleet.caches], int(time.time()), postgres).usec_an_instance)
    note = f"in place of a peer: with {judged.HISTORY_SECONDS // 60} minutes"
    name = f"CPU of an instance with {scale.history_hours} h of samples"
    report.add(compared(name, "us", after, before, FLAT_BAR, note))
