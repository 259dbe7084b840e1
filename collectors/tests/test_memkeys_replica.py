"""memkeys --replica outside of clusters: a replica of the server named is read; that it has none is said."""

import asyncio
from collections.abc import Callable

import pytest

from collectors.connections import Access
from collectors.keyscan import targets
from collectors.keyscan.guards import replicas_in
from collectors.tests.keyscan import client_of
from collectors.tests.peers import Peer, Script, answers, bulk
from collectors.tests.test_memkeys import memkeys, report_of
from conftest import PATIENCE_SECONDS, ValkeyFactory
from fleet.addresses import Address
from launcher.waiting import until

PLAIN = Access(tls=False)


def found_for(info: bytes, peer: Callable[[Script], Peer], use_replicas: bool = True) -> targets.Target:
    server = peer(answers({"INFO": bulk(info), "CLIENT": b"+OK\r\n"}))
    seed = Address("127.0.0.1", server.port, False)
    (target,) = asyncio.run(targets.find([seed], PLAIN, use_replicas))
    return target


def test_the_replica_that_has_copied_most_is_read(peer: Callable[[Script], Peer]) -> None:
    info = b"role:master\r\nconnected_slaves:3\r\nslave0:ip=10.0.0.1,port=1,state=online,offset=5,lag=0\r\n"
    info += b"slave1:ip=10.0.0.2,port=2,state=online,offset=9,lag=0\r\n"
    info += b"slave2:ip=10.0.0.3,port=3,state=wait_bgsave,offset=99,lag=0\r\n"

    target = found_for(info, peer)

    assert (target.host, target.port, target.is_replica) == ("10.0.0.2", 2, True)


@pytest.mark.parametrize(
    ("info", "is_replica"),
    [
        (b"role:master\r\nconnected_slaves:0\r\n", False),
        (b"role:master\r\nconnected_slaves:1\r\nslave0:ip=10.0.0.1,port=1,state=wait_bgsave,offset=0\r\n", False),
        (b"role:slave\r\nmaster_link_status:up\r\nconnected_slaves:0\r\n", True),
        (b"nothing", False),
    ],
)
def test_the_server_itself_is_read_where_it_has_none(
    peer: Callable[[Script], Peer], info: bytes, is_replica: bool
) -> None:
    target = found_for(info, peer)

    assert (target.host, target.is_replica) == ("127.0.0.1", is_replica)


def test_nobody_looks_for_replicas_unasked(peer: Callable[[Script], Peer]) -> None:
    info = b"role:master\r\nconnected_slaves:1\r\nslave0:ip=10.0.0.1,port=1,state=online,offset=5,lag=0\r\n"

    assert found_for(info, peer, use_replicas=False).host == "127.0.0.1"


def test_it_reads_what_a_primary_says_of_its_replicas() -> None:
    info = {"connected_slaves": "2", "slave0": "ip=a,port=1,state=online", "slave1": "nonsense"}

    assert list(replicas_in(info)) == [{"ip": "a", "port": "1", "state": "online"}, {"nonsense": ""}]


def test_it_reads_the_replica_of_a_server(valkey_server: ValkeyFactory) -> None:
    primary, replica = valkey_server(), valkey_server()
    client_of(primary).mset({f"key:{number}": "x" for number in range(50)})
    client_of(replica).replicaof("127.0.0.1", primary.port)
    assert until(lambda: client_of(replica).info("replication")["master_link_status"] == "up", PATIENCE_SECONDS)
    assert until(lambda: client_of(primary).info("replication")["slave0"]["state"] == "online", PATIENCE_SECONDS)

    report = report_of(primary.url, "--brake", "fast", "--replica")

    (node,) = report["nodes"]
    assert (report["keys"], node["node"], node["role"]) == (50, f"127.0.0.1:{replica.port}", "replica")


def test_it_says_that_a_server_has_no_replica(valkey_server: ValkeyFactory) -> None:
    server = valkey_server()

    said = memkeys(server.url, "--brake", "fast", "--replica")

    assert f"127.0.0.1:{server.port} has no replica in good order: it is read itself." in said.stdout
    assert said.returncode == 0
