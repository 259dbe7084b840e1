"""Scans of clusters: all shards at once, and right though a primary dies or slots move meanwhile."""

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from collectors.connections import Access
from collectors.failures import Cause, ReadError
from collectors.keyscan import targets
from collectors.keyscan.progress import State
from collectors.keyscan.scan import Scan
from collectors.keyscan.targets import Target
from collectors.tests.keyscan import brute_force, client_of, fill, job
from conftest import PATIENCE_SECONDS, ClusterFactory
from fleet.addresses import Address
from launcher.valkey import Valkey
from launcher.waiting import until

ACCESS = Access(tls=False)
KEYS = 6_000


def find(nodes: Sequence[Valkey], use_replicas: bool = False) -> list[Target]:
    seeds = [Address("127.0.0.1", node.port, tls=False) for node in nodes]
    return asyncio.run(targets.find(seeds, ACCESS, use_replicas))


def fill_shards(primaries: Sequence[Valkey]) -> None:
    fill(*primaries, keys=KEYS, sizes=200)
    fill(*primaries, keys=300, prefix="{moving}:", least=100)


def cluster_scan(nodes: Sequence[Valkey], brake: str = "fast", use_replicas: bool = False) -> Scan:
    made = job(
        brake,
        survey=lambda: find(nodes, use_replicas),
        relocate=lambda target: targets.serving(target, find(nodes, use_replicas)),
    )
    return Scan(made, find(nodes, use_replicas))


def started(scan: Scan) -> threading.Thread:
    thread = threading.Thread(target=scan.run)
    thread.start()
    assert until(lambda: all(node.visited for node in scan.nodes), PATIENCE_SECONDS)
    return thread


def totals(scan: Scan) -> tuple[int, int]:
    parts = [part for node in scan.nodes for part in node.parts]
    return sum(part.aggregate.keys for part in parts), sum(part.aggregate.bytes for part in parts)


def sizes(nodes: Sequence[Valkey]) -> list[int]:
    return [client_of(node).dbsize() for node in nodes]


def truth(nodes: Sequence[Valkey]) -> tuple[int, int]:
    found = [size for node in nodes for size in brute_force(node).values()]
    return len(found), sum(found)


@pytest.mark.parametrize("use_replicas", [False, True])
def test_it_walks_all_shards_at_once(own_valkey_cluster: ClusterFactory, use_replicas: bool) -> None:
    nodes = own_valkey_cluster(shards=3, replicas=1)
    fill_shards(nodes[:3])
    assert until(lambda: sizes(nodes[:3]) == sizes(nodes[3:]), PATIENCE_SECONDS)
    scan = cluster_scan(nodes, use_replicas=use_replicas)

    scan.run()

    assert [each.target.is_replica for each in scan.nodes] == [use_replicas] * 3
    assert totals(scan)[0] == KEYS + 300


def test_it_ends_right_though_a_primary_dies(own_valkey_cluster: ClusterFactory) -> None:
    nodes = own_valkey_cluster(shards=3, replicas=1)
    fill_shards(nodes[:3])
    assert until(lambda: sizes(nodes[:3]) == sizes(nodes[3:]), PATIENCE_SECONDS)
    scan = cluster_scan(nodes, "gentle")
    thread = started(scan)

    nodes[0].kill()
    scan.job.control.set_brake("fast")
    thread.join(60)

    assert not thread.is_alive()
    assert [node.state for node in scan.nodes] == [State.DONE] * 3
    assert {node.target.port for node in scan.nodes} == {nodes[1].port, nodes[2].port, nodes[3].port}
    assert totals(scan)[0] == KEYS + 300


def move_slot(source: Valkey, target: Valkey, slot: int) -> None:
    """Give a slot with all its keys to another primary."""
    giver: Any = client_of(source)
    taker: Any = client_of(target)
    ids = [client.execute_command("CLUSTER", "MYID").decode() for client in (giver, taker)]
    taker.execute_command("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[0])
    giver.execute_command("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[1])
    keys = giver.execute_command("CLUSTER", "GETKEYSINSLOT", slot, 10_000)
    giver.execute_command("MIGRATE", "127.0.0.1", target.port, "", 0, 5_000, "KEYS", *keys)
    for client in (taker, giver):
        client.execute_command("CLUSTER", "SETSLOT", slot, "NODE", ids[1])


def test_it_ends_right_though_slots_move(own_valkey_cluster: ClusterFactory) -> None:
    nodes = own_valkey_cluster(shards=3, replicas=0)
    fill_shards(nodes[:3])
    expected = truth(nodes)
    slot = int(client_of(nodes[0]).execute_command("CLUSTER", "KEYSLOT", "{moving}"))  # type: ignore[no-untyped-call]
    owner = next(n for n, target in enumerate(find(nodes[:1])) if any(a <= slot <= b for a, b in target.slots))
    ports = [target.port for target in find(nodes[:1])]
    source = next(node for node in nodes if node.port == ports[owner])
    other = next(node for node in nodes if node.port != ports[owner])
    scan = cluster_scan(nodes)
    # The giver is walked before, the taker after the move: without another look the keys would count twice.
    asyncio.run(next(node for node in scan.nodes if node.target.port == source.port).run())
    move_slot(source, other, slot)

    scan.run()

    assert scan.is_settled
    assert totals(scan)[0] == expected[0]


def test_it_finds_the_layout_though_the_first_address_is_dead(own_valkey_cluster: ClusterFactory) -> None:
    nodes = own_valkey_cluster(shards=3, replicas=1)
    nodes[3].kill()

    assert len(find([nodes[3], nodes[1]])) == 3


def test_it_says_why_nobody_answers() -> None:
    with pytest.raises(ReadError) as caught:
        asyncio.run(targets.find([Address("127.0.0.1", 1, tls=False)], ACCESS, use_replicas=False))

    assert caught.value.cause is Cause.REFUSED


@pytest.mark.parametrize(("slot", "port"), [(0, 1), (99, 1), (100, 2), (200, None)])
def test_it_knows_who_serves_a_slot(slot: int, port: int | None) -> None:
    found = [Target("h", 1, slots=((0, 99),)), Target("h", 2, slots=((100, 150),))]

    served = targets.serving(Target("h", 9, slots=((slot, slot),)), found)

    assert (served.port if served else None) == port


def test_it_looks_for_no_other_node_outside_of_clusters() -> None:
    alone = Target("h", 9)

    assert targets.serving(alone, [Target("h", 1)]) is alone
