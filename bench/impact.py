"""What an application feels while its server is scanned: its latency beside that of the same seconds without."""

import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles

from bench import contenders, priority
from bench.contenders import Contender, measured
from launcher.valkey import Valkey
from launcher.waiting import until

WINDOW_SECONDS = 0.4
IDLE_SECONDS, SCAN_SECONDS = 1.7, 3.3
START_SECONDS = 30.0
CALIBRATION_RATE, CALIBRATION_SECONDS = 10_000, 1.5
# Neighbours on the machine only ever add: the lower quarter of the windows is nearest to the truth.
QUARTILE = 4


@dataclass(slots=True)
class Felt:
    """The 99th percentiles of windows in microseconds, without and with a scan, and the keys it measured a second."""

    idle: list[float] = field(default_factory=list)
    scanned: list[float] = field(default_factory=list)
    keys_per_second: list[float] = field(default_factory=list)

    @property
    def p99(self) -> tuple[float | None, float | None]:
        """Return both; None where the scan was through before a window was."""
        return lower_quartile(self.idle), lower_quartile(self.scanned)


def lower_quartile(values: Sequence[float]) -> float | None:
    if len(values) < 2:
        return values[0] if values else None
    return quantiles(values, n=QUARTILE, method="inclusive")[0]


def felt(program: Path, server: Valkey, ways: Mapping[str, Contender], rate: int, rounds: int) -> dict[str, Felt]:
    """Return what the foreground felt of each, in turns."""
    found = {name: Felt() for name in ways}
    for _ in range(rounds):
        for name, contender in ways.items():
            _one(program, server, contender, rate, found[name])
    return found


def _one(program: Path, server: Valkey, contender: Contender, rate: int, found: Felt) -> None:
    seconds = IDLE_SECONDS + START_SECONDS + SCAN_SECONDS
    foreground = start_foreground(program, server, rate, seconds)
    began = time.monotonic()
    scan: subprocess.Popen[str] | None = None
    try:
        time.sleep(IDLE_SECONDS)
        calls = measured(server)
        scan = contenders.start(contender.command(server), subprocess.DEVNULL)
        if not until(lambda: measured(server) > calls, START_SECONDS):
            raise RuntimeError(f"{contender.name} did not begin within {START_SECONDS:g} s.")
        # The first slices look for their length.
        time.sleep(WINDOW_SECONDS)
        first, begin = measured(server), time.monotonic()
        until(lambda: scan is not None and scan.poll() is not None, SCAN_SECONDS)
        end, last = time.monotonic(), measured(server)
    finally:
        foreground.terminate()
        if scan is not None:
            scan.kill()
            scan.wait()
        said, errors = foreground.communicate()
    if not said:
        raise RuntimeError(f"The foreground load failed: {errors}")
    found.keys_per_second.append((last - first) / (end - begin))
    for line in said.splitlines():
        at, _count, _p50, p99, *_ = map(float, line.split())
        if at + WINDOW_SECONDS < IDLE_SECONDS:
            found.idle.append(p99)
        elif begin <= began + at and began + at + WINDOW_SECONDS <= end:
            found.scanned.append(p99)


def start_foreground(program: Path, server: Valkey, rate: int, seconds: float) -> "subprocess.Popen[str]":
    words = [str(word) for word in (program, socket_of(server), rate, seconds, WINDOW_SECONDS)]
    prepare = priority.set_up(priority.FOREGROUND)
    pipe = subprocess.PIPE
    return subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True, preexec_fn=prepare)


def socket_of(server: Valkey) -> Path:
    """Return where a server listens for the foreground, which must cost the scan's core as little as can be."""
    return server.directory / "socket"


def rate_for(program: Path, server: Valkey, busy: float) -> int:
    """Return the requests a second that keep the server busy for this share of the time."""
    shares = []
    for _ in range(3):
        before = contenders.cpu_seconds(server)
        foreground = start_foreground(program, server, CALIBRATION_RATE, CALIBRATION_SECONDS)
        foreground.communicate()
        shares.append((contenders.cpu_seconds(server) - before) / CALIBRATION_SECONDS)
    return round(CALIBRATION_RATE * busy / median(shares))
