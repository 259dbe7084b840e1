"""Memcached: what it takes to poll many servers, and how late their samples are; ours, all parts counted.

A few real servers answer under many loopback addresses. There is no peer: the question is our own share of a core.
"""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.application import Application, application
from bench.database import Database, own_database
from bench.processes import resident_bytes
from bench.report import Report, Row
from bench.sides import INTERVAL_SECONDS, Ours
from bench.windows import costs_together
from collectors.models import PollWorker
from fleet.engines import Engine
from fleet.models import Cache
from launcher import children, memcached, valkey
from launcher.waiting import until

# Half of them are put under many addresses of the loopback network.
SERVERS, NODES_A_CACHE = 10, 5
NODES, QUICK_NODES = 300, 60
POLLED_EVERY_SECONDS, CORE_BAR = 15, 0.10
WINDOWS, QUICK_WINDOWS = 3, 1
WINDOW_SECONDS, QUICK_WINDOW_SECONDS = 60, 15
START_SECONDS = 120.0


def run(quick: bool) -> Report:
    program = shutil.which("memcached")
    if program is None:
        raise RuntimeError("memcached is not installed.")
    report = Report("memcached", versions={"memcached": version(program)})
    with own_database() as database, targets(database.directory, program, QUICK_NODES if quick else NODES) as caches:
        report.versions["postgres"] = database.version()
        with _collecting(database) as app:
            _measure(report, Ours(app, database, caches), quick)
    return report


def version(program: str) -> str:
    said = subprocess.run([program, "-V"], capture_output=True, text=True, check=False, timeout=30)
    return said.stdout.split()[-1]


@contextmanager
def targets(directory: Path, program: str, nodes: int) -> Iterator[list[Cache]]:
    """Start servers under as many addresses as it takes, and register them as paused caches of five nodes."""
    hosts = [f"127.0.0.{number}" for number in range(1, -(-nodes // SERVERS) + 1)]
    started: list[subprocess.Popen[bytes]] = []
    try:
        ports = [_start(started, program, hosts) for _ in range(SERVERS)]
        addresses = [f"memcached://{host}:{port}" for host in hosts for port in ports]
        yield Cache.objects.bulk_create(
            Cache(
                name=f"bench-{first}",
                address=", ".join(addresses[first : first + NODES_A_CACHE]),
                engine=Engine.MEMCACHED,
                poll_interval_seconds=INTERVAL_SECONDS,
                is_paused=True,
            )
            for first in range(0, len(addresses), NODES_A_CACHE)
        )
    finally:
        for child in started:
            children.stop(child)


def _start(started: list[subprocess.Popen[bytes]], program: str, hosts: list[str]) -> int:
    port = valkey.free_port()
    listen = [option for host in hosts for option in ("-l", f"{host}:{port}")]
    started.append(children.spawn([program, "-u", memcached.ACCOUNT, "-U", "0", "-m", "64", "-c", "4096", *listen]))
    if not until(lambda: not valkey.is_free(port), START_SECONDS):
        raise RuntimeError("A memcached did not start.")
    return port


@contextmanager
def _collecting(database: Database) -> Iterator[Application]:
    PollWorker.objects.all().delete()
    # Details come with the share of polls that they have by default.
    details = {"SHARDWATCH_DETAIL_INTERVAL_SECONDS": str(300 * INTERVAL_SECONDS // POLLED_EVERY_SECONDS)}
    with application(database, details) as app:
        app.start("poller", "worker", "beat")
        if not until(PollWorker.objects.exists, START_SECONDS, step=0.5):
            raise RuntimeError(f"No poller began within {START_SECONDS:g} s; {app.directory}/poller.log says why.")
        yield app


def _measure(report: Report, ours: Ours, quick: bool) -> None:
    windows, seconds = (QUICK_WINDOWS, QUICK_WINDOW_SECONDS) if quick else (WINDOWS, WINDOW_SECONDS)
    costs = costs_together({"ours": ours}, windows, seconds)["ours"]
    middle = sorted(costs.cpu)[len(costs.cpu) // 2]
    report.add(Row("CPU per 1,000 node-polls, all parts", "s", middle, runs=len(costs.cpu)))
    share = middle * NODES / POLLED_EVERY_SECONDS / 1_000
    name = f"{NODES} nodes every {POLLED_EVERY_SECONDS} s: share of a core, Postgres counted"
    report.add(Row(name, "ratio", share, runs=len(costs.cpu), bar=CORE_BAR, bar_on="ours"))
    report.add(Row("poller's memory at the end", "MB", resident_bytes(ours.application.process("poller")) / 1e6))
    report.notes.append(f"CPU seconds per 1,000 by part: {costs.in_words()}")
    report.notes.append(
        f"{len(ours.caches) * NODES_A_CACHE} nodes polled every {INTERVAL_SECONDS} s for {seconds} s, {windows} times;"
        " the share follows from the CPU of a poll."
    )
