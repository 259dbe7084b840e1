"""Prometheus judging the same thresholds on the same numbers: one rule for each instance, or one for all nodes."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psutil

from alerts.prometheus import exported
from alerts.spec import Spec
from bench import peers
from bench.judged import THRESHOLDS, Judged, spec
from bench.peers import Prometheus
from bench.processes import cpu_seconds
from bench.workload import INTERVAL_SECONDS
from collectors.metrics.exporter_names import NAMES

EVALUATED_EVERY_SECONDS = 5
RULES_A_GROUP = 100
EXPORTED = {column: name for column, name, _kind in NAMES}


@contextmanager
def served(fleet: Judged) -> Iterator[str]:
    """Serve the newest numbers of all nodes as one exporter would; yield its address."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = page(fleet).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


def page(fleet: Judged) -> str:
    lines = []
    for metric, _read, _bound in THRESHOLDS:
        for node in fleet.nodes:
            value = fleet.value(node, metric)
            if value is not None:
                more = ',db="all"' if metric == "keys" else ""
                lines.append(f'{EXPORTED[metric]}{{instance="{node.address}"{more}}} {float(value)!r}')
    return "\n".join([*lines, ""])


def rules_for_each(fleet: Judged) -> list[dict[str, Any]]:
    """Return a rule for each threshold and node."""
    made: list[Spec] = []
    for number, node in enumerate(fleet.nodes):
        made += [spec(metric, read, bound + number, where={"node": node.address}) for metric, read, bound in THRESHOLDS]
    return [rule for one in made for rule in exported(one).rules]


def rules_for_all() -> list[dict[str, Any]]:
    return [rule for threshold in THRESHOLDS for rule in exported(spec(*threshold)).rules]


@dataclass(slots=True)
class Peer:
    """A server with its rules; `over` is how many instances one of its rules is for."""

    server: Prometheus
    over: int

    @property
    def process(self) -> psutil.Process:
        return self.server.process

    def evaluations(self) -> float:
        """Return how many instances were judged so far. Raise RuntimeError where a rule failed."""
        if self._counted("prometheus_rule_evaluation_failures_total"):
            raise RuntimeError("Prometheus could not evaluate a rule.")
        return self._counted("prometheus_rule_evaluations_total") * self.over

    def _counted(self, name: str) -> float:
        lines = self.server.ask("/metrics").decode().splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"{name}{{"))


@contextmanager
def peer(directory: Path, target: str, rules: Sequence[dict[str, Any]], over: int = 1) -> Iterator[Peer]:
    directory.mkdir()
    groups = [
        {"name": f"g{start}", "interval": f"{EVALUATED_EVERY_SECONDS}s", "rules": rules[start : start + RULES_A_GROUP]}
        for start in range(0, len(rules), RULES_A_GROUP)
    ]
    file = directory / "rules.json"
    file.write_text(json.dumps({"groups": groups}))
    job = {
        "job_name": "fleet",
        "honor_labels": True,
        "scrape_interval": f"{INTERVAL_SECONDS}s",
        "static_configs": [{"targets": [target]}],
    }
    config = {"scrape_configs": [job], "rule_files": [str(file)] if rules else []}
    with peers.prometheus(directory, config) as server:
        yield Peer(server, over)


@dataclass(slots=True)
class Spent:
    """What a peer spends on its rules in a window, net of one that only scrapes."""

    peer: Peer
    idle: Peer
    begun: tuple[float, float] = field(init=False)

    def __post_init__(self) -> None:
        self.begun = self._now()

    def _now(self) -> tuple[float, float]:
        return cpu_seconds(self.peer.process) - cpu_seconds(self.idle.process), self.peer.evaluations()

    def usec_an_instance(self) -> float:
        """Return CPU a judged instance since the window began. Raise RuntimeError where none was judged."""
        seconds, evaluations = (now - then for now, then in zip(self._now(), self.begun, strict=True))
        if not evaluations:
            raise RuntimeError("Prometheus judged nothing in a window.")
        return seconds * 1e6 / evaluations
