"""The embedded Postgres, throw-away."""

import os
import shutil
import signal
import subprocess
import traceback
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from launcher import binaries, children, postgres
from launcher.trouble import LauncherError


@pytest.fixture
def data(short_path: Path) -> Iterator[Path]:
    short_path.chmod(0o711)
    yield short_path / "postgres"
    for pid in postgres.Postgres(short_path / "postgres", short_path / "pg").running():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def start(data: Path) -> tuple[postgres.Postgres, "subprocess.Popen[bytes]"]:
    return postgres.start_postgres(data, data.with_name("pg"), fsync="off")


def test_it_keeps_rows_over_kill_9_a_zombie_and_stale_lock_files(data: Path) -> None:
    server, child = start(data)
    with psycopg.connect(server.url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS seven")

    # Nobody waits for it, so that it stays a zombie until the end of the test.
    child.send_signal(signal.SIGKILL)
    assert (data / "postmaster.pid").exists()
    assert list(server.sockets.glob("*.lock"))
    server, _ = start(data)

    with psycopg.connect(server.url) as connection:
        assert connection.execute("SELECT seven FROM kept").fetchone() == (7,)


def test_it_replaces_a_server_that_a_killed_run_left_behind(data: Path) -> None:
    _, orphan = start(data)

    second, child = start(data)

    assert child.pid in second.running()
    assert orphan.pid not in second.running()


def test_an_interrupted_first_start_is_begun_again(data: Path) -> None:
    partial = data.with_name("postgres.new")
    partial.mkdir()
    (partial / "half").touch()

    server, _ = start(data)

    assert server.is_ready()


FULL = (
    '2026-01-02 03:04:05.060 UTC [171] FATAL:  could not write to file "pg_wal/xlogtemp.171": No space left on device\n'
    "child process exited with exit code 1\n"
    'initdb: removing contents of data directory "/proc/self/cwd"\n'
)
CAUSES = {
    FULL: 'could not write to file "pg_wal/xlogtemp.171": No space left on device',
    "initdb: error: could not access it: Permission denied\n": "could not access it: Permission denied",
    "PANIC:  lost\nremoved\n": "lost",
    "killed\n": "killed",
    "": "it said nothing",
}


@pytest.mark.parametrize("said", CAUSES)
def test_a_failed_first_start_names_its_cause(said: str, short_path: Path) -> None:
    short_path.chmod(0o755)
    script = short_path / "initdb"
    script.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{said}END\nexit 1\n")
    script.chmod(0o755)

    with pytest.raises(LauncherError) as failed:
        postgres._run([Path("/bin/sh"), script], Path("/tmp"))

    assert failed.value.reason.endswith(f": {CAUSES[said]}")
    assert ("Free some room" in failed.value.advice) is (said == FULL)


def test_files_of_another_version_are_refused_with_a_way_out(data: Path) -> None:
    data.mkdir()
    (data / "PG_VERSION").write_text("9\n")

    with pytest.raises(LauncherError, match="written by Postgres 9") as caught:
        postgres.Postgres(data, data.with_name("pg")).prepare()

    assert "SHARDWATCH_POSTGRES_BIN" in caught.value.advice


def test_files_and_socket_are_closed_to_others(data: Path) -> None:
    server, _ = start(data)

    assert data.stat().st_mode & 0o077 == 0
    assert server.sockets.stat().st_mode & 0o077 == 0


def test_it_runs_for_an_ordinary_account(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only root must give the server another account; elsewhere this repeats the plain case."""
    monkeypatch.setenv("SHARDWATCH_POSTGRES_BIN", str(postgres._programs()))
    if other := postgres.account():
        os.chown(data.parent, other.uid, other.gid)

    child = os.fork()
    if child == 0:
        children.drop_to(other)
        os._exit(0 if _can_start_and_ask(data) else 1)

    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def _can_start_and_ask(data: Path) -> bool:
    try:
        server, child = postgres.start_postgres(data, data.with_name("pg"), fsync="off")
        with psycopg.connect(server.url) as connection:
            answer = connection.execute("SELECT current_user").fetchone()
        postgres.stop_postgres(child)
    except BaseException:
        traceback.print_exc()
        return False
    return answer == (postgres.ROLE,)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the server as another account")
def test_root_may_keep_checkout_and_data_in_folders_of_its_own(
    short_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = short_path / "closed"
    closed.mkdir(mode=0o700)
    (short_path / "pg").mkdir()
    short_path.chmod(0o711)
    package = binaries.postgres_directory().parent.parent
    for folder in (package, package.with_name(f"{package.name}.libs")):
        if folder.exists():
            shutil.copytree(folder, closed / folder.name, symlinks=True)
    monkeypatch.setenv("SHARDWATCH_POSTGRES_BIN", str(closed / package.name / "pginstall" / "bin"))
    monkeypatch.setattr(binaries, "SHARED_COPIES", short_path / "copies")
    short_path.joinpath("copies").mkdir()

    server, child = postgres.start_postgres(closed / "postgres", short_path / "pg", fsync="off")

    with psycopg.connect(server.url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    postgres.stop_postgres(child)
