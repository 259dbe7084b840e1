"""How far a scan is, as somebody who watches it is told."""

from dataclasses import dataclass
from enum import StrEnum, auto

from collectors.keyscan.guards import Hold


class State(StrEnum):
    """What a node's scan is at; held means that a guard stopped it for now."""

    WAITING = auto()
    WALKING = auto()
    PAUSED = auto()
    HELD = auto()
    RECONNECTING = auto()
    DONE = auto()
    FAILED = auto()
    STOPPED = auto()


@dataclass(frozen=True, slots=True)
class NodeProgress:
    """One node of a running scan; rates are those of the last second or so, None where not known.

    `busy_ratio` is the share of the time that the server worked for the scan, `cpu_ratio` that of the
    server for everybody; `round_trip_seconds` is a recent p99, `baseline_seconds` the one before the scan.
    """

    label: str
    state: State
    db: int
    cursor: int
    keys: int
    total: int
    bytes: int
    keys_per_second: float
    commands_per_second: float
    busy_ratio: float
    cpu_ratio: float | None
    round_trip_seconds: float
    baseline_seconds: float
    hold: Hold | None
    ease: float
    brake: str
    reconnects: int
    restarts: int
    # Nobody would hold the scan up: its guard has no connection.
    is_blind: bool = False

    @property
    def ratio(self) -> float:
        """Return how far it is, 0 to 1; a keyspace that grows meanwhile stays below the end."""
        if self.state == State.DONE:
            return 1.0
        return min(self.keys / self.total, 0.9999) if self.total else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Return when it will be through at the present speed; None while it does not move."""
        left = max(self.total - self.keys, 0)
        return left / self.keys_per_second if self.keys_per_second else None
