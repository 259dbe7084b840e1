"""Where a scanned cluster's shards are now: rows of a scan follow slots and primaries ahead of the next poll."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
import redis

from collectors import samples
from collectors.connections import Access
from collectors.failures import Cause, ReadError
from collectors.keyscan import concluding, runner, starting
from collectors.keyscan.job import UnservedError
from collectors.keyscan.models import Scan, ScanShard, ScanState
from collectors.keyscan.options import ScanOptions
from collectors.keyscan.reasons import Reason
from collectors.keyscan.surveying import Surveyor, slots_of
from collectors.keyscan.targets import Target
from collectors.tests.cast import cache_with_nodes, reading
from collectors.tests.keyscan import brute_force, scan_of
from collectors.tests.peers import OK, Peer, Script, answers, bulk
from collectors.tests.test_keyscan_cluster import fill_shards, move_slot
from conftest import ClusterFactory, ValkeyFactory
from fleet.models import Cache, Node

pytestmark = pytest.mark.django_db(transaction=True)
# As cache_with_nodes has them: primary and replica of two shards.
FIRST, SECOND = ((7010, 7011), (0, 8191)), ((7020, 7021), (8192, 16383))
Shape = tuple[tuple[int, ...], tuple[int, int]]


@dataclass
class Town:
    """A cluster of two shards as tables know it, and what its only answering server says of it."""

    cache: Cache
    replies: dict[str, bytes] = field(default_factory=dict)

    def says(self, *shards: Shape, failed: Sequence[int] = ()) -> None:
        """Let the server tell these shards: the ports of primary and replicas, and the slots."""
        lines = []
        for (primary, *replicas), (low, high) in shards:
            for port in (primary, *replicas):
                role = "master" if port == primary else "slave"
                flags, above = role + (",fail" if port in failed else ""), "-" if port == primary else f"id{primary}"
                slots = f" {low}-{high}" if port == primary else ""
                lines.append(f"id{port} 127.0.0.1:{port}@1{port} {flags} {above} 0 0 1 connected{slots}")
        self.replies["CLUSTER NODES"] = bulk("\n".join(lines).encode())

    def scan(self, **asked: Any) -> tuple[Scan, Surveyor]:
        scan = starting.start(self.cache, ScanOptions(**asked), "fast")
        return scan, Surveyor(scan, list(scan.shards.all()), Access(tls=False))


@pytest.fixture
def town(peer: Callable[[Script], Peer]) -> Town:
    cache = cache_with_nodes(2, replicas=1)
    replies = {"INFO": bulk(b"cluster_enabled:1\r\n"), "CLIENT": OK}
    server = peer(answers(replies))
    Cache.objects.filter(pk=cache.pk).update(address=server.url, topology="cluster")
    for shard, (_ports, slots) in zip(cache.shards.all(), (FIRST, SECOND), strict=True):
        shard.slots = [list(slots)]
        shard.save()
    lagging(cache)
    found = Town(Cache.objects.get(pk=cache.pk), replies)
    found.says(FIRST, SECOND)
    return found


def lagging(cache: Cache, **bytes_behind: int) -> None:
    """Let replicas report how far they are behind, by "p" and their port."""
    replicas = cache.nodes.filter(role="replica")
    told = [(node, bytes_behind.get(f"p{node.port}", 0)) for node in replicas]
    samples.write([reading(node, master_link_up=True, replication_lag_bytes=lag) for node, lag in told])


def ports(targets: Sequence[Target]) -> list[int]:
    return [target.port for target in targets]


def test_it_changes_nothing_where_nothing_moved(town: Town) -> None:
    scan, surveyor = town.scan()
    before = list(scan.shards.values())

    found = surveyor.survey()

    assert [(target.port, target.shard, target.slots) for target in found] == [
        (7011, "1", ((0, 8191),)),
        (7021, "2", ((8192, 16383),)),
    ]
    assert list(scan.shards.values()) == before


def test_it_gives_a_new_shard_a_row(town: Town) -> None:
    scan, surveyor = town.scan()
    town.says(FIRST, ((7020, 7021), (8192, 12000)), ((7030, 7031), (12001, 16383)))

    found = surveyor.survey()

    assert ports(found) == [7011, 7021, 7031]
    rows = [(shard.number, shard.address, shard.is_replica, slots_of(shard)) for shard in scan.shards.all()]
    assert rows[1:] == [
        (2, "127.0.0.1:7021", True, ((8192, 12000),)),
        (3, "127.0.0.1:7031", True, ((12001, 16383),)),
    ]
    assert len(surveyor.shards) == 3


def test_it_drops_the_row_of_a_shard_that_gave_all_its_slots_away(town: Town) -> None:
    scan, surveyor = town.scan()
    town.says(((7010, 7011), (0, 16383)))

    assert ports(surveyor.survey()) == [7011]
    assert [shard.number for shard in scan.shards.all()] == [1]


def test_it_forgets_the_checkpoint_of_what_moved(town: Town) -> None:
    scan, surveyor = town.scan()
    for shard in surveyor.shards:
        shard.checkpoint = b"cursor"
        shard.save()
    town.says(((7010, 7011), (0, 9000)), ((7020, 7021), (9001, 16383)), failed=[7021])

    with pytest.raises(UnservedError):
        surveyor.survey()
    town.says(((7010, 7011), (0, 9000)), ((7020, 7021), (9001, 16383)))
    surveyor.survey()

    assert [shard.checkpoint for shard in scan.shards.all()] == [None, None]


@pytest.mark.parametrize(("may_use_primary", "port"), [(True, 7010), (False, None)])
def test_it_goes_to_a_primary_only_where_that_is_allowed(town: Town, may_use_primary: bool, port: int | None) -> None:
    scan, surveyor = town.scan(may_use_primary=may_use_primary)
    town.says(FIRST, SECOND, failed=[7011])

    found = surveyor.relocate(Target("127.0.0.1", 7011, "1", True, None, ((0, 8191),)))

    assert (found.port if found else None) == port
    assert scan.shards.get(number=1).address == f"127.0.0.1:{port or 7011}"


def test_it_finds_the_replica_that_was_promoted(town: Town) -> None:
    _scan, surveyor = town.scan(may_use_primary=True)
    town.says(((7011, 7012), (0, 8191)), SECOND)

    found = surveyor.relocate(Target("127.0.0.1", 7010, "1", False, None, ((0, 8191),)))

    assert found is not None
    assert (found.port, found.is_replica, found.shard) == (7011, False, "1")


def test_it_leaves_other_rows_alone_when_one_node_is_lost(town: Town) -> None:
    scan, surveyor = town.scan()
    town.says(((7010, 7012), (0, 8000)), ((7020, 7022), (8001, 16383)))

    found = surveyor.relocate(Target("127.0.0.1", 7011, "1", True, None, ((0, 8191),)))

    assert found is not None
    assert [shard.address for shard in scan.shards.all()] == ["127.0.0.1:7012", "127.0.0.1:7021"]


def test_it_does_not_go_to_a_replica_that_lags(town: Town) -> None:
    Node.objects.create(
        cache=town.cache, shard=town.cache.shards.first(), identity="late", host="127.0.0.1", port=7012, role="replica"
    )
    lagging(town.cache, p7012=10**9)
    _scan, surveyor = town.scan()
    town.says(((7010, 7011, 7012), (0, 8191)), SECOND, failed=[7011])

    assert surveyor.relocate(Target("127.0.0.1", 7011, "1", True, None, ((0, 8191),))) is None


def test_it_does_not_take_a_node_from_another_scan(town: Town) -> None:
    _scan, surveyor = town.scan(shards=(1,))
    other, _surveyor = town.scan(shards=(2,))
    town.says(((7021,), (0, 16383)))
    Node.objects.filter(port=7021).update(shard=town.cache.shards.get(number=1))

    with pytest.raises(UnservedError):
        Surveyor(surveyor.scan, surveyor.shards, surveyor.access).survey()
    assert other.shards.get().address == "127.0.0.1:7021"


def test_it_says_that_no_server_tells(town: Town) -> None:
    _scan, surveyor = town.scan()
    Cache.objects.update(address="redis://127.0.0.1:1")

    with pytest.raises(ReadError) as caught:
        surveyor.survey()

    assert caught.value.cause is Cause.REFUSED


def test_a_scan_says_that_slots_are_where_it_may_not_look(valkey_server: ValkeyFactory) -> None:
    def survey() -> list[Target]:
        raise UnservedError

    scan = scan_of([valkey_server()], survey=survey)

    assert not scan.is_settled
    assert concluding.ending_of(scan, is_cancelled=False).cause == Reason.SLOTS_MOVED


def test_a_stored_scan_survives_slots_that_move(own_valkey_cluster: ClusterFactory) -> None:
    servers = own_valkey_cluster(shards=3, replicas=0)
    fill_shards(servers)
    expected = {name: size for server in servers for name, size in brute_force(server).items()}
    cache = cache_with_nodes(3)
    Cache.objects.filter(pk=cache.pk).update(address=servers[0].url, topology="cluster")
    asked: Any = redis.Redis(port=servers[0].port)
    by_port = owners(asked)
    for shard, server in zip(cache.shards.all(), servers, strict=True):
        shard.slots = by_port[server.port]
        shard.save()
        shard.nodes.update(port=server.port)
    scan = starting.start(Cache.objects.get(pk=cache.pk), ScanOptions(may_use_primary=True), "fast")
    slot = asked.execute_command("CLUSTER", "KEYSLOT", "{moving}")
    source = next(server for server in servers if any(a <= slot <= b for a, b in by_port[server.port]))
    move_slot(source, next(server for server in servers if server is not source), slot)

    runner.run(scan.pk)

    scan.refresh_from_db()
    assert (scan.state, scan.keys) == (ScanState.DONE, len(expected))
    live = owners(asked)
    for walked in ScanShard.objects.filter(scan=scan):
        assert [list(pair) for pair in slots_of(walked)] == live[int(walked.address.rpartition(":")[2])]


def owners(client: Any) -> dict[int, list[list[int]]]:
    """Return the ranges of slots of each primary by its port."""
    found: dict[int, list[list[int]]] = {}
    for line in client.execute_command("CLUSTER", "NODES", NEVER_DECODE=True).decode().splitlines():
        words = line.split()
        port = int(words[1].partition("@")[0].rpartition(":")[2])
        pairs = [word.split("-") for word in words[8:] if not word.startswith("[")]
        found[port] = [[int(pair[0]), int(pair[-1])] for pair in pairs]
    return found


def test_it_goes_from_a_replica_that_was_promoted_to_another(town: Town) -> None:
    scan, surveyor = town.scan()
    town.says(((7011, 7010, 7012), (0, 8191)), SECOND)

    found = surveyor.relocate(Target("127.0.0.1", 7011, "1", True, None, ((0, 8191),)))

    assert found is not None
    assert (found.port, found.is_replica) == (7010, True)
    assert scan.shards.get(number=1).checkpoint is None


def test_a_shard_that_was_walked_may_lose_its_replica(town: Town) -> None:
    scan, surveyor = town.scan()
    town.says(((7011,), (0, 8191)), SECOND)

    assert ports(surveyor.survey()) == [7011, 7021]
    assert [shard.is_replica for shard in scan.shards.all()] == [True, True]
