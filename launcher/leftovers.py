"""Processes that a killed supervisor could not stop."""

import os
import signal
from contextlib import suppress
from pathlib import Path

from launcher.data import Data
from launcher.environment import MARK
from launcher.waiting import until

TERM_SECONDS = 10.0
KILL_SECONDS = 5.0


def end(data: Data) -> int:
    """End every process that still works for this folder, which nobody holds. Return how many there were."""
    found = find(data)
    for number, seconds in ((signal.SIGTERM, TERM_SECONDS), (signal.SIGKILL, KILL_SECONDS)):
        for pid in find(data):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        if until(lambda: not find(data), seconds):
            break
    has_database = bool(data.postgres.running())
    data.postgres.end_running()
    return len(found) + has_database


def find(data: Data) -> list[int]:
    """Return the ids of living processes that carry this folder's mark."""
    mark = f"{MARK}={data.root}\0".encode()
    return [
        int(path.name) for path in Path("/proc").glob("[0-9]*") if path.name != str(os.getpid()) and _has(path, mark)
    ]


def _has(process: Path, mark: bytes) -> bool:
    try:
        return mark in (process / "environ").read_bytes()
    except OSError:
        return False
