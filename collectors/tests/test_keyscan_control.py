"""Steering a scan while it runs: pause, stop, another brake, and what it tells meanwhile."""

import threading
from collections.abc import Callable, Sequence
from math import inf

import pytest

from collectors.keyscan.control import Control
from collectors.keyscan.guards import Limits
from collectors.keyscan.progress import NodeProgress, State
from collectors.keyscan.scan import Scan
from collectors.tests.keyscan import brute_force, fill, found_in, job, target_of
from conftest import PATIENCE_SECONDS, ValkeyFactory
from launcher.valkey import Valkey
from launcher.waiting import until


def filled(server: Valkey, keys: int = 12_000) -> Valkey:
    fill(server, keys=keys, sizes=100)
    return server


# A busy machine answers late: that must hold no scan up here.
NEVER_HELD = Limits(latency_seconds=inf, cpu_ratio=inf, command_share=inf)


class Running:
    """A scan in a thread of its own."""

    def __init__(self, server: Valkey, brake: str = "gentle") -> None:
        self.control = Control(brake)
        self.seen: list[NodeProgress] = []
        self.scan = Scan(job(control=self.control, limits=NEVER_HELD), [target_of(server)], self.observe)
        self.thread = threading.Thread(target=self.scan.run)
        self.thread.start()

    def observe(self, progress: Sequence[NodeProgress]) -> None:
        self.seen += progress

    @property
    def visited(self) -> int:
        return self.scan.nodes[0].visited

    def wait(self, claim: Callable[[], object]) -> None:
        assert until(claim, PATIENCE_SECONDS)

    def join(self) -> State:
        self.thread.join(PATIENCE_SECONDS)
        assert not self.thread.is_alive()
        return self.scan.nodes[0].state


@pytest.mark.parametrize("brake", ["gentle", "brisk", "fast"])
def test_it_stops_in_mid_walk(valkey_server: ValkeyFactory, brake: str) -> None:
    running = Running(filled(valkey_server()), brake)
    running.wait(lambda: running.visited)

    running.control.stop()

    assert running.join() in {State.STOPPED, State.DONE}


def test_it_stops_while_it_is_paused(valkey_server: ValkeyFactory) -> None:
    running = Running(filled(valkey_server()))
    running.wait(lambda: running.visited)
    running.control.pause()

    running.control.stop()

    assert running.join() == State.STOPPED


def test_it_stops_while_the_server_is_silent(valkey_server: ValkeyFactory) -> None:
    server = filled(valkey_server())
    running = Running(server)
    running.wait(lambda: running.visited)
    server.pause()

    running.control.stop()

    assert running.join() == State.STOPPED
    server.resume()


def test_it_does_nothing_while_it_is_paused(valkey_server: ValkeyFactory) -> None:
    running = Running(filled(valkey_server()))
    running.wait(lambda: running.visited)
    running.control.pause()
    running.wait(lambda: running.seen and running.seen[-1].state == State.PAUSED)
    sent = running.scan.nodes[0].gate.commands
    running.wait(lambda: running.seen[-1].keys_per_second == 0)

    assert running.scan.nodes[0].gate.commands == sent
    running.control.stop()
    running.join()


@pytest.mark.parametrize("brakes", [("gentle", "fast"), ("fast", "gentle", "fast"), ("brisk", "fast", "brisk")])
def test_it_changes_the_brake_and_misses_nothing(valkey_server: ValkeyFactory, brakes: Sequence[str]) -> None:
    server = filled(valkey_server())
    expected = brute_force(server)
    running = Running(server, brakes[0])

    for number, brake in enumerate(brakes[1:], start=1):
        reached = number * 3_000
        running.wait(lambda reached=reached: running.visited >= reached or not running.thread.is_alive())  # type: ignore[misc]
        running.control.set_brake(brake)

    assert running.join() == State.DONE
    found = found_in(running.scan)
    assert (found.keys, found.bytes) == (len(expected), sum(expected.values()))


def test_it_goes_on_after_a_pause(valkey_server: ValkeyFactory) -> None:
    server = filled(valkey_server())
    expected = brute_force(server)
    running = Running(server, "brisk")
    running.wait(lambda: running.visited)
    running.control.pause()
    running.wait(lambda: running.seen)
    running.control.set_brake("fast")

    running.control.resume()

    assert running.join() == State.DONE
    assert found_in(running.scan).bytes == sum(expected.values())


def test_it_tells_how_far_it_is(valkey_server: ValkeyFactory) -> None:
    running = Running(filled(valkey_server()))

    running.join()

    last = running.seen[-1]
    assert (last.state, last.keys, last.total, last.ratio) == (State.DONE, 12_000, 12_000, 1.0)
    assert last.bytes == found_in(running.scan).bytes
    assert last.baseline_seconds > 0
