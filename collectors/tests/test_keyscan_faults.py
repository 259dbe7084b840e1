"""Scans of servers that cut, die, restart, refuse, or change while they are walked."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from collectors.connections import Access
from collectors.failures import Cause
from collectors.keyscan.brake import BRAKES, GENTLE
from collectors.keyscan.progress import State
from collectors.keyscan.scan import Scan
from collectors.tests.keyscan import brute_force, client_of, fill, found_in, job, scan_of, target_of
from collectors.tests.peers import Peer, Script, answers, bulk
from conftest import PATIENCE_SECONDS, ValkeyFactory
from launcher.valkey import Valkey
from launcher.waiting import until

KEYS = 10_000


def filled(server: Valkey, keys: int = KEYS, size: int = 50) -> dict[bytes, int]:
    """Write keys, some of them large enough to be looked at twice; return the exact sizes of all."""
    fill(server, keys=keys, least=size)
    pipe = client_of(server).pipeline(transaction=False)
    for number in range(10):
        pipe.sadd(f"set:{number}", *range(1_100 + number * 100))
    pipe.execute()
    return brute_force(server)


@contextmanager
def meanwhile(act: Callable[[], object], every_seconds: float = 0.05) -> Iterator[None]:
    """Do something again and again beside what runs inside."""
    over = threading.Event()

    def go_on() -> None:
        while not over.wait(every_seconds):
            act()

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.fixture(autouse=True)
def quiet_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let gentle scans take their time: a machine with nothing else to do ends them before a test can interfere."""
    monkeypatch.setitem(BRAKES, "gentle", replace(GENTLE, share=0.02))


class Steered:
    """A scan in a thread, to break something while it runs."""

    def __init__(self, server: Valkey, brake: str = "gentle", patience: float = PATIENCE_SECONDS) -> None:
        self.job = job(brake, patience_seconds=patience)
        self.scan = Scan(self.job, [target_of(server)])
        self.node = self.scan.nodes[0]
        self.thread = threading.Thread(target=self.scan.run)
        self.thread.start()
        assert until(lambda: self.node.visited > 500, PATIENCE_SECONDS)

    def finish(self) -> State:
        self.job.control.set_brake("fast")
        self.job.control.resume()
        self.thread.join(PATIENCE_SECONDS * 2)
        assert not self.thread.is_alive()
        return self.node.state


@pytest.mark.parametrize("brake", ["brisk", "fast"])
def test_it_counts_every_key_once_though_connections_are_cut(valkey_server: ValkeyFactory, brake: str) -> None:
    server = valkey_server()
    expected = filled(server)
    client = client_of(server)

    with meanwhile(lambda: client.client_kill_filter(_type="normal", skipme=True), 0.7):
        scan = scan_of([server], brake)

    assert scan.nodes[0].state == State.DONE
    assert (found_in(scan).keys, found_in(scan).bytes) == (len(expected), sum(expected.values()))


def test_it_goes_on_where_it_was_after_a_cut(valkey_server: ValkeyFactory) -> None:
    server = valkey_server()
    expected = filled(server)
    steered = Steered(server)

    client_of(server).client_kill_filter(_type="normal", skipme=True)

    assert steered.finish() == State.DONE
    assert (steered.node.restarts, steered.node.reconnects > 0) == (0, True)
    assert found_in(steered.scan).bytes == sum(expected.values())


def test_it_begins_anew_when_the_server_restarted(valkey_server: ValkeyFactory) -> None:
    server = valkey_server()
    filled(server)
    steered = Steered(server)
    steered.job.control.pause()
    server.kill()
    server.start()
    # It is back with the scan on it, but a paused scan asks nothing.
    assert until(lambda: steered.node.restarts == 1, PATIENCE_SECONDS)
    expected = filled(server, keys=2_000, size=70)

    state = steered.finish()

    assert (state, steered.node.restarts) == (State.DONE, 1)
    assert (found_in(steered.scan).keys, found_in(steered.scan).bytes) == (len(expected), sum(expected.values()))


def test_it_gives_up_a_node_that_does_not_come_back(valkey_server: ValkeyFactory) -> None:
    server = valkey_server()
    filled(server)
    steered = Steered(server, patience=0.5)

    server.kill()

    assert steered.finish() == State.FAILED
    assert steered.node.failure is not None
    assert steered.node.failure.cause is Cause.REFUSED


def test_it_begins_anew_when_the_node_became_a_replica(valkey_server: ValkeyFactory) -> None:
    server, other = valkey_server(), valkey_server()
    filled(server)
    expected = filled(other, keys=1_000)
    steered = Steered(server)

    client_of(server).replicaof("127.0.0.1", other.port)
    assert until(lambda: client_of(server).info("replication")["master_link_status"] == "up", PATIENCE_SECONDS)

    assert steered.finish() == State.DONE
    assert steered.node.restarts >= 1
    assert found_in(steered.scan).keys == len(expected)


def test_it_waits_for_a_free_connection(valkey_server: ValkeyFactory) -> None:
    server = valkey_server("--maxclients", "4")
    held = [socket.create_connection(server.address) for _ in range(10)]
    scan = Scan(job(), [target_of(server)])
    thread = threading.Thread(target=scan.run)
    thread.start()
    assert until(lambda: scan.nodes[0].reconnects > 1, PATIENCE_SECONDS)

    for connection in held:
        connection.close()
    thread.join(PATIENCE_SECONDS)

    assert scan.nodes[0].state == State.DONE


def test_it_scans_unwatched_where_there_is_one_connection_only(valkey_server: ValkeyFactory) -> None:
    server = valkey_server("--maxclients", "1")

    scan = scan_of([server])

    assert scan.nodes[0].state == State.DONE
    assert scan.nodes[0].warden.is_blind


def test_it_outlives_keys_that_change_under_it(valkey_server: ValkeyFactory) -> None:
    server = valkey_server()
    client = client_of(server)
    still = filled(server)
    turn = iter(range(10_000_000))

    def stir() -> None:
        number = next(turn) % 10
        client.set(f"short:{number}", "x" * 20_000, px=1)
        client.rename(f"set:{number}", f"moving:{number}")
        client.rename(f"moving:{number}", f"set:{number}")
        client.delete("retyped")
        client.lpush("retyped", "x" * 30_000) if number % 2 else client.hset("retyped", "f", "x" * 30_000)

    with meanwhile(stir, 0.001):
        scan = scan_of([server], "brisk")

    assert scan.nodes[0].state == State.DONE
    sizes = dict(found_in(scan).top.entries())
    # A key that was renamed to and fro may have another size than before: the name lies in the object.
    after = brute_force(server)
    assert [name for name, size in sizes.items() if name in still and size not in {still[name], after[name]}] == []
    assert found_in(scan).keys >= KEYS


def user(server: Valkey, *rules: str) -> Access:
    """Return the access of a user who may do anything but what the rules take."""
    client: Any = client_of(server)
    client.execute_command("ACL", "SETUSER", "scanner", "on", ">secret", "~*", "+@all", *rules)
    return Access(tls=False, username="scanner", password="secret")


def test_it_estimates_sizes_where_memory_is_refused(valkey_server: ValkeyFactory) -> None:
    server = valkey_server()
    filled(server, keys=50)

    scan = scan_of([server], access=user(server, "-memory"))

    assert scan.nodes[0].abilities is not None
    assert scan.nodes[0].abilities.missing == ["MEMORY USAGE"]
    assert found_in(scan).keys == 60
    assert not any(entry.is_exact for entry in found_in(scan).entries())
    assert found_in(scan).top.entries()[0][0] == b"set:9"


@pytest.mark.parametrize(
    ("rule", "missing", "unread"),
    [
        ("-type", ["TYPE"], "type"),
        ("-pttl", ["PTTL"], "ttl_ms"),
        ("-object", ["OBJECT ENCODING", "OBJECT IDLETIME"], "encoding"),
        ("-scard", ["SCARD"], "elements"),
        ("-info", ["INFO"], ""),
        ("-client", [], ""),
    ],
)
def test_it_does_without_what_is_refused(
    valkey_server: ValkeyFactory, rule: str, missing: list[str], unread: str
) -> None:
    server = valkey_server()
    expected = filled(server, keys=50)

    scan = scan_of([server], access=user(server, rule))

    assert scan.nodes[0].state == State.DONE
    assert scan.nodes[0].abilities is not None
    assert scan.nodes[0].abilities.missing == missing
    assert found_in(scan).keys == len(expected)
    details = [entry.detail for entry in found_in(scan).entries() if entry.detail]
    assert not unread or all(getattr(detail, unread) in {"", None} for detail in details)


def test_it_says_that_scan_is_refused(valkey_server: ValkeyFactory) -> None:
    server = valkey_server()

    node = scan_of([server], access=user(server, "-scan")).nodes[0]

    assert (node.state, node.failure and node.failure.cause) == (State.FAILED, Cause.NO_PERMISSION)


def test_it_says_how_many_keys_may_not_be_read(valkey_server: ValkeyFactory) -> None:
    server = valkey_server()
    filled(server, keys=40)

    scan = scan_of([server], access=user(server, "resetkeys", "~set:*"))

    assert found_in(scan).keys == 10
    assert scan.nodes[0].parts[0].walk.unreadable == 40


def test_it_says_that_the_password_is_wrong(valkey_server: ValkeyFactory) -> None:
    server = valkey_server("--requirepass", "right")

    node = scan_of([server], access=Access(tls=False, password="wrong")).nodes[0]

    assert (node.state, node.reconnects) == (State.FAILED, 0)
    assert node.failure is not None
    assert node.failure.cause is Cause.PASSWORD_WRONG


def test_it_takes_a_type_that_it_does_not_know(peer: Callable[[Script], Peer]) -> None:
    page = b"*2\r\n" + bulk(b"0") + b"*1\r\n" + bulk(b"document")
    replies = {
        "INFO": bulk(b"run_id:abc\r\nrole:master\r\ndb0:keys=1,expires=0\r\n"),
        "CLIENT": b"+OK\r\n",
        "PING": b"+PONG\r\n",
        "SCAN": page,
        "MEMORY USAGE": b":50000\r\n",
        "TYPE": b"+ReJSON-RL\r\n",
        "PTTL": b":-1\r\n",
        "OBJECT ENCODING": bulk(b"raw"),
        "OBJECT IDLETIME": b":5\r\n",
    }
    server = peer(answers(replies))

    scan = scan_of([Valkey(server.port, directory=None)])  # type: ignore[arg-type]

    (entry,) = found_in(scan).entries()
    assert (entry.size, entry.is_exact) == (50_000, False)
    assert entry.detail is not None
    assert (entry.detail.type, entry.detail.elements) == ("ReJSON-RL", None)


@pytest.mark.parametrize(
    ("reply", "cause"),
    [
        (b"-LOADING Redis is loading the dataset in memory\r\n", Cause.LOADING),
        (b"-BUSY Redis is busy running a script\r\n", Cause.BUSY),
        (b"-MASTERDOWN Link with MASTER is down\r\n", Cause.PRIMARY_DOWN),
    ],
)
def test_it_waits_for_what_may_pass(peer: Callable[[Script], Peer], reply: bytes, cause: Cause) -> None:
    server = peer(answers({"CLIENT": b"+OK\r\n", "INFO": reply}))

    node = scan_of([Valkey(server.port, directory=None)], patience_seconds=0.4).nodes[0]  # type: ignore[arg-type]

    assert node.failure is not None
    assert (node.state, node.failure.cause) == (State.FAILED, cause)
    assert node.reconnects > 0


def test_it_looks_into_100_000_tiny_hashes_of_one_slot(valkey_server: ValkeyFactory) -> None:
    server = valkey_server()
    client_of(server).eval("for n = 1, 100000 do redis.call('HSET', '{tag}:' .. n, 'f', 'v') end", 0)

    found = found_in(scan_of([server]))

    assert (found.keys, round(found.repeats)) == (100_000, 0)
