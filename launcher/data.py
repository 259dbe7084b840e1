"""Everything that one running Shardwatch keeps, in one folder."""

import base64
import fcntl
import hashlib
import json
import os
import secrets
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from launcher.binaries import open_to_everyone
from launcher.postgres import Postgres
from launcher.trouble import LauncherError

# A Unix socket's path has 107 bytes, of which Postgres adds 21 to the folder's.
SOCKETS_PATH_LIMIT = 80


@dataclass(frozen=True)
class Data:
    """The folder that --data names; `var` in the checkout unless told otherwise."""

    root: Path

    @property
    def identity(self) -> str:
        return hashlib.sha256(str(self.root).encode()).hexdigest()[:10]

    @property
    def run_file(self) -> Path:
        return self.root / "run.json"

    @property
    def log(self) -> Path:
        return self.root / "log"

    @property
    def demo(self) -> Path:
        return self.root / "demo"

    @property
    def broker(self) -> Path:
        return self.root / "broker"

    @property
    def sockets(self) -> Path:
        """A folder whose path is short enough for sockets, and that the database's account can pass through."""
        own = self.root / "run"
        is_short = len(str(own).encode()) <= SOCKETS_PATH_LIMIT
        if is_short and (os.geteuid() != 0 or open_to_everyone(self.root)):
            return own
        return Path("/tmp") / f"shardwatch-{os.geteuid()}-{self.identity}"  # noqa: S108 - see make()

    @property
    def broker_socket(self) -> Path:
        return self.sockets / "broker.sock"

    @property
    def postgres(self) -> Postgres:
        return Postgres(self.root / "postgres", self.sockets / "pg")

    def make(self) -> None:
        """Make the folders that stay. Raise LauncherError where that cannot be."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            for folder in (self.log, self.broker):
                folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise LauncherError(
                f"{error.filename} cannot be made: {error.strerror}.", "Name another folder with --data DIR."
            ) from error

    def _make_sockets(self) -> None:
        self.sockets.mkdir(mode=0o711, exist_ok=True)
        found = self.sockets.lstat()
        if found.st_uid != os.geteuid() or not stat.S_ISDIR(found.st_mode):
            raise LauncherError(f"{self.sockets} belongs to somebody else.", "Remove it and run this again.")
        self.sockets.chmod(0o711)

    @contextmanager
    def claim(self) -> Iterator[None]:
        """Hold the folder. The kernel ends the claim with the process, so that none is ever stale."""
        with (self.root / "lock").open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise LauncherError(*_running(self)) from None
            self.run_file.unlink(missing_ok=True)
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
            self._make_sockets()
            try:
                yield
            finally:
                self.run_file.unlink(missing_ok=True)
                # It may lie in /tmp, where nothing of ours should stay.
                shutil.rmtree(self.sockets, ignore_errors=True)

    def owner(self) -> int | None:
        """Return the process id of the supervisor that holds the folder, None where nobody does."""
        try:
            with (self.root / "lock").open() as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return None
        except BlockingIOError:
            return int((self.root / "lock").read_text() or 0) or None
        return None

    def secrets(self) -> dict[str, str]:
        """Return the keys of this installation, made at the first call."""
        path = self.root / "secrets.json"
        if not path.exists():
            made = {
                "SECRET_KEY": secrets.token_urlsafe(48),
                "SHARDWATCH_ENCRYPTION_KEYS": base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(),
            }
            write_private(path, made)
        found: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
        return found

    def run(self) -> dict[str, Any]:
        """Return what runs now, {} where nothing does."""
        try:
            found: dict[str, Any] = json.loads(self.run_file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found


def _running(data: Data) -> tuple[str, str]:
    place = data.run().get("url", "it is still starting")
    return (
        f"Shardwatch already runs with the data in {data.root} ({place}, process {data.owner()}).",
        f"Stop it with: bin/up --data {data.root} --stop. Or name another folder with --data DIR.",
    )


def write_private(path: Path, content: Mapping[str, object]) -> None:
    """Replace a file in one step, readable by this account alone."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1)
    draft.replace(path)
