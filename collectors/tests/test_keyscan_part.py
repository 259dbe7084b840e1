"""Checkpoints: another process goes on where one ended, and counts nothing twice."""

import pytest

from collectors.keyscan import part
from collectors.keyscan.control import Control
from collectors.keyscan.progress import State
from collectors.keyscan.scan import Scan
from collectors.tests.keyscan import brute_force, client_of, found_in, job, target_of
from conftest import ValkeyFactory
from launcher.valkey import Valkey


def filled(server: Valkey, keys: int = 4_000) -> dict[bytes, int]:
    pipe = client_of(server).pipeline(transaction=False)
    for number in range(keys):
        pipe.set(b"key:\xff%d" % number, "x" * (number % 90))
    pipe.hset("large", mapping={f"f{n}": "v" * 40 for n in range(3_000)})
    pipe.execute()
    return brute_force(server)


def stopped_after(server: Valkey, keys: int, brake: str = "brisk") -> bytes:
    """Return the checkpoint of a scan that was stopped on its way."""
    control = Control(brake)
    scan = Scan(job(control=control), [target_of(server)])
    walk = scan.job.make_aggregate

    def make(target: object, db: int) -> object:
        aggregate = walk(target, db)  # type: ignore[arg-type]
        add = aggregate.add

        def counting(*given: object, **more: object) -> None:
            add(*given, **more)  # type: ignore[arg-type]
            if aggregate.keys >= keys:
                control.stop()

        aggregate.add = counting  # type: ignore[method-assign]
        return aggregate

    scan.job.make_aggregate = make  # type: ignore[assignment]
    scan.run()
    assert scan.nodes[0].state == State.STOPPED
    saved = scan.checkpoint(scan.nodes[0].target.label)
    assert saved is not None
    return saved


def resumed(server: Valkey, saved: bytes) -> Scan:
    scan = Scan(job(), [target_of(server)])
    scan.resume({scan.nodes[0].target.label: saved})
    scan.run()
    return scan


@pytest.mark.parametrize("keys", [1, 900, 3_500])
@pytest.mark.parametrize("brake", ["gentle", "brisk"])
def test_it_goes_on_from_a_checkpoint(valkey_server: ValkeyFactory, keys: int, brake: str) -> None:
    server = valkey_server()
    expected = filled(server)

    scan = resumed(server, stopped_after(server, keys, brake))

    assert (scan.nodes[0].state, scan.nodes[0].restarts) == (State.DONE, 0)
    assert (found_in(scan).keys, found_in(scan).bytes) == (len(expected), sum(expected.values()))


def test_it_begins_anew_at_another_run_of_the_server(valkey_server: ValkeyFactory) -> None:
    server = valkey_server()
    filled(server)
    saved = stopped_after(server, 900)
    server.kill()
    server.start()
    expected = filled(server, keys=500)

    scan = resumed(server, saved)

    assert scan.nodes[0].restarts == 1
    assert found_in(scan).keys == len(expected)


@pytest.mark.parametrize("data", [b"", b"{}", b'{"run_id": "a"}', b"\xff\xfe", b"[1]\nrest"])
def test_it_does_not_take_anything_for_a_checkpoint(data: bytes) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        part.load(job(), data)


def test_it_has_no_checkpoint_before_the_node_was_reached(valkey_server: ValkeyFactory) -> None:
    target = target_of(valkey_server())

    assert Scan(job(), [target]).checkpoint(target.label) is None
