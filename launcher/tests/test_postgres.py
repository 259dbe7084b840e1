"""The embedded Postgres, throw-away."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from launcher import postgres
from launcher.trouble import LauncherError


@pytest.fixture
def data(short_path: Path) -> Iterator[Path]:
    short_path.chmod(0o711)
    yield short_path / "postgres"
    if (pid := postgres.Postgres(short_path / "postgres", short_path / "pg").running_pid()) is not None:
        os.kill(pid, signal.SIGKILL)


def start(data: Path) -> tuple[postgres.Postgres, int]:
    server, child = postgres.start_postgres(data, data.with_name("pg"), fsync="off")
    return server, child.pid


def test_it_keeps_rows_over_kill_9_and_a_stale_lock_file(data: Path) -> None:
    server, pid = start(data)
    with psycopg.connect(server.url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS seven")

    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert (data / "postmaster.pid").exists()
    server, _ = start(data)

    with psycopg.connect(server.url) as connection:
        assert connection.execute("SELECT seven FROM kept").fetchone() == (7,)


def test_it_replaces_a_server_that_a_killed_run_left_behind(data: Path) -> None:
    _, orphan = start(data)

    second, pid = start(data)

    assert pid != orphan
    assert second.running_pid() == pid


def test_an_interrupted_first_start_is_begun_again(data: Path) -> None:
    partial = data.with_name("postgres.new")
    partial.mkdir()
    (partial / "half").touch()

    server, _ = start(data)

    assert server.is_ready()


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
