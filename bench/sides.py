"""The two that collect from the same servers, each to be switched on and off: Shardwatch and its peer."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import psutil
from django.db.models import Sum

from bench import peers
from bench.application import Application
from bench.database import Database
from bench.peers import Prometheus
from collectors.models import NodeStatus
from fleet.models import Cache
from launcher import children, valkey

INTERVAL_SECONDS = 5
# What redis_exporter calls the numbers of our hot rows: the peer is spared all others.
KEPT = (
    "up|uptime_in_seconds|loading_dump_file|connected_clients|connected_slave.*|blocked_clients|tracking_clients"
    "|cluster_.*|client_recent_max_.*|config_maxclients|commands_processed_total|connections_received_total"
    "|rejected_connections_total|net_(in|out)put_bytes_total|keyspace_(hits|misses)_total|evicted_keys_total"
    "|expired_keys_total|total_error_replies|cpu_(sys|user)(_main_thread)?_seconds_total|db_keys(_expiring)?"
    "|latest_fork_seconds|master_.*|slave_.*|mem_clients_normal|mem_fragmentation_ratio"
    "|mem_not_counted_for_eviction_bytes|memory_(max|used|used_dataset|used_overhead|used_peak|used_rss)_bytes"
    "|rdb_changes_since_last_save|rdb_last_bgsave_status|replica_(partial_resync_.*|resyncs_full)"
)
# What it calls the counts by command and error, latency and the slow log.
KEPT_BY_NAME = "commands_.*|errors_total|latency_.*|slowlog_.*|last_slow_.*|last_key_groups_.*"


class Side(Protocol):
    """Somebody who collects while switched on."""

    def switch(self, on: bool) -> None: ...

    def processes(self) -> Mapping[str, list[psutil.Process]]:
        """Return everything whose CPU is spent on collecting, by part."""

    def polls(self) -> int:
        """Return how many polls of one node were made so far."""


@dataclass(frozen=True, slots=True)
class Ours:
    """Poller, worker, beat, broker and database; the caches named are polled while it is on."""

    application: Application
    database: Database
    caches: Sequence[Cache]

    def switch(self, on: bool) -> None:
        Cache.objects.filter(pk__in=[cache.pk for cache in self.caches]).update(is_paused=not on)

    def processes(self) -> Mapping[str, list[psutil.Process]]:
        parts = {name: [self.application.process(name)] for name in ("poller", "worker", "beat", "broker")}
        return {**parts, "postgres": [self.database.process]}

    def polls(self) -> int:
        return NodeStatus.objects.aggregate(total=Sum("polls"))["total"] or 0


@dataclass(frozen=True, slots=True)
class Peer:
    """redis_exporter and one Prometheus that scrapes it; stopped in their tracks while it is off."""

    exporter: psutil.Process
    server: Prometheus

    def switch(self, on: bool) -> None:
        for process in (self.exporter, self.server.process):
            process.resume() if on else process.suspend()

    def processes(self) -> Mapping[str, list[psutil.Process]]:
        return {"exporter": [self.exporter], "prometheus": [self.server.process]}

    def polls(self) -> int:
        return int(self.server.number('sum(count_over_time(up{job="redis"}[1h]))'))


@contextmanager
def peer_of(directory: Path, urls: Sequence[str], kept: str | None) -> Iterator[Peer]:
    """Start a peer that scrapes these servers; with `kept` Prometheus stores only the metrics of these names."""
    exporter = peers.program(*peers.EXPORTER_NAMES)
    assert exporter is not None
    place = f"127.0.0.1:{valkey.free_port()}"
    with ExitStack() as stack:
        child = children.spawn([exporter, "-redis.addr", "", "-web.listen-address", place])
        stack.callback(children.stop, child)
        directory.mkdir()
        server = stack.enter_context(peers.prometheus(directory, _config(place, urls, kept)))
        side = Peer(psutil.Process(child.pid), server)
        # A suspended process would not see the signal to end.
        stack.callback(side.switch, True)
        yield side


def _config(exporter: str, urls: Sequence[str], kept: str | None) -> dict[str, Any]:
    job: dict[str, Any] = {
        "job_name": "redis",
        "metrics_path": "/scrape",
        "scrape_interval": f"{INTERVAL_SECONDS}s",
        "scrape_timeout": f"{INTERVAL_SECONDS}s",
        "static_configs": [{"targets": list(urls)}],
        "relabel_configs": [
            {"source_labels": ["__address__"], "target_label": "__param_target"},
            {"source_labels": ["__param_target"], "target_label": "instance"},
            {"target_label": "__address__", "replacement": exporter},
        ],
    }
    if kept:
        keep = {"source_labels": ["__name__"], "regex": f"redis_({kept})", "action": "keep"}
        job["metric_relabel_configs"] = [keep]
    return {"scrape_configs": [job]}
