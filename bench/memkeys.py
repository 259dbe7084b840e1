"""Key scans: our walk beside redis-cli's, its strongest form, and a C client that does nothing else."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from bench import contenders, exactness, impact, priority, programs
from bench.contenders import Contender, Walk, walk
from bench.keyspace import fill
from bench.report import Report, Row, compared
from bench.timing import turns
from launcher import binaries, valkey
from launcher.valkey import Valkey

PLAIN, PREFIXES, MEMKEYS, PAGING, READER = "ours", "ours, prefixes", "memkeys", "memkeys --count 1000", "C reader"
FIRST_ENGINE = "Valkey"
CLUSTER_SHARDS, CLUSTER_ROUNDS = 3, 1
GENTLE_BUSY, HEAVY_BUSY = 0.3, 0.5
# The 99th percentile with a scan may be this many times that without, brisk also this many microseconds more.
GENTLE_P99, BRISK_P99, BRISK_P99_USEC = 1.2, 1.3, 50


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured: keys of each part, and rounds."""

    large: int
    huge: int
    cluster: int
    exact: int
    rounds: int
    impact_rounds: int


FULL = Scale(1_000_000, 5_000_000, 1_500_000, 200_000, 3, 2)
QUICK = Scale(50_000, 0, 60_000, 20_000, 1, 0)


@dataclass(frozen=True, slots=True)
class Bars:
    """The least multiples of the peers' keys per second, and the most of their CPU."""

    memkeys: float
    server_cpu: float


LARGE_BARS, HUGE_BARS = Bars(8.0, 0.2), Bars(5.5, 0.35)
PAGING_BAR, READER_BAR, CLUSTER_BAR = 1.3, 0.9, 12.0
CLIENT_BAR, PREFIX_BAR = 1.1, 1.9
MEMORY_BAR_MB = 300


def run(quick: bool) -> Report:
    scale = QUICK if quick else FULL
    report = Report("memkeys")
    directory = Path(tempfile.mkdtemp(prefix="memkeys-"))
    try:
        _Bench(report, scale, directory).run()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return report


class _Bench:
    """One run of the bench, part by part."""

    def __init__(self, report: Report, scale: Scale, directory: Path) -> None:
        self.report, self.scale, self.directory = report, scale, directory
        self.ways = contenders.contenders(directory)
        self.engines = {FIRST_ENGINE: binaries.valkey_server()}
        if redis := shutil.which("redis-server"):
            self.engines["Redis"] = Path(redis)

    def run(self) -> None:
        self._head()
        for engine, program in self.engines.items():
            with server(self.directory / engine, program, self.scale.large) as one:
                self._full_speed(f"{engine}, {_count(self.scale.large)}", one, self.scale.large, LARGE_BARS)
                if self.scale.impact_rounds:
                    self._impact(engine, one)
            with server(self.directory / f"{engine}-exact", program, self.scale.exact) as one:
                exactness.rows(self.report, engine, one)
        self._cluster()
        if self.scale.huge:
            # One engine: to fill it takes minutes.
            with server(self.directory / "huge", self.engines[FIRST_ENGINE], self.scale.huge) as one:
                self._full_speed(
                    f"{FIRST_ENGINE}, {_count(self.scale.huge)}", one, self.scale.huge, HUGE_BARS, rounds=1
                )

    def _head(self) -> None:
        for name, place in (("redis-cli", programs.redis_cli()), ("with --count", programs.paging_cli())):
            self.report.versions[name] = programs.version(place) if place else "not installed"
        for engine, program in self.engines.items():
            self.report.versions[engine] = programs.version(program)
        seconds = contenders.LIMIT_SECONDS
        self.report.notes.append(f"redis-cli keeps its speed: its walks are stopped after {seconds:g} s.")
        if not priority.is_allowed():
            self.report.notes.append("No real-time priority here: other processes distort all times.")

    def _full_speed(self, title: str, one: Valkey, keys: int, bars: Bars, rounds: int = 0) -> None:
        walks = {name: _walks(way, [one], keys) for name, way in self.ways.items()}
        with priority.undisturbed([one.pid]):
            found = turns(walks, rounds or self.scale.rounds)
        self._rates(title, found, {MEMKEYS: bars.memkeys, PAGING: PAGING_BAR, READER: READER_BAR})
        self._rates(f"{title}, with prefixes", {**found, PLAIN: found[PREFIXES]}, {MEMKEYS: bars.memkeys})
        ours, peer = (_figures(found, name, lambda each: each.server_cpu_a_key) for name in (PLAIN, MEMKEYS))
        self.report.add(compared(f"{title}: server CPU a key", "us", ours or [], peer, bars.server_cpu))
        for name, bar in ((PLAIN, CLIENT_BAR), (PREFIXES, PREFIX_BAR)):
            spent = _figures(found, name, lambda each: each.client_cpu_a_key) or []
            row = compared(f"{title}: client CPU a key, {name}", "us", spent, None, note="with Python's start")
            self.report.add(replace(row, bar=bar, bar_on="ours"))

        memory = [each.client_bytes / 1e6 for each in found[PREFIXES]]
        row = compared(f"{title}: client memory, with prefixes", "MB", memory, None, note="the whole process")
        self.report.add(replace(row, bar=MEMORY_BAR_MB, bar_on="ours"))

    def _rates(self, title: str, found: Mapping[str, Sequence[Walk]], bars: Mapping[str, float]) -> None:
        ours = _figures(found, PLAIN, lambda each: each.keys_per_second) or []
        for peer, bar in bars.items():
            theirs = _figures(found, peer, lambda each: each.keys_per_second)
            row = compared(f"{title}: against {peer}", "keys/s", ours, theirs)
            self.report.add(replace(row, bar=bar, is_least=True))

    def _cluster(self) -> None:
        keys = self.scale.cluster
        with cluster(self.directory / "cluster", keys) as nodes:
            ways = {PLAIN: _walks(self.ways[PLAIN], nodes[:1], keys, core=None)}
            ways |= {name: _walks(self.ways[name], nodes, keys, core=None) for name in (MEMKEYS,) if name in self.ways}
            with priority.undisturbed([node.pid for node in nodes], core=None):
                found = turns(ways, CLUSTER_ROUNDS)
        title = f"cluster of {CLUSTER_SHARDS}, {_count(keys)}"
        self._rates(title, found, {MEMKEYS: CLUSTER_BAR})

    def _impact(self, engine: str, one: Valkey) -> None:
        program, cli = programs.compiled("foreground", self.directory), programs.redis_cli()
        if program is None:
            self.report.notes.append("No C compiler: what an application feels was not measured.")
            return
        ways = {name: contenders.ours("--brake", name, name=name) for name in ("gentle", "brisk")}
        if cli:
            ways |= {"memkeys": contenders.memkeys(cli), "-i 1": contenders.memkeys(cli, "-i", "1", name="-i 1")}
        with priority.undisturbed([one.pid]):
            # The heavier load has no bar: once is enough.
            for busy in (GENTLE_BUSY, HEAVY_BUSY) if engine == FIRST_ENGINE else (GENTLE_BUSY,):
                rate = impact.rate_for(program, one, busy)
                rounds = self.scale.impact_rounds if busy == GENTLE_BUSY else 1
                felt = impact.felt(program, one, ways, rate, rounds)
                impact_rows(self.report, f"{engine}, {busy:.0%} busy", felt, has_bars=busy == GENTLE_BUSY)


def impact_rows(report: Report, title: str, felt: Mapping[str, impact.Felt], has_bars: bool) -> None:
    """Add rows of keys per second beside the peer's and of p99 beside idle."""
    for name, peer, least in (("gentle", "-i 1", 25.0), ("brisk", "memkeys", 2.0)):
        theirs = felt[peer].keys_per_second if peer in felt else None
        row = compared(f"{title}: {name} against {peer}", "keys/s", felt[name].keys_per_second, theirs)
        report.add(replace(row, bar=least if has_bars else None, is_least=True))
    for name, found in felt.items():
        idle, scanned = found.p99
        bars = {"gentle": GENTLE_P99, "brisk": max(BRISK_P99, 1 + BRISK_P99_USEC / idle) if idle else None}
        measure, bar = f"{title}: p99 beside idle, {name}", bars.get(name) if has_bars else None
        report.add(Row(measure, "us", scanned, idle, bar=bar, note=f"{len(found.scanned)} windows"))


def _walks(
    way: Contender, servers: Sequence[Valkey], keys: int, core: int | None = priority.CLIENT_CORE
) -> Callable[[], Walk]:
    return lambda: walk(way, servers, keys, core)


def _figures(found: Mapping[str, Sequence[Walk]], name: str, figure: Callable[[Walk], float]) -> list[float] | None:
    return [figure(each) for each in found[name]] if name in found else None


def _count(keys: int) -> str:
    return f"{keys / 1e6:g}M keys" if keys >= 1_000_000 else f"{keys / 1e3:g}k keys"


@contextmanager
def server(directory: Path, program: Path, keys: int) -> Iterator[Valkey]:
    one = valkey.start_valkey(directory, "--unixsocket", str(directory / "socket"), program=program)
    try:
        with priority.undisturbed([one.pid]), priority.undisturbed([os.getpid()], priority.CLIENT_CORE):
            fill([one.address], keys)
        yield one
    finally:
        one.kill()


@contextmanager
def cluster(directory: Path, keys: int) -> Iterator[list[Valkey]]:
    """Yield the primaries of a cluster that holds the keys."""
    with ExitStack() as stack:
        nodes = valkey.start_cluster(directory, shards=CLUSTER_SHARDS, replicas=0)
        stack.callback(valkey.stop_all, nodes)
        fill([node.address for node in nodes], keys)
        yield nodes
