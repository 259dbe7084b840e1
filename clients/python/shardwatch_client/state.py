"""What Shardwatch said about one switch."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

MAX_TTL_SECONDS = 300.0


@dataclass(frozen=True)
class Endpoint:
    """Where a switch points to; never with a password."""

    host: str
    port: int
    tls: bool = False
    cluster: bool = False


@dataclass(frozen=True)
class State:
    """One switch at one revision, and when Shardwatch last said that it is so."""

    key: str
    can_use: bool
    percent: int
    revision: int
    epoch: int
    endpoint: Endpoint | None
    ttl_seconds: float
    confirmed_at: float

    def replaces(self, known: "State | None") -> bool:
        """Return whether to take it. Revisions only go up, unless the epoch is newer: a backup was restored."""
        if known is None:
            return True
        if self.epoch != known.epoch:
            return self.epoch > known.epoch
        if self.revision != known.revision:
            return self.revision > known.revision
        # A no stays a no within its revision; only a canary may let instances in without a new one.
        return known.can_use or not self.can_use or 0 < self.percent < 100

    def as_row(self) -> dict[str, Any]:
        return asdict(self)


def read(row: object, confirmed_at: float) -> State | None:
    """Return None for anything that Shardwatch would not say: a wrong type must never pass for a yes."""
    if not isinstance(row, Mapping) or not isinstance(row.get("key"), str) or not isinstance(row.get("can_use"), bool):
        return None
    percent, revision, epoch = (_whole(row.get(name)) for name in ("percent", "revision", "epoch"))
    ttl = row.get("ttl_seconds")
    if percent is None or percent > 100 or revision is None or epoch is None or not isinstance(ttl, int | float):
        return None
    seconds = min(MAX_TTL_SECONDS, max(1.0, float(ttl)))
    endpoint = _endpoint(row.get("endpoint"))
    return State(row["key"], row["can_use"], percent, revision, epoch, endpoint, seconds, confirmed_at)


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _endpoint(value: object) -> Endpoint | None:
    if not isinstance(value, Mapping) or not isinstance(value.get("host"), str):
        return None
    port = _whole(value.get("port"))
    if port is None:
        return None
    return Endpoint(value["host"], port, value.get("tls") is True, value.get("cluster") is True)
