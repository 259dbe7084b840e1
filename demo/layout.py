"""Where the demo fleet lives: its directory, its members and their ports."""

import fcntl
import json
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from launcher.valkey import BUS_OFFSET, is_free

GAME = "game-cache"
SESSIONS = "session-store"
# Name, cache and primary of every server; the port is the base port plus the place in this list.
ROSTER = (
    ("game-1", GAME, ""),
    ("game-2", GAME, ""),
    ("game-3", GAME, ""),
    ("game-4", GAME, "game-1"),
    ("game-5", GAME, "game-2"),
    ("game-6", GAME, "game-3"),
    ("session-1", SESSIONS, ""),
    ("session-2", SESSIONS, "session-1"),
)
# A bus port from 32768 on is an ephemeral port on Linux, so that binding it would fail at random.
PORTS = range(17_000, 22_750, 10)


def default_directory() -> Path:
    """Return the demo's place among the data of this checkout, or of the bin/up that bin/manage speaks for."""
    return Path(os.environ.get("SHARDWATCH_DATA") or settings.BASE_DIR / "var") / "demo"


class DemoError(Exception):
    """The demo fleet cannot go on; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Member:
    """One server of the demo fleet. `primary` names whom it replicated when the fleet was made."""

    name: str
    cache: str
    primary: str
    port: int

    @property
    def bus_port(self) -> int | None:
        return self.port + BUS_OFFSET if self.cache == GAME else None


def members(base_port: int) -> list[Member]:
    return [Member(*row, base_port + index) for index, row in enumerate(ROSTER)]


@dataclass(frozen=True, slots=True)
class Home:
    """The directory of one demo fleet and the files in it."""

    path: Path

    def node(self, name: str) -> Path:
        return self.path / "nodes" / name

    @property
    def fleet_file(self) -> Path:
        return self.path / "fleet.json"

    @property
    def ready_file(self) -> Path:
        return self.path / "ready"

    def fleet(self) -> dict[str, Any]:
        return read_json(self.fleet_file)

    def members(self) -> list[Member]:
        """Return the servers as they were last started. Raise DemoError where none ever were."""
        if not (base := self.fleet().get("base_port")):
            raise DemoError(f"There is no demo fleet in {self.path}. Start it with: manage.py demo_fleet --dir DIR")
        return members(base)

    @contextmanager
    def claim(self, role: str) -> Iterator[None]:
        """Hold the lock of "fleet" or "traffic". Raise DemoError where another process has it."""
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / f"{role}.lock").open("a") as file:
            if not locked(file.fileno()):
                raise DemoError(f"The demo {role} of {self.path} runs already.")
            yield

    def is_running(self, role: str) -> bool:
        try:
            with (self.path / f"{role}.lock").open() as file:
                return not locked(file.fileno())
        except FileNotFoundError:
            return False


def locked(descriptor: int) -> bool:
    """Try to lock an open file and tell whether that worked."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a file, {} where the file is missing or was cut short."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Replace a file in one step, so that no reader sees half of it."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(json.dumps(content, indent=1), encoding="utf-8")
    draft.replace(path)


def taken_ports(fleet: list[Member]) -> list[int]:
    """Return the ports of these members that some process uses now."""
    wanted = [port for member in fleet for port in (member.port, member.bus_port) if port]
    return [port for port in wanted if not is_free(port)]


def free_base_port() -> int:
    """Return a base port whose whole block is free; a random one, so that checkouts do not meet."""
    for base in random.sample(PORTS, len(PORTS)):
        if not taken_ports(members(base)):
            return base
    raise DemoError(f"No block of free ports is left between {PORTS.start} and {PORTS.stop}.")
