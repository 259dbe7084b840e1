"""A replica that is promoted while it is scanned: another one is read, or the scan pauses; no primary unasked."""

from collections.abc import Callable
from typing import Any

import pytest

from collectors.keyscan import runner, starting
from collectors.keyscan.brake import BRAKES, interval
from collectors.keyscan.models import Scan, ScanShard, ScanState
from collectors.keyscan.options import ScanOptions
from collectors.keyscan.progress import State
from collectors.keyscan.reasons import Reason, words
from collectors.keyscan.scan import Scan as Engine
from collectors.tests.keyscan import client_of, fill, job, target_of
from collectors.tests.test_keyscan_runner import cluster_cache, in_background, until
from conftest import PATIENCE_SECONDS, ClusterFactory, ValkeyFactory
from launcher.valkey import Valkey

pytestmark = pytest.mark.django_db(transaction=True)
KEYS = 12_000


@pytest.fixture
def servers(own_valkey_cluster: ClusterFactory) -> list[Valkey]:
    """Three primaries and their replicas, with keys."""
    made = own_valkey_cluster()
    fill(*made[:3], keys=KEYS, prefix="user:", least=30, replicas=1)
    return made


def role_of(server: Valkey) -> str:
    client: Any = client_of(server)
    return str(client.role()[0].decode())


def scans_of(server: Valkey) -> int:
    """Return how many SCANs a server has answered."""
    stats: Any = client_of(server).info("commandstats")
    return int(stats.get("cmdstat_scan", {"calls": 0})["calls"])


def state_of(scan: Scan) -> str:
    return Scan.objects.get(pk=scan.pk).state


def is_known_as_replica(server: Valkey, of: Valkey) -> Callable[[], bool]:
    """Return the claim that a node of the cluster sees another one, up, as a replica."""

    def claim() -> bool:
        client: Any = client_of(of)
        found = client.execute_command("CLUSTER", "NODES", NEVER_DECODE=True).decode()
        line = next(line for line in found.splitlines() if f":{server.port}@" in line)
        return "slave" in line and "fail" not in line and line.endswith("connected")

    return claim


def test_it_reads_no_primary_that_was_a_replica_when_it_began(
    servers: list[Valkey], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(BRAKES, "gentle", interval(3.0))
    monkeypatch.setattr(runner, "REPLICA_PATIENCE_SECONDS", 0.5)
    primary, replica = servers[0], servers[3]
    scan = starting.start(cluster_cache(servers), ScanOptions(), "gentle")
    thread = in_background(scan)
    until(lambda: ScanShard.objects.get(scan=scan, number=1).keys > 0, "the first shard is walked")

    client_of(replica).execute_command("CLUSTER", "FAILOVER")  # type: ignore[no-untyped-call]
    until(lambda: role_of(replica) == "master", "the replica is promoted")
    primary.kill()

    until(lambda: state_of(scan) == ScanState.PAUSED, "the scan pauses")
    (last,) = scan.changes.filter(state=ScanState.PAUSED)
    assert (last.cause, last.data["shard"]) == (Reason.PROMOTED, "1")
    # The old primary is a replica for a moment before it is killed: the scan may have been sent there.
    assert last.data["address"] in {f"127.0.0.1:{server.port}" for server in (replica, primary)}
    read = scans_of(replica)

    primary.start()
    until(is_known_as_replica(primary, servers[1]), "the old primary is a replica")
    until(lambda: "master_link_status:up" in str(primary.ask("INFO", "replication")), "it has the keys again")
    starting.resume(scan)
    starting.set_brake(scan, "fast")
    thread.join(PATIENCE_SECONDS)

    scan.refresh_from_db()
    shard = scan.shards.get(number=1)
    assert (scan.state, scan.keys) == (ScanState.DONE, KEYS)
    assert (shard.address, shard.is_replica) == (f"127.0.0.1:{primary.port}", True)
    assert scans_of(replica) == read


def test_a_node_that_is_a_primary_is_left_alone(valkey_server: ValkeyFactory) -> None:
    server = valkey_server()
    client_of(server).set("a", "b")
    made = job(may_use_primary=False)
    scan = Engine(made, [target_of(server, is_replica=True)], lambda _seen: made.control.stop())

    scan.run()

    (node,) = scan.nodes
    assert (node.state, node.visited, scans_of(server)) == (State.STOPPED, 0, 0)
    assert node.bereft_since is not None


def test_the_pause_says_why_and_what_to_do() -> None:
    said = words(Reason.PROMOTED, {"address": "10.0.0.5:6379", "shard": "1"})

    assert said.startswith("10.0.0.5:6379, the replica that was read for shard 1, is a primary by now")
    assert "Resume the scan once it has one, or cancel it" in said
