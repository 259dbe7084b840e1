"""INFO of servers that never ran: the same numbers at every run, shaped like those of a game's backend.

Counters grow by day and night with noise, gauges wander, limits and states stand still. Nothing here is
tuned to how either database stores numbers.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate

from collectors.metrics.hot import HOT, HOT_NAMES

Value = int | float | bool | None
DAY_SECONDS = 86_400
INTERVAL_SECONDS = 15
NOISE_LENGTH = 1 << 16
SEED = 20_260_101

# Never or rarely changed: the value on every node.
STILL: dict[str, Value] = {
    "maxmemory": 1_073_741_824,
    "rejected_connections": 0,
    "evicted_keys": 0,
    "maxclients": 10_000,
    "cluster_connections": 10,
    "cluster_current_epoch": 6,
    "blocked_clients": 0,
    "tracking_clients": 0,
    "pubsub_clients": 2,
    "latest_fork_usec": 0,
    "sync_full": 1,
    "sync_partial_ok": 0,
    "sync_partial_err": 1,
    "cluster_slots_ok": 16_384,
    "cluster_slots_assigned": 16_384,
    "cluster_slots_fail": 0,
    "cluster_known_nodes": 6,
    "cluster_state_ok": True,
    "loading": False,
    "rdb_last_bgsave_ok": True,
}
# Counters: growth a second at the day's mean. CPU is in microseconds.
GROWTH: dict[str, float] = {
    "total_commands_processed": 4_200,
    "total_connections_received": 3.2,
    "total_net_input_bytes": 610_000,
    "total_net_output_bytes": 2_900_000,
    "total_net_repl_input_bytes": 0,
    "total_net_repl_output_bytes": 96_000,
    "keyspace_hits": 3_300,
    "keyspace_misses": 140,
    "expired_keys": 11,
    "total_error_replies": 0.05,
    "used_cpu_sys": 41_000,
    "used_cpu_user": 63_000,
    "used_cpu_sys_main_thread": 38_000,
    "used_cpu_user_main_thread": 60_000,
    "master_repl_offset": 96_000,
    "rdb_changes_since_last_save": 210,
}
# Gauges: level, share of it that the day moves, share of it that is noise from poll to poll.
LEVELS: dict[str, tuple[float, float, float]] = {
    "used_memory": (640e6, 0.05, 0.0006),
    "used_memory_dataset": (590e6, 0.05, 0.0006),
    "used_memory_overhead": (50e6, 0.01, 0.0004),
    "mem_clients_normal": (1.9e6, 0.1, 0.02),
    "mem_not_counted_for_evict": (14_000, 0.0, 0.15),
    "keys": (1.9e6, 0.04, 0.0002),
    "expires": (1.2e6, 0.05, 0.0003),
    "client_recent_max_output_buffer": (20_504, 0.0, 0.0),
    "client_recent_max_input_buffer": (20_480, 0.0, 0.0),
    "connected_clients": (310, 0.2, 0.02),
    "instantaneous_ops_per_sec": (4_200, 0.4, 0.07),
}
ON_REPLICAS_ONLY = {"replication_lag_bytes", "replication_lag_seconds", "master_last_io_seconds_ago", "master_link_up"}
PAGE_BYTES = 4_096


@cache
def _noise() -> list[float]:
    source = random.Random(SEED)
    return [source.gauss(0, 1) for _ in range(NOISE_LENGTH * 2)]


@dataclass(slots=True)
class SimulatedNode:
    """One server's numbers over time. Ask for consecutive pieces: counters go on where the last one ended."""

    number: int
    is_primary: bool = True
    counters: dict[str, int] = field(default_factory=dict)
    peak: int = 0
    rss: int = 700_000_000
    chance: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.chance = random.Random(SEED + self.number)
        self.counters = {name: int(growth * DAY_SECONDS * 9) for name, growth in GROWTH.items()}

    @property
    def size(self) -> float:
        """How much bigger than the first node this one is, so that no two draw the same line."""
        return 1 + (self.number % 7) * 0.04

    def piece(self, start: int, ticks: int, interval: int = INTERVAL_SECONDS) -> list[Sequence[Value]]:
        """Return one column a hot metric, in the order of HOT_NAMES, of `ticks` polls from `start` (epoch seconds)."""
        stamps = range(start, start + ticks * interval, interval)
        day = [math.sin(2 * math.pi * stamp / DAY_SECONDS) for stamp in stamps]
        columns: dict[str, Sequence[Value]] = {name: [value] * ticks for name, value in STILL.items()}
        columns |= {name: self._counter(name, growth * interval, day) for name, growth in GROWTH.items()}
        columns |= {name: self._gauge(*shape, day) for name, shape in LEVELS.items()}
        columns |= self._memory(columns["used_memory"])
        columns |= self._replication(ticks)
        columns["uptime_in_seconds"] = [DAY_SECONDS * 9 + stamp % (DAY_SECONDS * 1000) for stamp in stamps]
        columns["read_after_ms"] = [int(abs(n) * 6) + 3 for n in self._some_noise(ticks)]
        columns["round_trip_seconds"] = [round(0.0007 + abs(n) * 0.0003, 6) for n in self._some_noise(ticks)]
        return [columns[name] for name in HOT_NAMES]

    def _some_noise(self, count: int) -> list[float]:
        offset = self.chance.randrange(NOISE_LENGTH)
        return _noise()[offset : offset + count]

    def _counter(self, name: str, step: float, day: Sequence[float]) -> Sequence[Value]:
        step *= self.size
        noise = self._some_noise(len(day))
        grown = (max(0, round(step * (1 + 0.4 * d + 0.12 * n))) for d, n in zip(day, noise, strict=True))
        values = list(accumulate(grown, initial=self.counters[name]))
        self.counters[name] = values[-1]
        return values[1:]

    def _gauge(self, level: float, swing: float, jitter: float, day: Sequence[float]) -> Sequence[Value]:
        level *= self.size
        noise = self._some_noise(len(day))
        return [round(level * (1 + swing * d + jitter * n)) for d, n in zip(day, noise, strict=True)]

    def _memory(self, used: Sequence[Value]) -> dict[str, Sequence[Value]]:
        sizes = [int(value or 0) for value in used]
        peaks = list(accumulate(sizes, max, initial=self.peak))[1:]
        self.peak = peaks[-1]
        resident = []
        for noise in self._some_noise(len(sizes)):
            # Resident memory moves by whole pages, and at most polls not at all.
            self.rss += int(noise / 1.6) * PAGE_BYTES
            resident.append(self.rss)
        ratios = [round(rss / size, 2) for rss, size in zip(resident, sizes, strict=True)]
        return {"used_memory_peak": peaks, "used_memory_rss": resident, "mem_fragmentation_ratio": ratios}

    def _replication(self, ticks: int) -> dict[str, Sequence[Value]]:
        if self.is_primary:
            nothing: dict[str, Sequence[Value]] = {name: [None] * ticks for name in ON_REPLICAS_ONLY}
            return nothing | {"is_primary": [True] * ticks, "connected_slaves": [1] * ticks}
        lag = [int(abs(n) * 9_000) for n in self._some_noise(ticks)]
        return {
            "is_primary": [False] * ticks,
            "connected_slaves": [0] * ticks,
            "master_link_up": [True] * ticks,
            "replication_lag_bytes": lag,
            "replication_lag_seconds": [float(bytes_behind > 20_000) for bytes_behind in lag],
            "master_last_io_seconds_ago": [int(bytes_behind > 20_000) for bytes_behind in lag],
        }


def open_metrics(node: SimulatedNode, columns: Sequence[Sequence[Value]], stamps: Sequence[int]) -> list[str]:
    """Return the lines that a scraped exporter would have left, in base units, ready for promtool."""
    labels = f'{{cache="game",instance="{instance(node.number)}",job="redis"}}'
    return [
        line
        for metric, values in zip(HOT, columns, strict=True)
        for line in _lines(f"{metric.name}{labels}", values, stamps, metric.scale)
    ]


def _lines(series: str, values: Sequence[Value], stamps: Sequence[int], scale: float) -> list[str]:
    present = ((value, stamp) for value, stamp in zip(values, stamps, strict=True) if value is not None)
    if scale != 1:
        return [f"{series} {round(value * scale, 6)!r} {stamp}\n" for value, stamp in present]
    return [f"{series} {value + 0} {stamp}\n" for value, stamp in present]


def instance(number: int) -> str:
    return f"10.0.0.{number}:6379"


def samples_in(columns: Sequence[Sequence[Value]]) -> int:
    return sum(len(values) - values.count(None) for values in columns)
