from typing import Any

import hiredis
import pytest

from collectors.layout import Layout
from collectors.metrics.hot import HOT_INDEX
from collectors.sources.cluster import ClusterDetail, ClusterInfo, ClusterShards, ClusterSlots
from collectors.sources.config import ConfigLimits
from collectors.tests.peers import captured


def replied(name: str) -> Any:
    reader = hiredis.Reader()
    reader.feed(captured(name))
    return reader.gets()


def shape(layout: Layout | None) -> list[tuple[int, list[str]]]:
    """Return, for each shard, how many slots it has and the roles in it."""
    assert layout
    return [
        (sum(last - first + 1 for first, last in shard.slots), sorted(node.role for node in shard.nodes))
        for shard in layout.shards
    ]


THREE_SHARDS = [(5461, ["primary", "replica"]), (5461, ["primary", "replica"]), (5462, ["primary", "replica"])]


@pytest.mark.parametrize("server", ["valkey-9.1", "redis-7.0"])
def test_it_reads_the_same_layout_from_each_command(server: str) -> None:
    shards = ClusterShards("seed").parse([replied(f"{server}/cluster_shards.resp")]).layout
    slots = replied(f"{server}/cluster_slots.resp")
    nodes = ClusterSlots("seed").parse([slots, captured(f"{server}/cluster_nodes.txt")]).layout
    only_slots = ClusterSlots("seed").parse([slots, hiredis.ReplyError("NOPERM")]).layout

    assert shards
    assert nodes
    assert only_slots
    assert {*shards.nodes()} == {*nodes.nodes()}
    assert {*only_slots.nodes()} <= {*nodes.nodes()}
    assert [shard.slots for shard in shards.shards if shard.slots] == [shard.slots for shard in only_slots.shards]


def test_it_orders_shards_by_their_slots() -> None:
    layout = ClusterShards("seed").parse([replied("valkey-9.1/cluster_shards.resp")]).layout

    assert shape(layout) == THREE_SHARDS
    assert layout
    assert layout.shards[0].slots[0][0] == 0


def node(**fields: Any) -> list[Any]:
    given = {"id": b"a" * 40, "port": 6379, "ip": b"10.0.0.5", "endpoint": b"10.0.0.5", "role": b"master"} | fields
    return [part for name, value in given.items() for part in (name.replace("_", "-").encode(), value)]


def layout_of(*nodes: list[Any], tls: bool = False) -> Layout | None:
    return ClusterShards("seed.example", tls).parse([[[b"slots", [0, 16383], b"nodes", list(nodes)]]]).layout


PLACES: dict[str, tuple[dict[str, Any], tuple[str, int]]] = {
    "the endpoint": ({"endpoint": b"cache.example"}, ("cache.example", 6379)),
    "the address where the endpoint is not told": ({"endpoint": b"?"}, ("10.0.0.5", 6379)),
    "the address where the endpoint is null": ({"endpoint": None}, ("10.0.0.5", 6379)),
    "the seed where no address is known": ({"endpoint": b"", "ip": b""}, ("seed.example", 6379)),
}


@pytest.mark.parametrize("case", PLACES)
def test_it_reaches_nodes_at(case: str) -> None:
    fields, place = PLACES[case]
    layout = layout_of(node(**fields))

    assert layout
    assert [(found.host, found.port) for found in layout.nodes()] == [place]


def test_it_takes_the_port_of_tls_where_tls_is_used() -> None:
    plain, secure = (layout_of(node(tls_port=6380), tls=tls) for tls in (False, True))

    assert plain
    assert secure
    assert (plain.nodes()[0].port, secure.nodes()[0].port) == (6379, 6380)


NONSENSE: list[Any] = [
    None,
    b"text",
    [],
    [None, 1, b"x"],
    [[b"slots", [0], b"nodes", [[b"id"]]]],
    [[b"slots", b"x", b"nodes", [node(port=0), node(port=b"6379"), node(id=b"")]]],
]


@pytest.mark.parametrize("reply", NONSENSE)
def test_it_makes_no_layout_of_nonsense(reply: Any) -> None:
    assert ClusterShards("seed").parse([reply]).layout is None
    assert ClusterSlots("seed").parse([reply, None]).layout is None


def test_it_leaves_out_slots_that_cannot_be() -> None:
    layout = ClusterShards("seed").parse([[[b"slots", [0, 99, 50, 20000, -1, 3], b"nodes", [node()]]]]).layout

    assert layout
    assert layout.shards[0].slots == ((0, 99),)


def test_it_leaves_out_nodes_without_an_address() -> None:
    lines = b"aa :0@0 master,noaddr - 0 0 1 disconnected\n"
    lines += b"bb 10.0.0.6:6379@16379 myself,master - 0 0 2 connected 0 5-9 [7->-cc]\n"

    layout = ClusterSlots("seed").parse([[], lines]).layout

    assert layout
    assert [(found.identity, found.host) for found in layout.nodes()] == [("bb", "10.0.0.6")]
    assert layout.shards[0].slots == ((0, 0), (5, 9))


@pytest.mark.parametrize("server", ["valkey-9.1", "redis-7.0"])
def test_it_reads_the_health_of_a_cluster(server: str) -> None:
    text = captured(f"{server}/cluster_info.txt")

    row = ClusterInfo().parse([text]).hot
    detail = ClusterDetail().parse([text]).detail

    assert row
    names = ("cluster_state_ok", "cluster_slots_ok", "cluster_slots_fail", "cluster_known_nodes")
    assert [row[HOT_INDEX[name]] for name in names] == [True, 16384, 0, 6]
    assert detail["cluster_size"] == 3
    assert detail["cluster_stats_messages_sent"] > 0


def test_it_reads_limits_from_the_configuration() -> None:
    row = ConfigLimits().parse([[b"maxclients", b"4000"], [b"maxmemory", b"1048576"]]).hot

    assert row
    assert (row[HOT_INDEX["maxclients"]], row[HOT_INDEX["maxmemory"]]) == (4000, 1048576)


@pytest.mark.parametrize("reply", [None, [], [b"maxclients"], [b"maxclients", b"-5"], [b"maxclients", b"9" * 30]])
def test_it_reads_no_limit_from_nonsense(reply: Any) -> None:
    row = ConfigLimits().parse([reply, hiredis.ReplyError("NOPERM")]).hot

    assert row
    assert row[HOT_INDEX["maxclients"]] is None


def test_it_knows_nodes_that_the_others_gave_up() -> None:
    lines = b"aa 10.0.0.5:6379@16379 master,fail - 0 0 1 disconnected\n"
    lines += b"bb 10.0.0.6:6379@16379 myself,master - 0 0 2 connected 0-16383\n"
    lines += b"cc 10.0.0.7:6379@16379 slave,fail? bb 0 0 2 connected\n"

    listed = ClusterSlots("seed").parse([[], lines]).layout
    told = layout_of(node(health=b"online"), node(id=b"b" * 40, health=b"fail"))

    assert listed
    assert {found.identity: found.is_failed for found in listed.nodes()} == {"aa": True, "bb": False, "cc": False}
    assert told
    assert [found.is_failed for found in told.nodes()] == [False, True]
