"""Whether our walk tells the truth: every key asked for one by one with all its elements, and its total beside ours."""

import json
import tempfile
from typing import Any

import redis

from bench import contenders, priority
from bench.report import Report, Row
from collectors.keyscan.exact import SAMPLES
from launcher.valkey import Valkey

TOP = 100
LOGGED_FROM_USEC, LOG_LENGTH = 20, 10_000
LONGEST_USEC = 100
TRIES = 3


def rows(report: Report, engine: str, server: Valkey) -> None:
    """Add what our walk and the brute force differ in, and the longest command of the first pass."""
    truth = brute_force(server)
    top = sorted(truth.items(), key=lambda pair: (-pair[1], pair[0]))[:TOP]
    longest = []
    with priority.undisturbed([server.pid]):
        for _ in range(TRIES):
            watch(server)
            found = our_walk(server)
            longest.append(longest_first_pass(server))
    bytes_off = abs(found["bytes"] - sum(truth.values()))
    ours = [(entry["key"].encode(), entry["bytes"]) for entry in found["top"]]
    differing = sum(pair not in set(ours) for pair in top)
    title = f"{engine}, {len(truth):,} keys"
    report.add(Row(f"{title}: bytes off brute force", "bytes", bytes_off, bar=0, bar_on="ours"))
    report.add(Row(f"{title}: of the top {TOP}, keys that differ", "", differing, bar=0, bar_on="ours"))
    # Whatever else runs here only ever makes a command longer.
    measure = f"{title}: longest MEMORY USAGE of pass one"
    report.add(Row(measure, "us", min(longest), runs=TRIES, bar=LONGEST_USEC, bar_on="ours"))


def brute_force(server: Valkey) -> dict[bytes, int]:
    client: Any = redis.Redis(port=server.port)
    keys: list[bytes] = list(client.scan_iter(count=1000))
    pipe = client.pipeline(transaction=False)
    for key in keys:
        pipe.memory_usage(key, samples=0)
    return dict(zip(keys, pipe.execute(), strict=True))


def our_walk(server: Valkey) -> dict[str, Any]:
    command = contenders.ours("--brake", "fast", "--top", str(TOP)).command(server)
    with tempfile.TemporaryFile("w+") as output:
        child = contenders.start(command, output)
        if child.wait():
            raise RuntimeError(f"Our walk ended with status {child.returncode}.")
        output.seek(0)
        return dict(json.load(output))


def watch(server: Valkey) -> None:
    server.ask("CONFIG", "SET", "slowlog-log-slower-than", LOGGED_FROM_USEC)
    server.ask("CONFIG", "SET", "slowlog-max-len", LOG_LENGTH)
    server.ask("SLOWLOG", "RESET")


def longest_first_pass(server: Valkey) -> float:
    """Return the microseconds of the longest command with a capped sample; none logged took less than is logged."""
    client: Any = redis.Redis(port=server.port)
    entries = client.slowlog_get(LOG_LENGTH)
    first = [entry["duration"] for entry in entries if entry["command"].endswith(b"SAMPLES %d" % SAMPLES)]
    return max(first, default=LOGGED_FROM_USEC)
