"""A Postgres server of our own: no password, no port, reached through a Unix socket by this account alone."""

import errno
import os
import pwd
import re
import shutil
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from launcher import binaries, children
from launcher.children import Account
from launcher.trouble import LauncherError
from launcher.waiting import until

ROLE = "app"
DATABASE = "shardwatch"
# The account that a server started by root runs as: Postgres refuses root.
UNPRIVILEGED = "nobody"
MAP = "shardwatch"
START_SECONDS = 60.0
KILL_SECONDS = 5.0
SETTINGS = {"shared_buffers": "64MB", "max_connections": "60"}
THROW_AWAY_SETTINGS = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_connections": "200"}
CAUSE = re.compile(r"(?:PANIC|FATAL|ERROR|error): +(.+)")
NO_ROOM = os.strerror(errno.ENOSPC)
LAST_VERSION_WITHOUT_BUILTIN_LOCALES = 16
# A server started by root cannot pass through root's folders, but may stay in the one it was put into.
HERE = "/proc/self/cwd"


@dataclass(frozen=True)
class Postgres:
    """One server: its files and the folder of its socket."""

    data: Path
    sockets: Path

    @property
    def url(self) -> str:
        """The address for DATABASE_URL."""
        return self.url_of(DATABASE)

    def url_of(self, database: str) -> str:
        return f"postgres://{ROLE}@/{database}?host={quote(str(self.sockets), safe='')}"

    def prepare(self) -> None:
        """Make the files where there are none yet, and what a killed server left behind fit to start again."""
        programs = _programs()
        if not (self.data / "PG_VERSION").exists():
            _initialise(programs, self.data)
        _refuse_other_version(programs, self.data)
        _allow_this_account(self.data)
        _own(self.sockets)
        self.end_running()

    def command(self, **settings: str) -> list[str]:
        chosen = {**SETTINGS, **settings}
        options = [part for name, value in chosen.items() for part in ("-c", f"{name}={value}")]
        return [str(_programs() / "postgres"), "-D", HERE, "-k", str(self.sockets), "-h", "", *options]

    def is_ready(self) -> bool:
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
        except OSError:
            return False
        return len(lines) > 7 and lines[7].strip() == "ready"

    def running(self) -> list[int]:
        """Return the ids of all processes that work on these files; a lock file alone proves nothing."""
        home = self.data.resolve()
        return [int(process.name) for process in Path("/proc").glob("[0-9]*") if _works_in(process, home)]

    def end_running(self) -> None:
        """End a server on these files that somebody else left running, and what a killed one left behind."""
        for number, seconds in ((signal.SIGINT, START_SECONDS), (signal.SIGKILL, KILL_SECONDS)):
            for pid in self.running():
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
            if until(lambda: not self.running(), seconds):
                break
        # A zombie keeps its id, so that Postgres would take these files for those of a living server.
        for lock in (self.data / "postmaster.pid", *self.sockets.glob(".s.PGSQL.*")):
            lock.unlink(missing_ok=True)


def _works_in(process: Path, home: Path) -> bool:
    try:
        # A zombie has no program and no folder any more.
        return (process / "cwd").readlink() == home and (process / "exe").readlink().name.startswith("postgres")
    except OSError:
        return False


def _programs() -> Path:
    directory = binaries.postgres_directory()
    return binaries.reachable_postgres(directory) if os.geteuid() == 0 else directory


def account() -> Account | None:
    """Return the account that the server must run as, None where it is our own."""
    if os.geteuid() != 0:
        return None
    entry = pwd.getpwnam(UNPRIVILEGED)
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def _own(path: Path) -> None:
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if other := account():
        os.chown(path, other.uid, other.gid)
    path.chmod(0o700)


def _initialise(programs: Path, data: Path) -> None:
    partial = data.with_name(f"{data.name}.new")
    shutil.rmtree(partial, ignore_errors=True)
    _own(partial)
    encoding = ["-E", "UTF8", "--locale=C.UTF-8"]
    if binaries.postgres_version(programs) > LAST_VERSION_WITHOUT_BUILTIN_LOCALES:
        encoding.append("--locale-provider=builtin")
    _run([programs / "initdb", "-D", HERE, "-U", ROLE, "-A", "peer", "--no-sync", *encoding], partial)
    _run([programs / "postgres", "--single", "-D", HERE, "postgres"], partial, f"CREATE DATABASE {DATABASE};\n")
    shutil.rmtree(data, ignore_errors=True)
    partial.rename(data)


def _run(command: list[str | Path], cwd: Path, said: str = "") -> None:
    other = account()
    try:
        subprocess.run(
            command,
            cwd=cwd,
            input=said,
            text=True,
            capture_output=True,
            check=True,
            preexec_fn=lambda: children.drop_to(other),
        )
    except subprocess.CalledProcessError as error:
        cause = _cause(error.stderr)
        advice = f"Free some room below {cwd.parent}, then run this again." if NO_ROOM in cause else ""
        raise LauncherError(f"{Path(command[0]).name} failed in {cwd}: {cause}", advice) from error


def _cause(said: str) -> str:
    """Return the line that names the cause; what comes after it is about cleaning up."""
    lines = said.strip().splitlines() or ["it said nothing"]
    return next((found[1] for line in lines if (found := CAUSE.search(line))), lines[-1])


def _refuse_other_version(programs: Path, data: Path) -> None:
    ours, theirs = binaries.postgres_version(programs), int((data / "PG_VERSION").read_text())
    if ours != theirs:
        raise LauncherError(
            f"{data} was written by Postgres {theirs}, and the one found here is {ours}.",
            f"Name the folder of Postgres {theirs}'s programs in SHARDWATCH_POSTGRES_BIN, dump the database with "
            "pg_dump, move that folder away and restore the dump.",
        )


def _allow_this_account(data: Path) -> None:
    """Let in only the account that runs Shardwatch, known to the kernel and thus without a password."""
    files = {
        "pg_hba.conf": f"local all {ROLE} peer map={MAP}\n",
        "pg_ident.conf": f"{MAP} {pwd.getpwuid(os.geteuid()).pw_name} {ROLE}\n",
    }
    for name, text in files.items():
        path = data / name
        path.write_text(text)
        if other := account():
            os.chown(path, other.uid, other.gid)


def start_postgres(data: Path, sockets: Path, **settings: str) -> tuple[Postgres, subprocess.Popen[bytes]]:
    """Start a server and wait until it takes connections. End it with `stop_postgres`."""
    server = Postgres(data, sockets)
    server.prepare()
    log = os.open(data.with_name("postgres.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        child = children.spawn(
            server.command(**settings), log=log, cwd=data, account=account(), death_signal=signal.SIGINT
        )
    finally:
        os.close(log)
    if not until(lambda: server.is_ready() or child.poll() is not None, START_SECONDS) or child.poll() is not None:
        stop_postgres(child)
        raise LauncherError(f"Postgres did not start; {data.with_name('postgres.log')} says why.")
    return server, child


def stop_postgres(child: subprocess.Popen[bytes]) -> None:
    children.stop(child, signal.SIGINT)
