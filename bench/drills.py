"""Faults made on purpose in the running product, each with what must hold afterwards."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from signal import SIGCONT, SIGINT, SIGKILL, SIGSTOP
from typing import Any

import psycopg

from bench.product import Product
from bench.receivers import Receivers
from launcher.waiting import until

PRESENT = "SELECT id FROM fleet_node WHERE left_at IS NULL"
# The longest time between two samples of a node since a moment.
LONGEST_GAP = (
    "SELECT COALESCE(max(extract(epoch FROM at - before)), 0)::float8 FROM (SELECT at,"
    " lag(at) OVER (PARTITION BY node_id ORDER BY at) AS before FROM sample WHERE at >= %s) AS pairs"
)
GAME_NODES = (
    "SELECT n.id, n.role, status.failing_since IS NOT NULL FROM fleet_node n JOIN fleet_cache c ON c.id = n.cache_id"
    " LEFT JOIN collectors_nodestatus status ON status.node_id = n.id WHERE c.name = 'game-cache' AND n.left_at IS NULL"
)


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long faults last, and what the product is told about its periods."""

    interval_seconds: int
    restarts: int
    beat_stop_seconds: float
    # How long nobody may be paged of a healthy fleet.
    quiet_seconds: float
    settings: Mapping[str, str]

    @property
    def patience_seconds(self) -> float:
        """How long a recovery may take: a start of the slowest part, a lost worker or lease, and two polls."""
        return 60 + 4 * self.interval_seconds


REAL = Lengths(15, 10, 600, 3_600, {})
SHORT = Lengths(
    1,
    2,
    6,
    10,
    {
        "SHARDWATCH_POLL_INTERVAL_SECONDS": "1",
        "SHARDWATCH_POLL_TICK_SECONDS": "1",
        "SHARDWATCH_POLL_WORKER_LOST_SECONDS": "6",
        "SHARDWATCH_POLL_CONNECT_TIMEOUT_SECONDS": "1",
        "SHARDWATCH_POLL_COMMAND_TIMEOUT_SECONDS": "1",
        "SHARDWATCH_TOPOLOGY_INTERVAL_SECONDS": "5",
        "SHARDWATCH_READY_BEAT_SECONDS": "5",
        "SHARDWATCH_READY_POLL_SECONDS": "30",
    },
)


class DrillError(Exception):
    """What had to hold did not."""


@dataclass(slots=True)
class Drill:
    """One drill on one running product; facts are what was seen, in the order in which it was."""

    product: Product
    lengths: Lengths
    receivers: Receivers
    facts: dict[str, Any] = field(default_factory=dict)
    began: datetime = field(default_factory=lambda: datetime.now(UTC))

    def require(self, claim: Callable[[], bool], what: str, seconds: float | None = None) -> float:
        """Wait until the claim holds and return how long that took. Raise DrillError where it never does."""
        begun = time.monotonic()
        limit = seconds or self.lengths.patience_seconds
        if not until(lambda: _holds(claim), limit, step=0.2):
            raise DrillError(f"{what}: not within {limit:.0f} s")
        return round(time.monotonic() - begun, 1)

    def samples(self) -> set[tuple[Any, ...]]:
        return set(self.product.ask("SELECT node_id, at FROM sample"))

    def all_sampled_since(self, moment: datetime, but: int = 0) -> Callable[[], bool]:
        """Return the claim that every node but one has a sample of a tick after this moment."""

        def claim() -> bool:
            fresh = self.product.ask("SELECT DISTINCT node_id FROM sample WHERE at > %s", moment)
            return {row[0] for row in self.product.ask(PRESENT)} - {but} <= {row[0] for row in fresh}

        return claim

    def recover(self, moment: datetime, before: set[tuple[Any, ...]]) -> None:
        """Wait for samples of all nodes after the fault; note how long, the gap, and that none from before is gone."""
        took = self.require(self.all_sampled_since(moment), "samples of all nodes")
        self.facts.setdefault("recovered_after_seconds", []).append(took)
        lost = len(before - self.samples())
        self.facts["samples_lost"] = self.facts.get("samples_lost", 0) + lost
        self.facts["longest_gap_seconds"] = self.product.ask(LONGEST_GAP, self.began - timedelta(seconds=30))[0][0]
        if lost:
            raise DrillError(f"{lost} stored samples are gone")


def _holds(claim: Callable[[], bool]) -> bool:
    try:
        return claim()
    except psycopg.Error:
        # The database may be the part that is away.
        return False


def _kill_often(drill: Drill, name: str, times: int, polite: bool = False) -> None:
    """Kill a part at different moments of the polls, waiting each time until it is made up for."""
    for number in range(times):
        interval = drill.lengths.interval_seconds
        # Polls begin on the grid and are written within some tenths of a second.
        time.sleep(interval - time.time() % interval + 0.1 * (number % 5))
        before = drill.samples()
        moment = datetime.now(UTC)
        drill.product.signal(name, SIGINT if polite and number % 2 else SIGKILL)
        drill.recover(moment, before)
    drill.facts["kills"] = times


def postgres_restart(drill: Drill) -> None:
    """Postgres goes down in the middle of writes, killed and stopped in turn."""
    _kill_often(drill, "database", drill.lengths.restarts, polite=True)


def broker_restart(drill: Drill) -> None:
    """The broker is killed while polls are handed out."""
    _kill_often(drill, "broker", max(1, drill.lengths.restarts // 2))


def worker_kill(drill: Drill) -> None:
    """The poller is killed in the middle of a poll: its leases end and its caches are polled again."""
    _kill_often(drill, "poller", max(1, drill.lengths.restarts // 2))


def node_kill(drill: Drill) -> None:
    """A primary is killed: a replica takes over, the rest is watched on, and the dead node comes back as a replica."""
    primaries = _game_nodes(drill, "primary", failing=False)
    moment = datetime.now(UTC)
    drill.product.manage("demo_trouble", "kill-node")
    drill.facts["killed_at"] = time.time()
    wait = drill.require(lambda: bool(_game_nodes(drill, None, failing=True)), "the dead node is seen")
    drill.facts["seen_dead_after_seconds"] = wait
    (dead,) = _game_nodes(drill, None, failing=True)
    wait = drill.require(lambda: bool(_new_primary(drill, primaries)), "a replica is seen as primary")
    drill.facts["seen_failover_after_seconds"] = wait
    drill.require(drill.all_sampled_since(datetime.now(UTC), but=dead), "samples of all other nodes")
    drill.product.manage("demo_trouble", "stop")
    wait = drill.require(lambda: dead in _game_nodes(drill, "replica", failing=False), "the node is back as a replica")
    drill.facts["back_after_seconds"] = wait
    drill.facts["dead"] = drill.product.ask("SELECT host || ':' || port FROM fleet_node WHERE id = %s", dead)[0][0]
    drill.facts["whole_seconds"] = round((datetime.now(UTC) - moment).total_seconds(), 1)


def _game_nodes(drill: Drill, role: str | None, failing: bool) -> set[int]:
    rows = drill.product.ask(GAME_NODES)
    return {node for node, has, fails in rows if fails is failing and role in {None, has}}


def _new_primary(drill: Drill, primaries: set[int]) -> set[int]:
    return _game_nodes(drill, "primary", failing=False) - primaries


def beat_stop(drill: Drill) -> None:
    """Beat stands still: /readyz says so, and afterwards polls go on without catching up on the time between.

    Nodes that nobody asked are not silent: no page comes of it, not then and not afterwards.
    """
    begun = time.time()
    product, interval = drill.product, timedelta(seconds=drill.lengths.interval_seconds)
    before = drill.samples()
    product.signal("beat", SIGSTOP)
    stopped = datetime.now(UTC)
    try:
        wait = drill.require(
            lambda: product.status_of("/readyz") == HTTPStatus.SERVICE_UNAVAILABLE, "/readyz is red", 120
        )
        drill.facts["red_after_seconds"] = wait
        time.sleep(max(0.0, drill.lengths.beat_stop_seconds - wait))
    finally:
        product.signal("beat", SIGCONT)
    went_on = datetime.now(UTC)
    drill.facts["stopped_seconds"] = round((went_on - stopped).total_seconds(), 1)
    drill.recover(went_on, before)
    drill.require(lambda: product.status_of("/readyz") == HTTPStatus.OK, "/readyz is green")
    between = "SELECT count(*) FROM sample WHERE at > %s AND at < %s"
    late = product.ask(between, stopped + 2 * interval, went_on - 2 * interval)[0][0]
    drill.facts["polls_made_up_for"] = late
    if late:
        raise DrillError(f"{late} samples carry ticks of the time without beat")
    drill.facts["pages"] = len(drill.receivers.pages(begun))
    if drill.facts["pages"]:
        raise DrillError(f"{drill.facts['pages']} pages came of it")


DRILLS: dict[str, Callable[[Drill], None]] = {
    "postgres-restart": postgres_restart,
    "broker-restart": broker_restart,
    "worker-kill": worker_kill,
    "node-kill": node_kill,
    "beat-stop": beat_stop,
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a drill went."""

    name: str
    held: bool
    seconds: float
    facts: dict[str, Any]
    reason: str = ""


def run(name: str, act: Callable[[Drill], None], drill: Drill) -> Outcome:
    """Run one drill on a product whose every node is sampled."""
    reason = ""
    try:
        drill.require(drill.all_sampled_since(drill.began), "samples of all nodes before the fault")
        act(drill)
    except (DrillError, RuntimeError, OSError, psycopg.Error) as error:
        reason = f"{error}"
    return Outcome(name, not reason, round((datetime.now(UTC) - drill.began).total_seconds(), 1), drill.facts, reason)
