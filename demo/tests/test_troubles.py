"""Each trouble on one real server, with its time passed in rather than waited for."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from demo import troubles
from demo.backend import Backend
from demo.layout import SESSIONS, Member
from demo.nodes import client
from launcher.valkey import Valkey
from launcher.waiting import until

ServerFactory = Callable[..., Valkey]


@pytest.fixture
def backend(valkey_server: ServerFactory) -> Any:
    """A backend of one server that holds little and takes few connections."""
    server = valkey_server("--maxmemory", "24mb", "--maxmemory-policy", "allkeys-lru", "--maxclients", "80")
    backend = Backend(SESSIONS, [Member("session-1", SESSIONS, "", server.port)], random.Random(4))
    yield backend
    backend.close()


def info(backend: Backend) -> dict[str, Any]:
    with client(backend.primary_ports[0]) as server:
        told: dict[str, Any] = server.info("everything")
        return told


def play(backend: Backend, trouble: troubles.Trouble, seconds: float, step: float = 1.0) -> None:
    for number in range(int(seconds / step)):
        now = 1_000 + number * step
        backend.tick(0.01, now, 1.0, trouble.requests(step, now))


def test_it_grows_to_the_limit_within_five_minutes(backend: Backend) -> None:
    growth = troubles.Growth(backend)

    play(backend, growth, 60)
    early = info(backend)
    play(backend, growth, 240)

    late = info(backend)
    assert 0.2 < early["used_memory"] / early["maxmemory"] < 0.5
    assert late["used_memory"] / late["maxmemory"] > 0.95
    assert late["evicted_keys"] > 0


def test_it_grows_no_further_when_left_on(backend: Backend) -> None:
    growth = troubles.Growth(backend)

    names = {request.key for _ in range(3) for request in growth.requests(troubles.GROWTH_SECONDS, 0.0)}

    assert len(names) * troubles.GROWTH_VALUE_BYTES < 24 * 1024 * 1024 * 1.2


def test_it_storms_until_the_server_refuses(backend: Backend) -> None:
    with client(backend.primary_ports[0]) as early:
        early.ping()
        storm = troubles.Storm(backend)

        for second in range(70):
            storm.requests(1.0, float(second))

        assert until(lambda: early.info("stats")["rejected_connections"] > 20, 20), early.info()
        assert early.info("stats")["total_connections_received"] > 1_000
        storm.close()
        assert until(lambda: early.info("clients")["connected_clients"] < 10, 20)


def test_it_writes_values_of_megabytes(backend: Backend) -> None:
    play(backend, troubles.BigKeys(backend), 20)

    with client(backend.primary_ports[0]) as server:
        sizes = {key: server.memory_usage(key, samples=0) for key in troubles.BIG_KEYS}
    assert all(size > 1_000_000 for size in sizes.values())
    assert info(backend)["total_net_output_bytes"] > 5_000_000


def test_it_heats_one_slot(own_valkey_cluster: Callable[..., list[Valkey]]) -> None:
    nodes = own_valkey_cluster(replicas=0)
    fleet = [Member(f"game-{number}", "game-cache", "", node.port) for number, node in enumerate(nodes)]
    backend = Backend("game-cache", fleet, random.Random(5))
    hot = troubles.HotShard(backend)

    for number in range(30):
        backend.tick(0.1, 1_000 + number * 0.1, 1.0, hot.requests(0.1, 0.0))
    backend.close()

    gets = sorted(int(node.ask("INFO", "stats").split("keyspace_hits:")[1].split()[0]) for node in nodes)  # type: ignore[union-attr]
    assert gets[2] > 3 * gets[1]


def test_it_sweeps_its_traces_and_nothing_else(backend: Backend) -> None:
    member = backend.members[0]
    play(backend, troubles.Growth(backend), 20)
    play(backend, troubles.HotShard(backend), 2)
    play(backend, troubles.BigKeys(backend), 10)
    with client(member.port) as server:
        server.set("user_cache:1", "kept")

    swept = troubles.sweep([member])

    with client(member.port) as server:
        assert swept > 100
        assert {key.partition(":")[0] for key in server.scan_iter(count=1_000)} <= {
            "session",
            "token",
            "online",
            "user_cache",
        }
        assert not list(server.scan_iter(match="user_cache:{*", count=1_000))
        assert server.get("user_cache:1") == "kept"
