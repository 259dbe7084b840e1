"""The command against the running fleet and its traffic."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from demo import orders, troubles
from demo.layout import Home
from demo.nodes import client
from demo.tests.conftest import Demo
from launcher.waiting import until

# The fleet's own process writes to the tests' database, which only this mark brings about.
pytestmark = pytest.mark.django_db


@pytest.fixture
def calm(demo: Demo) -> Iterator[Demo]:
    """The shared fleet with busy traffic; troubles are ended after the test."""
    assert until(lambda: demo.info("session-1")["connected_clients"] > 20, 20)
    yield demo
    status, said = demo.ran("demo_trouble", "stop")
    assert status == 0, said


def keys_like(demo: Demo, prefix: str) -> int:
    found = 0
    for name in ("game-1", "game-2", "game-3"):
        with client(demo.member(name).port) as server:
            found += sum(1 for _ in server.scan_iter(match=f"{prefix}*", count=5_000))
    return found


def test_it_refuses_a_trouble_that_is_none_with_status_2(demo: Demo) -> None:
    process = demo.start("demo_trouble")

    assert process.wait(20) == 2
    assert "the following arguments are required: trouble" in demo.said("demo_trouble")


@pytest.mark.parametrize("trouble", ["hotshard", "kill-node"])
def test_it_refuses_what_the_cache_cannot_have_with_status_2(demo: Demo, trouble: str) -> None:
    status, said = demo.ran("demo_trouble", trouble, "--cache", "session-store")

    assert status == 2
    assert f"{trouble} needs a cluster" in said


def test_it_says_that_no_fleet_runs_with_status_1(demo: Demo, tmp_path: Path) -> None:
    status, said = Demo(Home(tmp_path)).ran("demo_trouble", "growth")

    assert status == 1
    assert "does not run. Start bin/up" in said


def test_it_makes_growth_and_sweeps_it_away(calm: Demo) -> None:
    status, said = calm.ran("demo_trouble", "growth")

    assert status == 0
    assert "Look at memory" in said
    assert until(lambda: keys_like(calm, troubles.GROWTH_PREFIX) > 100, 15)
    status, said = calm.ran("demo_trouble", "stop")
    assert (status, orders.read(calm.home).names()) == (0, [])
    assert said.startswith("Ended growth; all servers are up")
    assert keys_like(calm, troubles.GROWTH_PREFIX) == 0


def test_it_makes_several_troubles_and_ends_them_together(calm: Demo) -> None:
    before = calm.info("game-1")

    for trouble in ("storm", "hotshard", "bigkeys"):
        assert calm.ran("demo_trouble", trouble)[0] == 0

    assert until(lambda: calm.info("game-1")["connected_clients"] > before["connected_clients"] + 40, 20)
    assert until(lambda: keys_like(calm, troubles.BIG_RANKING) == 1, 5)
    assert until(lambda: keys_like(calm, troubles.HOT_PREFIX) > 100, 5)
    assert calm.ran("demo_trouble", "stop")[1].startswith("Ended bigkeys, hotshard, storm;")
    assert until(lambda: calm.info("game-1")["connected_clients"] < 60, 5)
    assert keys_like(calm, troubles.HOT_PREFIX) + keys_like(calm, troubles.BIG_RANKING) == 0


def test_it_kills_a_primary_that_stays_down_until_stop(calm: Demo) -> None:
    status, said = calm.ran("demo_trouble", "kill-node")
    victim = str(orders.read(calm.home).held_node)
    heir = {"game-1": "game-4", "game-2": "game-5", "game-3": "game-6"}[victim]

    assert status == 0
    assert f"{victim} (port {calm.member(victim).port}) of game-cache was killed" in said
    assert until(lambda: calm.info(heir)["role"] == "master", 15)
    assert calm.home.fleet()["nodes"][victim]["pid"] is None
    assert "is down already" in calm.ran("demo_trouble", "kill-node")[1]
    assert until(lambda: calm.info(heir)["connected_clients"] > 10, 15), "the traffic did not follow the failover"
    assert calm.ran("demo_trouble", "stop")[0] == 0
    assert until(lambda: calm.info(victim)["role"] == "slave", 10)
