"""The guard beside a scan: it comes back after a cut, says when it cannot see, hears how far replicas are."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from collectors import samples
from collectors.connections import Link, open_link
from collectors.failures import Cause, ReadError
from collectors.keyscan import holding, lagging, starting, warden
from collectors.keyscan.asker import Gate
from collectors.keyscan.control import Control
from collectors.keyscan.guards import HoldCause, Limits, Vitals, Watch
from collectors.keyscan.node import NodeScan
from collectors.keyscan.options import ScanOptions
from collectors.keyscan.progress import NodeProgress, State
from collectors.keyscan.runner import Runner
from collectors.keyscan.scan import Scan
from collectors.keyscan.targets import Target
from collectors.keyscan.teller import Teller
from collectors.keyscan.warden import Warden
from collectors.latest import NodeLatest
from collectors.steps import Step
from collectors.tests.cast import cache_with_nodes, reading
from collectors.tests.keyscan import client_of, job
from collectors.tests.peers import Peer, Script, answers, bulk
from conftest import PATIENCE_SECONDS, ValkeyFactory


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warden, "REGAIN_SECONDS", 0.2)


async def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


def watching(connect: Callable[[], Coroutine[Any, Any, Link]]) -> Warden:
    return Warden(Gate.of(Control("fast")), None, connect)


def test_it_looks_for_another_connection_after_a_cut(valkey_server: ValkeyFactory) -> None:
    server = valkey_server()

    async def cut() -> None:
        guard = watching(lambda: open_link("127.0.0.1", server.port, None))
        await guard.begin()
        assert not guard.is_blind

        client_of(server).client_kill_filter(_type="normal", skipme=True)
        await until(lambda: guard.is_blind)
        await until(lambda: not guard.is_blind)
        guard.end()

    asyncio.run(cut())


def test_it_measures_later_what_it_could_not_measure_before(valkey_server: ValkeyFactory) -> None:
    server, refused = valkey_server(), [ReadError(Step.CONNECT, Cause.MAX_CLIENTS)]

    async def connect() -> Link:
        if refused:
            raise refused.pop()
        return await open_link("127.0.0.1", server.port, None)

    async def late() -> None:
        guard = watching(connect)
        await guard.begin()
        assert (guard.is_blind, guard.watch.baseline) == (True, 0.0)

        await until(lambda: not guard.is_blind)
        assert guard.watch.baseline > 0
        guard.end()

    asyncio.run(late())


def test_nothing_is_held_up_by_what_cannot_be_seen() -> None:
    async def never() -> Link:
        raise ReadError(Step.CONNECT, Cause.MAX_CLIENTS)

    async def blind() -> None:
        guard = watching(never)
        guard.gate.hold = Watch(vitals=Vitals(0.0, is_loading=True)).judge(Limits())
        await guard.begin()
        assert guard.is_blind
        assert guard.gate.hold is None
        guard.end()

    asyncio.run(blind())


def told(**changes: Any) -> NodeProgress:
    numbers: dict[str, Any] = dict.fromkeys(NodeProgress.__slots__, 0)
    return NodeProgress(**{**numbers, "label": "a:1", "state": State.WALKING, "total": 10, "keys": 5, **changes})


def test_the_command_line_says_once_that_nobody_guards() -> None:
    lines: list[str] = []

    class Output:
        def write(self, text: str) -> None:
            lines.append(text)

    teller = Teller(Output())
    for is_blind in (False, True, True):
        teller.observe([told(is_blind=is_blind)])

    assert lines == ["[50.00%] a:1: goes on without guards: they get no connection"]


@pytest.mark.parametrize(("told_lag", "own", "held"), [(33e6, None, True), (33e6, 0.0, True), (1e6, 0.0, False)])
def test_a_replica_that_falls_behind_is_not_read_on(told_lag: float, own: float | None, held: bool) -> None:
    watch = Watch(vitals=Vitals(0.0, lag_bytes=own), told_lag_bytes=told_lag)

    hold = watch.judge(Limits())

    assert (hold.cause if hold else None) == (HoldCause.LAG if held else None)


def test_a_replica_that_caught_up_is_read_again() -> None:
    watch = Watch(vitals=Vitals(0.0), told_lag_bytes=40e6)
    assert watch.judge(Limits()) is not None

    watch.told_lag_bytes = 1e6

    assert watch.judge(Limits()) is None


@pytest.mark.django_db
def test_guards_hear_of_polls_how_far_replicas_are_behind() -> None:
    cache = cache_with_nodes(1, replicas=1)
    primary, replica = cache.nodes.order_by("role")
    samples.write([reading(replica, replication_lag_bytes=50_000_000), reading(primary, replication_lag_bytes=7)])
    made = job("gentle")
    nodes = [NodeScan(Target("h", 1, "1", node is replica, node.pk), made) for node in (primary, replica)]
    at = datetime.fromtimestamp(reading(replica).tick, UTC)

    lagging.tell_guards(cache.pk, nodes, at + timedelta(seconds=10))

    assert [node.warden.watch.told_lag_bytes for node in nodes] == [None, 50_000_000.0]


@pytest.mark.django_db
def test_a_stored_scan_tells_its_guards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lagging, "FRESH", timedelta(days=10_000))
    cache = cache_with_nodes(1, replicas=1)
    replica = cache.nodes.get(role="replica")
    samples.write([reading(replica, replication_lag_bytes=4_000, master_link_up=True)])
    claimed = holding.claim(starting.start(cache, ScanOptions(), "gentle").pk, "w")
    assert claimed is not None
    run = Runner(claimed)

    run._write_books()

    assert run.engine.nodes[0].warden.watch.told_lag_bytes == 4_000.0


@pytest.mark.parametrize(("lag", "seconds", "expected"), [(5, 10, 5.0), (5, 90, None), (None, 10, None)])
def test_an_old_poll_says_nothing(lag: int | None, seconds: int, expected: float | None) -> None:
    now = datetime(2026, 11, 1, tzinfo=UTC)
    row: list[Any] = [None] * len(NodeLatest.NAMES)
    row[NodeLatest.POSITION["at"]] = now - timedelta(seconds=seconds)
    row[NodeLatest.POSITION["replication_lag_bytes"]] = lag

    assert lagging.lag_of(NodeLatest(row), now) == expected
    assert lagging.lag_of(None, now) is None


@pytest.mark.parametrize(
    ("refusal", "cause"),
    [
        (b"-NOPERM this user has no permissions to run the 'readonly' command\r\n", Cause.NO_PERMISSION),
        (b"-ERR unknown command 'READONLY'\r\n", Cause.ERROR_REPLY),
    ],
)
def test_a_replica_that_refuses_readonly_says_so(peer: Callable[[Script], Peer], refusal: bytes, cause: Cause) -> None:
    info = bulk(b"run_id:a\r\nrole:slave\r\nmaster_link_status:up\r\ncluster_enabled:1\r\ndb0:keys=9,expires=0\r\n")
    server = peer(answers({"INFO": info, "CLIENT": b"+OK\r\n", "READONLY": refusal}))
    scan = Scan(job(), [Target("127.0.0.1", server.port, "1", is_replica=True)])

    scan.run()

    node = scan.nodes[0]
    assert (node.state, node.failure and node.failure.cause, node.parts) == (State.FAILED, cause, [])
