"""What stops a scan for a while by itself: latency, CPU, load, memory, replication, connections.

A hold is a cause with its figures; it is put into words when somebody reads it.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum, auto
from math import inf

from django.utils.translation import gettext_lazy as _

from collectors.keyscan.identity import UNKNOWN, Identity, identity_of

# A guard lets go when the figure has come down to this share of its limit.
RELEASE = 0.8
PINGS_KEPT = 100
# The second highest of a hundred round trips: one that is late by chance says nothing.
PERCENTILE = 0.99
# A machine whose idle round trips vary wildly must not hold its own scan up.
NOISE_FACTOR = 3.0


class HoldCause(StrEnum):
    LATENCY = auto()
    CPU = auto()
    SHARE = auto()
    MEMORY = auto()
    LAG = auto()
    LINK_DOWN = auto()
    CLIENTS = auto()
    LOADING = auto()


SENTENCES = {
    HoldCause.LATENCY: _("p99 of the round trip is %(value).1f ms, guard %(limit).1f ms"),
    HoldCause.CPU: _("the server's main thread is %(value).0f%% busy, guard %(limit).0f%%"),
    HoldCause.SHARE: _("the scan makes %(value).0f%% of the commands of a busy server, guard %(limit).0f%%"),
    HoldCause.MEMORY: _("memory is %(value).0f%% full and nothing is evicted, guard %(limit).0f%%"),
    HoldCause.LAG: _("a replica is %(value).1f MB behind, guard %(limit).1f MB"),
    HoldCause.LINK_DOWN: _("the replica has lost its primary"),
    HoldCause.CLIENTS: _("%(value).0f%% of the connections are used, guard %(limit).0f%%"),
    HoldCause.LOADING: _("the server is loading its data"),
}
# Figures are kept in base units; people read milliseconds, percents and megabytes.
SCALES = {HoldCause.LATENCY: 1e3, HoldCause.LAG: 1e-6, HoldCause.LINK_DOWN: 1.0, HoldCause.LOADING: 1.0}
PERCENT = 100.0


@dataclass(frozen=True, slots=True)
class Hold:
    """Why a scan waits: the figure that passed its limit, in base units."""

    cause: HoldCause
    value: float = 0.0
    limit: float = 0.0

    def words(self) -> str:
        scale = SCALES.get(self.cause, PERCENT)
        return str(SENTENCES[self.cause]) % {"value": self.value * scale, "limit": self.limit * scale}


@dataclass(frozen=True, slots=True)
class Limits:
    """Where guards step in. `latency_seconds` is what the scan may add to the round trip of an idle node."""

    latency_seconds: float = 0.002
    cpu_ratio: float = 0.85
    command_share: float = 0.9
    # Up to this CPU ratio nobody is in the scan's way, whatever its share of the commands.
    busy_from_ratio: float = 0.5
    memory_ratio: float = 0.95
    lag_bytes: float = 32e6
    clients_ratio: float = 0.9


# At full speed the scan itself is what the server's time goes to: only the fixed limits hold.
FAST_LIMITS = Limits(latency_seconds=0.05, cpu_ratio=inf, command_share=inf)
LIMITS: Mapping[str, Limits] = {
    "gentle": Limits(),
    "interval": Limits(),
    "brisk": Limits(latency_seconds=0.005, cpu_ratio=0.95, command_share=inf),
    "fast": FAST_LIMITS,
}


@dataclass(frozen=True, slots=True)
class Vitals:
    """What one INFO says that guards need; None is not reported."""

    at: float
    identity: Identity = UNKNOWN
    cpu_seconds: float | None = None
    commands: int | None = None
    memory_ratio: float | None = None
    evicts: bool = True
    clients_ratio: float | None = None
    lag_bytes: float | None = None
    is_link_up: bool = True
    is_loading: bool = False


def read_info(text: bytes) -> dict[str, str]:
    pairs = (line.partition(":") for line in text.decode("utf-8", "replace").splitlines() if ":" in line)
    return {name: value.strip() for name, _colon, value in pairs}


def vitals_of(info: Mapping[str, str], at: float) -> Vitals:
    used, limit = number(info, "used_memory"), number(info, "maxmemory")
    clients, most = number(info, "connected_clients"), number(info, "maxclients")
    commands = number(info, "total_commands_processed")
    return Vitals(
        at=at,
        identity=identity_of(info),
        cpu_seconds=_cpu(info),
        commands=None if commands is None else int(commands),
        memory_ratio=used / limit if used is not None and limit else None,
        evicts=info.get("maxmemory_policy", "") != "noeviction",
        clients_ratio=clients / most if clients is not None and most else None,
        lag_bytes=max(_lags(info), default=None),
        is_link_up=info.get("master_link_status", "up") == "up",
        is_loading=info.get("loading", "0") == "1",
    )


def number(info: Mapping[str, str], name: str) -> float | None:
    try:
        return float(info[name])
    except (KeyError, ValueError):
        return None


def _cpu(info: Mapping[str, str]) -> float | None:
    """Return the CPU seconds of the main thread, of the process where the server is too old to tell."""
    for end in ("_main_thread", ""):
        parts = [number(info, f"used_cpu_{kind}{end}") for kind in ("user", "sys")]
        if None not in parts:
            return sum(filter(None, parts))
    return None


def _lags(info: Mapping[str, str]) -> Iterator[float]:
    """Yield how many bytes each replica in good order is behind its primary."""
    written = number(info, "master_repl_offset")
    for line in replicas_in(info):
        offset = number(line, "offset")
        if written is not None and offset is not None and line.get("state") == "online":
            yield max(written - offset, 0.0)


def replicas_in(info: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yield what a primary says of each of its replicas: ip, port, state, offset."""
    for index in range(int(number(info, "connected_slaves") or 0)):
        yield dict(part.partition("=")[::2] for part in info.get(f"slave{index}", "").split(","))


@dataclass(slots=True)
class Watch:
    """The figures of one node over the last seconds, and the hold they call for."""

    baseline: float = 0.0
    round_trips: deque[float] = field(default_factory=lambda: deque(maxlen=PINGS_KEPT))
    cpu_ratio: float | None = None
    commands_per_second: float | None = None
    own_share: float | None = None
    hold: Hold | None = None
    vitals: Vitals | None = None
    # How far a replica that is read is behind, by its last poll: its own INFO does not tell.
    told_lag_bytes: float | None = None
    _own_commands: int = 0

    @property
    def round_trip(self) -> float:
        return percentile(self.round_trips)

    def take(self, vitals: Vitals, own_commands: int) -> None:
        """Compare an INFO with the one before; `own_commands` is what the scan sent so far."""
        before, own_before = self.vitals, self._own_commands
        self.vitals, self._own_commands = vitals, own_commands
        if before is None or vitals.at <= before.at or before.identity.is_another(vitals.identity):
            return
        seconds = vitals.at - before.at
        if vitals.cpu_seconds is not None and before.cpu_seconds is not None:
            self.cpu_ratio = max(vitals.cpu_seconds - before.cpu_seconds, 0.0) / seconds
        if vitals.commands is not None and before.commands is not None:
            made = max(vitals.commands - before.commands, 1)
            self.commands_per_second = made / seconds
            self.own_share = min((own_commands - own_before) / made, 1.0)

    def judge(self, limits: Limits) -> Hold | None:
        """Return what holds the scan up now; a hold lasts until its figure is well below the limit."""
        found = {hold.cause: hold for hold in self._over(limits, RELEASE)}
        self.hold = found.get(self.hold.cause) if self.hold else None
        self.hold = self.hold or next(self._over(limits, 1.0), None)
        return self.hold

    def latency_limit(self, limits: Limits) -> float:
        return self.baseline + max(limits.latency_seconds, (NOISE_FACTOR - 1) * self.baseline)

    def _over(self, limits: Limits, share: float) -> Iterator[Hold]:
        """Yield what is over this share of its limit."""
        vitals = self.vitals or Vitals(0.0)
        if vitals.is_loading:
            yield Hold(HoldCause.LOADING)
        if not vitals.is_link_up:
            yield Hold(HoldCause.LINK_DOWN)
        is_busy = (self.cpu_ratio or 0.0) >= limits.busy_from_ratio
        figures: tuple[tuple[HoldCause, float | None, float], ...] = (
            (HoldCause.LATENCY, self.round_trip, self.latency_limit(limits)),
            (HoldCause.CPU, self.cpu_ratio, limits.cpu_ratio),
            (HoldCause.SHARE, self.own_share if is_busy else None, limits.command_share),
            (HoldCause.MEMORY, None if vitals.evicts else vitals.memory_ratio, limits.memory_ratio),
            (HoldCause.LAG, self._lag(vitals), limits.lag_bytes),
            (HoldCause.CLIENTS, vitals.clients_ratio, limits.clients_ratio),
        )
        for cause, value, limit in figures:
            if value is not None and value > limit * share:
                yield Hold(cause, value, limit)

    def _lag(self, vitals: Vitals) -> float | None:
        """Return how far the replicas are behind, the node itself among them."""
        return max((lag for lag in (vitals.lag_bytes, self.told_lag_bytes) if lag is not None), default=None)


def percentile(seconds: "deque[float]", share: float = PERCENTILE) -> float:
    """Return the value that this share of the values does not exceed, 0 without any."""
    ordered = sorted(seconds)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1) - (len(ordered) > 2)] if ordered else 0.0
