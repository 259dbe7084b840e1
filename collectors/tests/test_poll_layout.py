"""Layouts as odd servers tell them: without CLUSTER SHARDS, or with nodes that nobody can reach."""

import re
from collections.abc import Callable

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from collectors import probe
from collectors.models import NodeStatus
from collectors.pool import Pool
from collectors.tests import peers
from collectors.tests.conftest import Poller
from collectors.tests.peers import Peer, Script, bulk, captured
from fleet.models import Cache

CacheAt = Callable[..., Cache]
StartPeer = Callable[[Script], Peer]
REFUSALS = {
    "Redis 6.2": b"-ERR Unknown subcommand or wrong number of arguments for 'SHARDS'. Try CLUSTER HELP.\r\n",
    "Redis 4": b"-ERR Wrong CLUSTER subcommand or number of arguments\r\n",
    "Redis 7 of another brand": b"-ERR unknown subcommand 'SHARDS'. Try CLUSTER HELP.\r\n",
    "a proxy": b"-ERR the operation is denied by the proxy\r\n",
    "a proxy without codes": b"-you may not do this\r\n",
    "an empty answer": b"*0\r\n",
    "another kind of answer": b"+OK\r\n",
    "null": b"$-1\r\n",
}
LAYOUT = bulk(
    b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 127.0.0.1:%d@1 myself,master - 0 0 1 connected 0-8191\n"
    b"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb 127.0.0.1:%d@2 master - 0 0 2 connected 8192-16383\n"
)
CLUSTER_INFO = bulk(b"cluster_enabled:1\r\ncluster_state:ok\r\ncluster_slots_ok:16384\r\ncluster_known_nodes:2\r\n")


class OldCluster:
    """Two scripted nodes of a cluster that answer CLUSTER SHARDS as they are told to."""

    def __init__(self, start: StartPeer) -> None:
        self.seen: list[str] = []
        self.replies = {
            "INFO": bulk(captured("redis-7.0/info_primary.txt").replace(b"cluster_enabled:0", b"cluster_enabled:1")),
            "CLUSTER INFO": CLUSTER_INFO,
        }
        self.nodes = [start(peers.answers(self.replies, self.seen)) for _ in range(2)]
        self.replies["CLUSTER NODES"] = self.layout()

    def layout(self) -> bytes:
        ports = tuple(node.port for node in self.nodes)
        return bulk(LAYOUT.split(b"\r\n", 1)[1].removesuffix(b"\r\n") % ports)


@pytest.fixture
def old_cluster(peer: StartPeer) -> OldCluster:
    return OldCluster(peer)


@pytest.mark.parametrize("words", REFUSALS)
def test_it_finds_the_shards_without_cluster_shards_at_registration(
    words: str, old_cluster: OldCluster, cache_at: CacheAt
) -> None:
    old_cluster.replies["CLUSTER SHARDS"] = REFUSALS[words]

    discovery = probe.discover(cache_at(old_cluster.nodes[0].url))

    assert (discovery.ok, discovery.sentence) == (True, "Found 2 shards with 2 nodes.")


@pytest.mark.parametrize("words", REFUSALS)
def test_it_goes_on_with_what_worked(
    words: str, old_cluster: OldCluster, cache_at: CacheAt, poller: Poller, settings: Settings
) -> None:
    old_cluster.replies["CLUSTER SHARDS"] = REFUSALS[words]
    settings.TOPOLOGY_INTERVAL_SECONDS = 0
    cache = cache_at(old_cluster.nodes[0].url)
    for _ in range(2):
        poller.poll(cache)
    old_cluster.seen.clear()

    poller.poll(cache)

    assert "CLUSTER NODES" in old_cluster.seen
    assert "CLUSTER SHARDS" not in old_cluster.seen


def test_it_tries_the_better_command_again_after_a_while(
    old_cluster: OldCluster, cache_at: CacheAt, poller: Poller, settings: Settings
) -> None:
    old_cluster.replies["CLUSTER SHARDS"] = REFUSALS["Redis 6.2"]
    settings.TOPOLOGY_INTERVAL_SECONDS = 0
    cache = cache_at(old_cluster.nodes[0].url)
    poller.poll(cache)
    settings.COMMAND_RECHECK_SECONDS = 0
    old_cluster.seen.clear()

    poller.poll(cache)

    assert "CLUSTER SHARDS" in old_cluster.seen


def test_it_asks_each_command_once_a_poll_where_none_helps(
    old_cluster: OldCluster, cache_at: CacheAt, poller: Poller
) -> None:
    for name in ("SHARDS", "SLOTS", "NODES"):
        old_cluster.replies[f"CLUSTER {name}"] = REFUSALS["a proxy"]
    cache = cache_at(old_cluster.nodes[0].url)

    poller.poll(cache)

    assert [old_cluster.seen.count(f"CLUSTER {name}") for name in ("SHARDS", "SLOTS", "NODES")] == [1, 1, 1]
    assert cache.nodes.present().count() == 1


def test_it_follows_a_layout_that_is_told_later(old_cluster: OldCluster, cache_at: CacheAt, poller: Poller) -> None:
    for name in ("SHARDS", "NODES"):
        old_cluster.replies[f"CLUSTER {name}"] = b"-LOADING Redis is loading the dataset in memory\r\n"
    cache = cache_at(old_cluster.nodes[0].url)
    poller.poll(cache)

    old_cluster.replies["CLUSTER NODES"] = old_cluster.layout()
    for _ in range(2):
        poller.poll(cache)

    assert cache.shards.count() == 2


@pytest.fixture
def primary(peer: StartPeer) -> tuple[Peer, dict[str, bytes]]:
    """A standalone primary and its replies: its one replica listens nowhere."""
    replies = {"INFO": with_replica(peers.closed_port())}
    return peer(peers.answers(replies)), replies


def with_replica(*ports: int) -> bytes:
    lines = [b"slave%d:ip=127.0.0.1,port=%d,state=online,offset=1,lag=0" % (n, port) for n, port in enumerate(ports)]
    text = captured("redis-7.0/info_primary.txt")
    return bulk(re.sub(rb"slave0:.*", b"\r\n".join(lines), text))


def test_it_lets_a_replica_leave_that_never_answered_and_is_gone(
    primary: tuple[Peer, dict[str, bytes]], cache_at: CacheAt, poller: Poller
) -> None:
    server, replies = primary
    cache = cache_at(server.url)
    for _ in range(2):
        poller.poll(cache)
    before = cache.nodes.present().count()

    replies["INFO"] = with_replica()
    poller.poll(cache)

    assert (before, cache.nodes.present().count()) == (2, 1)


def test_it_keeps_a_replica_for_a_while_that_answered_to_an_earlier_process(
    primary: tuple[Peer, dict[str, bytes]], cache_at: CacheAt, poller: Poller
) -> None:
    server, replies = primary
    cache = cache_at(server.url)
    for _ in range(2):
        poller.poll(cache)
    NodeStatus.objects.update(answered_at=timezone.now())
    poller.pool.close()
    poller.pool = Pool()

    replies["INFO"] = with_replica()
    for _ in range(2):
        poller.poll(cache)

    assert cache.nodes.present().count() == 2
