"""What an application says once."""

import hashlib
import re
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

KEY = re.compile(r"[a-z0-9.-]+")


class Default(Enum):
    """What holds as long as nothing was ever known about a cache: OPEN where a miss is harmless, CLOSED otherwise."""

    OPEN = "open"
    CLOSED = "closed"


@dataclass(frozen=True)
class Options:
    """Where Shardwatch is, which caches the application uses, and where the last known values are kept.

    `directory` belongs to this application alone and outlives restarts. All processes with the same directory are one
    instance; `workers` says how many they are, where the application knows. `address` is what the caches see as this
    host's address; where requests leave from unless given.
    """

    url: str
    client_key: str = field(repr=False)
    caches: Mapping[str, Default]
    directory: Path
    instance: str = field(default_factory=lambda: f"{socket.gethostname()}.python")
    address: str = ""
    connect_seconds: float = 0.1
    total_seconds: float = 0.3
    clock: Callable[[], float] = time.time
    workers: int | None = None

    def __post_init__(self) -> None:
        if wrong := [key for key in self.caches if not KEY.fullmatch(key)]:
            raise ValueError(f"{wrong[0]!r}: the name of a switch has only a-z, 0-9, dot and dash.")

    @property
    def place(self) -> str:
        """Return a name for files that no other application, instance or set of caches has."""
        parts = [self.url, self.instance, *self.caches]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
