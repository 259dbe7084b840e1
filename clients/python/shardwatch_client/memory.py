"""What the processes of one instance share, and what outlives them: three small files."""

import contextlib
import fcntl
import os
from pathlib import Path

from shardwatch_client import kept_file, known
from shardwatch_client.known import Known

# How long a process may take for its question before another one asks.
TURN_SECONDS = 1.0


class Memory:
    """The files of one instance. Where they cannot be written, each process goes on by itself."""

    def __init__(self, directory: Path, place: str) -> None:
        with contextlib.suppress(OSError):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._copy, self._pulse, self._turn = (directory / f"{name}.{place}" for name in ("switches", "pulse", "turn"))

    def load(self) -> Known | None:
        copy = kept_file.load(self._copy)
        pulse = kept_file.load(self._pulse) or {}
        # Without values only a failure is a reason to wait with the next question.
        if copy is None and not pulse.get("failures"):
            return None
        return known.from_kept(pulse | (copy or {}))

    def save(self, record: Known, *, changed: bool) -> Known:
        """Return the record, without its ETag where it could not be kept."""
        if changed and not kept_file.save(self._copy, record.copy(), durable=True):
            record = record.untagged("the file of last known values cannot be written")
        kept_file.save(self._pulse, record.pulse(), durable=False)
        return record

    def take_turn(self, now: float) -> bool:
        """Return True to one process only, until its turn is over."""
        try:
            file = os.open(self._turn, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            return True
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if 0 < (_read_time(file) - now) <= TURN_SECONDS:
                return False
            os.pwrite(file, f"{now + TURN_SECONDS:020.6f}".encode(), 0)
        except OSError:
            return False
        finally:
            os.close(file)
        return True


def _read_time(file: int) -> float:
    with contextlib.suppress(ValueError):
        return float(os.pread(file, 20, 0))
    return 0.0
