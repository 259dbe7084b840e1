import os
import random
import signal
from typing import Any

import pytest
import redis

from demo.backend import Backend
from demo.layout import GAME, SESSIONS
from demo.nodes import client
from demo.tests.conftest import Demo
from launcher.waiting import until

# The fleet's own process writes to the tests' database, which only this mark brings about.
pytestmark = pytest.mark.django_db


def primaries(demo: Demo) -> list[dict[str, Any]]:
    """Return what the servers that take writes report now, the cluster's first."""
    told = [demo.info(member.name) for member in demo.home.members()]
    return [info for info in told if info["role"] == "master"]


def is_busy(demo: Demo, name: str) -> bool:
    try:
        info = demo.info(name)
    except redis.RedisError:
        return False
    return bool(info["connected_clients"] > 20 and info["instantaneous_ops_per_sec"] > 50)


def test_it_keeps_uneven_crowds_of_named_connections(demo: Demo) -> None:
    assert until(lambda: demo.info("session-1")["connected_clients"] > 45, 20)

    crowds = sorted(int(info["connected_clients"]) for info in primaries(demo)[:3])
    with client(demo.member("session-1").port) as server:
        names = {str(connection["name"]).partition("-")[0] for connection in server.client_list()}
    assert crowds[0] + 5 < crowds[2]
    assert 60 < sum(crowds) < 130
    assert {"login", "gateway"} <= names


def warm_up(demo: Demo) -> None:
    """Let the minute in which thousands of keys come pass at once; behind it their number hardly moves."""
    # Sessions are missed once some have ended, players that there are not at once.
    for cache, busy in ((GAME, 0), (SESSIONS, 1)):
        backend = Backend(cache, demo.home.members(), random.Random(1))
        for second in range(60):
            backend.tick(1.0, float(second), busy)
        backend.close()


def test_it_finds_most_of_what_it_looks_up_in_a_bounded_space(demo: Demo) -> None:
    warm_up(demo)
    assert all(info["db0"]["keys"] > 9_000 for info in primaries(demo))
    before = primaries(demo)
    assert until(lambda: primaries(demo)[0]["keyspace_hits"] > before[0]["keyspace_hits"] + 600, 20, step=0.3)

    for old, new in zip(before, primaries(demo), strict=True):
        hits, misses = (int(new[field]) - int(old[field]) for field in ("keyspace_hits", "keyspace_misses"))
        assert 0.75 < hits / (hits + misses) < 0.99
        assert new["db0"]["keys"] < 14_000
        assert 0.25 < new["used_memory"] / new["maxmemory"] < 0.55
        assert new["evicted_keys"] == 0


def test_it_goes_on_after_a_server_died(demo: Demo) -> None:
    assert until(lambda: is_busy(demo, "session-1"), 20)

    os.kill(demo.home.fleet()["nodes"]["session-1"]["pid"], signal.SIGKILL)

    assert until(lambda: not is_busy(demo, "session-1"), 5)
    assert until(lambda: is_busy(demo, "session-1"), 15)
    assert demo.home.is_running("traffic")
