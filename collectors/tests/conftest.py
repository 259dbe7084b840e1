"""A poller to drive by hand, and caches to give it."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from psycopg import sql
from pytest_django.fixtures import Settings

from collectors import leases, poll, samples
from collectors.models import NodeStatus
from collectors.pool import Pool
from collectors.tests.memcached import open_to_all
from collectors.tests.peers import Peer, Script
from fleet.models import Cache, Node
from fleet.secrets import Secret


class Poller:
    """Polls caches tick by tick, as a worker would, in the thread of the test."""

    def __init__(self) -> None:
        self.pool = Pool()
        self.tick = poll.current_tick() - 1800

    def poll(self, *caches: Cache, worker: str = "test") -> list[int]:
        self.tick += settings.POLL_INTERVAL_SECONDS
        ids = [cache.pk for cache in caches]
        leases.make_missing(ids)
        return poll.poll_caches(ids, self.tick, self.pool, worker)

    def sample(self, node: Node, *names: str) -> tuple[Any, ...] | None:
        """Return columns of the sample that the last poll wrote for a node."""
        at = datetime.fromtimestamp(self.tick, UTC)
        columns = sql.SQL(", ").join(map(sql.Identifier, names))
        query = sql.SQL("SELECT {} FROM sample WHERE node_id = %s AND at = %s").format(columns)
        with samples.raw_cursor() as cursor:
            return cursor.execute(query, [node.pk, at]).fetchone()

    def details(self, node: Node) -> int:
        """Return how many rows of details there are of a node."""
        with samples.raw_cursor() as cursor:
            row = cursor.execute("SELECT count(*) FROM detail WHERE node_id = %s", [node.pk]).fetchone()
            return int(row[0]) if row else 0


@pytest.fixture
def poller(db: None) -> Iterator[Poller]:
    made = Poller()
    yield made
    made.pool.close()


@pytest.fixture
def cache_at(db: None) -> Callable[..., Cache]:
    """Register a cache: `cache_at("redis://127.0.0.1:6379", password="x")`."""

    def register(address: str, password: str = "", name: str = "", **fields: Any) -> Cache:
        name = name or f"cache-{Cache.objects.count()}"
        cache = Cache(name=name, address=address, **fields)
        cache.password = Secret.of(password)
        cache.save()
        return cache

    return register


def status_of(cache: Cache) -> NodeStatus:
    """Return how the only node of a cache is."""
    return NodeStatus.objects.get(node__cache=cache)


@pytest.fixture
def peer() -> Iterator[Callable[[Script], Peer]]:
    """Start scripted servers: `peer(stays_silent).url`."""
    started: list[Peer] = []

    def start(script: Script) -> Peer:
        started.append(Peer(script))
        return started[-1]

    yield start
    for one in started:
        one.close()


@pytest.fixture
def short_timeouts(settings: Settings) -> None:
    settings.POLL_CONNECT_TIMEOUT_SECONDS = settings.POLL_COMMAND_TIMEOUT_SECONDS = 0.5


@pytest.fixture
def sasl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """Return the options of a memcached that asks for SASL, which does not start without a configuration."""
    directory = tmp_path / "sasl"
    directory.mkdir()
    (directory / "memcached.conf").write_text("mech_list: plain\n")
    open_to_all(directory)
    monkeypatch.setenv("SASL_CONF_PATH", str(directory))
    return ("-S",)
