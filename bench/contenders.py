"""Those who walk all keys of a server, each as a command line, and what one walk costs."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from bench import priority, programs
from collectors.keyscan.exact import SAMPLES
from collectors.keyscan.guards import read_info
from launcher.checkout import ROOT
from launcher.valkey import Valkey

PAGE = 1_000
KIBIBYTE = 1024


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
    """`seconds` reads how long the walk itself took from the output; without it the whole run counts."""

    name: str
    command: Callable[[Valkey], Sequence[str | Path]]
    seconds: Callable[[str], float] | None = None


def memkeys(cli: str, *options: str, name: str = "memkeys") -> Contender:
    return Contender(name, lambda server: [cli, "-p", str(server.port), "--memkeys", *options])


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
    seconds = spent = 0.0
    largest = 0
    for server in servers:
        took, cpu, resident = run(contender, contender.command(server), core)
        seconds, spent, largest = seconds + took, spent + cpu, max(largest, resident)
    return Walk(keys, seconds, spent, sum(map(cpu_seconds, servers)) - before, largest)


def run(contender: Contender, command: Sequence[str | Path], core: int | None) -> tuple[float, float, int]:
    """Return the seconds, the CPU seconds and the most resident bytes of one command."""
    with tempfile.TemporaryFile("w+") as output:
        began = time.monotonic()
        child = start(command, output, core)
        _pid, status, usage = os.wait4(child.pid, 0)
        seconds = time.monotonic() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        said = output.read()
    if child.returncode:
        raise RuntimeError(f"{contender.name} ended with status {child.returncode}: {said[-300:]}")
    took = contender.seconds(said) if contender.seconds else seconds
    return took, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * KIBIBYTE


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
