"""Real workers, a real beat, a broker and a database of their own, and what happens when each of them dies."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import pytest

from launcher import postgres, valkey
from launcher.testservers import TestServers
from launcher.valkey import Valkey
from launcher.waiting import until

ROOT = Path(__file__).resolve().parents[2]
POLLER = "worker -Q poll --pool threads -c 4 --without-gossip --without-mingle --without-heartbeat -n"
# Everything that takes seconds in production takes one here.
QUICK = {
    "SHARDWATCH_POLL_TICK_SECONDS": "1",
    "SHARDWATCH_POLL_WORKER_LOST_SECONDS": "2",
    "SHARDWATCH_POLL_CONNECT_TIMEOUT_SECONDS": "0.5",
    "SHARDWATCH_POLL_COMMAND_TIMEOUT_SECONDS": "0.5",
    "SHARDWATCH_LOG_LEVEL": "INFO",
}


class Stage:
    """One Shardwatch without pages: database, broker, beat, two poll workers, and servers to watch."""

    def __init__(self, servers: TestServers, directory: Path) -> None:
        self.servers, self.directory = servers, directory
        self.environment = {**os.environ, **servers.environment(), **QUICK}
        self.children: dict[str, subprocess.Popen[bytes]] = {}

    def manage(self, *words: str) -> None:
        subprocess.run([sys.executable, "manage.py", *words], cwd=ROOT, env=self.environment, check=True)

    def start(self, name: str, words: str) -> None:
        log = (self.directory / f"{name}.log").open("ab")
        command = [sys.executable, "-m", "celery", "-A", "config", *words.split()]
        self.children[name] = subprocess.Popen(command, cwd=ROOT, env=self.environment, stdout=log, stderr=log)

    def query(self, text: LiteralString, *values: object) -> list[tuple[Any, ...]]:
        """Return rows, none while the database is away."""
        try:
            with psycopg.connect(self.servers.database.url.replace("postgres://", "postgresql://")) as connection:
                return connection.execute(text, values).fetchall()
        except psycopg.OperationalError:
            return []

    def number(self, text: LiteralString, *values: object) -> int:
        rows = self.query(text, *values)
        return int(rows[0][0] or 0) if rows else 0

    def polled(self, cache: str, since: int) -> int:
        """Return how many ticks after `since` have a sample of the cache."""
        return self.number(
            "SELECT count(DISTINCT at) FROM sample JOIN fleet_node n ON n.id = node_id"
            " JOIN fleet_cache c ON c.id = cache_id WHERE c.name = %s AND at > to_timestamp(%s)",
            cache,
            since,
        )

    def newest(self) -> int:
        return self.number("SELECT extract(epoch FROM max(at))::int FROM sample")

    def stored_until(self, moment: int) -> int:
        return self.number("SELECT count(*) FROM sample WHERE at <= to_timestamp(%s)", moment)

    def goes_on(self, seconds: float = 60) -> bool:
        """Return whether both caches get three further samples within that time."""
        since = self.newest()
        return until(lambda: min(self.polled("one", since), self.polled("two", since)) >= 3, seconds, 0.2)

    def owner(self, cache: str) -> str:
        rows = self.query(
            "SELECT worker FROM collectors_polllease l JOIN fleet_cache c ON c.id = cache_id WHERE c.name = %s", cache
        )
        return str(rows[0][0]) if rows else ""

    def stop(self) -> None:
        for child in self.children.values():
            child.kill()
            child.wait()


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Valkey]]:
    servers = [valkey.start_valkey(tmp_path_factory.mktemp("watched")) for _ in range(2)]
    yield servers
    valkey.stop_all(servers)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory, watched: list[Valkey]) -> Iterator[Stage]:
    servers = TestServers.start()
    made = Stage(servers, tmp_path_factory.mktemp("logs"))
    try:
        made.manage("migrate", "--verbosity", "0")
        for name, server in zip(("one", "two"), watched, strict=True):
            made.manage("add_cache", name, server.url, "--interval", "1", "--no-test")
        made.start("first", f"{POLLER} first@here")
        made.start("second", f"{POLLER} second@here")
        made.start("beat", f"beat --pidfile= --schedule {made.directory / 'beat'}")
        yield made
    finally:
        made.stop()
        servers.stop()


def test_it_polls_on_the_grid_without_overlap(stage: Stage) -> None:
    assert until(lambda: len(stage.query("SELECT name FROM collectors_pollworker")) == 2, 90)
    assert stage.goes_on()

    rows = stage.query("SELECT read_after_ms FROM sample ORDER BY at DESC LIMIT 4")

    assert all(0 <= delay < 2000 for (delay,) in rows)
    assert stage.number("SELECT sum(skipped) FROM collectors_polllease") == 0


def test_each_cache_stays_with_one_worker(stage: Stage, watched: list[Valkey]) -> None:
    assert stage.goes_on()

    # A second worker that polled the same node would keep a second connection.
    assert [str(server.ask("CLIENT", "LIST")).count("name=shardwatch") for server in watched] == [1, 1]


def test_polls_go_on_when_the_broker_restarts(stage: Stage) -> None:
    stage.servers.broker.kill()
    stage.servers.broker.start()

    assert stage.goes_on()


def test_polls_go_on_when_the_database_restarts(stage: Stage, restart_database: Callable[[], None]) -> None:
    assert stage.goes_on()
    newest = stage.newest()
    before = stage.stored_until(newest)

    restart_database()

    assert stage.goes_on()
    assert stage.stored_until(newest) == before


@pytest.fixture
def restart_database(stage: Stage) -> Callable[[], None]:
    def restart() -> None:
        os.kill(stage.servers.child.pid, signal.SIGINT)
        stage.servers.child.wait(timeout=20)
        stage.servers.database, stage.servers.child = postgres.start_postgres(
            stage.servers.database.data, stage.servers.database.sockets, **postgres.THROW_AWAY_SETTINGS
        )

    return restart


def test_another_worker_takes_over_from_one_that_is_killed(stage: Stage) -> None:
    assert stage.goes_on()
    victim = stage.owner("one").partition("@")[0]

    stage.children[victim].kill()
    stage.children[victim].wait()

    assert stage.goes_on()
    assert stage.owner("one").partition("@")[0] != victim
