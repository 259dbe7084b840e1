"""Those who walk all keys of a server, each as a command line, and what one walk costs."""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import IO

from bench import priority, programs
from collectors.keyscan.exact import SAMPLES
from collectors.keyscan.guards import read_info
from launcher.checkout import ROOT
from launcher.valkey import Valkey

PAGE = 1_000
KIBIBYTE = 1024
LIMIT_SECONDS, LOOK_SECONDS = 8.0, 0.01


@dataclass(frozen=True, slots=True)
class Walk:
    """One walk: seconds that it took by the clock, and CPU seconds of the client (all of it) and of the servers."""

    keys: int
    seconds: float
    client_cpu: float
    server_cpu: float
    client_bytes: int = 0

    @property
    def keys_per_second(self) -> float:
        return self.keys / self.seconds

    @property
    def server_cpu_a_key(self) -> float:
        """Return microseconds."""
        return self.server_cpu / self.keys * 1e6

    @property
    def client_cpu_a_key(self) -> float:
        """Return microseconds."""
        return self.client_cpu / self.keys * 1e6


@dataclass(frozen=True, slots=True)
class Contender:
    """`seconds` reads how long the walk itself took from the output; without it the whole run counts.

    One whose speed stays the same is stopped after `limit_seconds`: a whole walk of it would take minutes.
    """

    name: str
    command: Callable[[Valkey], Sequence[str | Path]]
    seconds: Callable[[str], float] | None = None
    limit_seconds: float = inf


def memkeys(cli: str, *options: str, name: str = "memkeys") -> Contender:
    return Contender(name, lambda one: [cli, "-p", str(one.port), "--memkeys", *options], limit_seconds=LIMIT_SECONDS)


def reader(program: Path) -> Contender:
    return Contender(
        "C reader",
        lambda server: [program, "127.0.0.1", str(server.port), str(PAGE), str(SAMPLES)],
        lambda output: float(output.split()[2]),
    )


def ours(*options: str, name: str = "ours") -> Contender:
    """Return our command line. Its seconds run from the first connection to the last reply, without Python's start."""
    return Contender(
        name,
        lambda server: [sys.executable, ROOT / "manage.py", "memkeys", server.url, "--json", *options],
        lambda output: float(json.loads(output)["seconds"]),
    )


def contenders(directory: Path) -> dict[str, Contender]:
    """Return those that can run here, ours first."""
    found = [ours("--brake", "fast", "--depth", "0"), ours("--brake", "fast", "--depth", "2", name="ours, prefixes")]
    if cli := programs.redis_cli():
        found.append(memkeys(cli))
    if cli := programs.paging_cli():
        found.append(memkeys(cli, "--count", str(PAGE), name="memkeys --count 1000"))
    if program := programs.compiled("reader", directory):
        found.append(reader(program))
    return {contender.name: contender for contender in found}


def walk(contender: Contender, servers: Sequence[Valkey], keys: int, core: int | None = priority.CLIENT_CORE) -> Walk:
    """Let one walk the servers, one after the other. Raise RuntimeError where it fails."""
    before = sum(map(cpu_seconds, servers))
    runs = [run(contender, server, core) for server in servers]
    seen = keys if contender.limit_seconds == inf else sum(each.keys for each in runs)
    return Walk(
        seen,
        sum(each.seconds for each in runs),
        sum(each.client_cpu for each in runs),
        sum(map(cpu_seconds, servers)) - before,
        max(each.client_bytes for each in runs),
    )


def run(contender: Contender, server: Valkey, core: int | None) -> Walk:
    """Return what one walk of one server took; its keys are those that the server was asked about."""
    with tempfile.TemporaryFile("w+") as output:
        first, began = measured(server), time.monotonic()
        child = start(contender.command(server), output, core)
        usage, resident = ended(child, began + contender.limit_seconds)
        seconds, keys = time.monotonic() - began, measured(server) - first
        if usage is None:
            child.kill()
            _pid, _status, usage = os.wait4(child.pid, 0)
            child.returncode = 0
        output.seek(0)
        said = output.read()
    if child.returncode:
        raise RuntimeError(f"{contender.name} ended with status {child.returncode}: {said[-300:]}")
    took = contender.seconds(said) if contender.seconds else seconds
    return Walk(keys, took, usage.ru_utime + usage.ru_stime, 0.0, resident)


def ended(child: "subprocess.Popen[str]", deadline: float) -> tuple[resource.struct_rusage | None, int]:
    """Return what a child used (None: it is still at work at the deadline) and its most resident bytes."""
    resident = 0
    while time.monotonic() < deadline:
        resident = max(resident, most_resident(child.pid))
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid:
            child.returncode = os.waitstatus_to_exitcode(status)
            return usage, resident
        time.sleep(LOOK_SECONDS)
    return None, resident


def most_resident(pid: int) -> int:
    """Return the peak of a process since it became its program: wait4 tells that of what it was forked from, too."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * KIBIBYTE for line in lines if line.startswith("VmHWM:")), 0)


def measured(server: Valkey) -> int:
    """Return how many sizes the server was asked for so far."""
    line = info_of(server, "commandstats").get("cmdstat_memory|usage", "calls=0")
    return int(line.split(",")[0].partition("=")[2])


def start(
    command: Sequence[str | Path], output: IO[str] | int, core: int | None = priority.CLIENT_CORE
) -> "subprocess.Popen[str]":
    prepare = priority.set_up(core=core)
    return subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL, text=True, preexec_fn=prepare)


def cpu_seconds(server: Valkey) -> float:
    info = info_of(server, "cpu")
    return float(info["used_cpu_user"]) + float(info["used_cpu_sys"])


def info_of(server: Valkey, section: str) -> Mapping[str, str]:
    return read_info(str(server.ask("INFO", section)).encode())
