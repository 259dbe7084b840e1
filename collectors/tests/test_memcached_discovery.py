"""Lists of nodes as discovery endpoints tell them: read, followed, and doubted where they are none."""

from collections.abc import Callable

import hiredis
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest_django.fixtures import Settings

from collectors.event import Event, Kind
from collectors.failures import Cause
from collectors.memcached.discovery import NODES_LIMIT, ConfigCluster, read_config
from collectors.models import NodeStatus
from collectors.tests.conftest import Poller
from collectors.tests.memcached import answers, node_list
from collectors.tests.peers import Peer, captured, closed_port
from fleet.engines import Engine
from fleet.models import Cache, Topology

CacheAt = Callable[..., Cache]
PeerAt = Callable[..., Peer]
STATS = {"stats": captured("memcached-1.6/stats.txt") + b"END\r\n"}


def value(version: object, *entries: str) -> bytes:
    return f"{version}\n{' '.join(entries)}\n".encode()


@pytest.mark.parametrize(
    ("entry", "place"),
    [
        ("a.example|10.0.0.1|11211", ("a.example", 11_211)),
        ("10.0.0.1|10.0.0.1|11211", ("10.0.0.1", 11_211)),
        ("|10.0.0.1|11211", ("10.0.0.1", 11_211)),
        ("a.example||11212", ("a.example", 11_212)),
        ("|2001:db8::1|11211", ("2001:db8::1", 11_211)),
    ],
)
def test_an_entry_names_a_node(entry: str, place: tuple[str, int]) -> None:
    assert read_config(value(3, entry)) == (3, [place])


@pytest.mark.parametrize(
    "reply",
    [
        None,
        hiredis.ReplyError("ERROR"),
        b"",
        b"\n",
        b"1\n",
        b"1\n\n",
        b"x\na|1.1.1.1|1\n",
        b"-1\na|1.1.1.1|1\n",
        b"9999999999999999\na|1.1.1.1|1\n",
        b"1\na|1.1.1.1\n",
        b"1\na|1.1.1.1|0\n",
        b"1\na|1.1.1.1|65536\n",
        b"1\n||11211\n",
        b"1\na b|1.1.1.1|11211\n",
        b"1\na|1.1.1.1|11211 <html>\n",
    ],
)
def test_what_is_no_list_is_not_half_a_list(reply: object) -> None:
    assert read_config(reply) is None  # type: ignore[arg-type]


@given(st.binary(max_size=60))
@settings(max_examples=100, deadline=None)
def test_no_bytes_break_the_reading(noise: bytes) -> None:
    source = ConfigCluster()

    for reply in (noise, b"1\n" + noise, b"1\na|1.1.1.1|1 " + noise):
        layout = source.parse([reply]).layout
        assert layout is None or all(node.host and 0 < node.port < 65_536 for node in layout.nodes())


def test_a_node_named_twice_is_one() -> None:
    assert read_config(value(1, "a|1.1.1.1|1", "a|1.1.1.1|1")) == (1, [("a", 1)])


def test_of_a_list_that_is_too_long_the_same_nodes_are_watched_in_any_order() -> None:
    entries = [f"h{number:04}|1.1.1.1|1" for number in range(NODES_LIMIT + 100)]

    told = [read_config(value(1, *given)) for given in (entries, entries[::-1])]

    assert told[0] == told[1]
    assert told[0]
    assert (len(told[0][1]), told[0][1][-1]) == (NODES_LIMIT, ("h0499", 1))


def test_a_list_as_long_as_it_may_be_keeps_its_order() -> None:
    entries = [f"h{number:04}|1.1.1.1|1" for number in reversed(range(NODES_LIMIT))]

    told = read_config(value(1, *entries))

    assert told
    assert (len(told[1]), told[1][0]) == (NODES_LIMIT, ("h0499", 1))


def test_each_node_is_a_shard_of_its_own() -> None:
    layout = ConfigCluster().parse([value(1, "a|1.1.1.1|1", "b|1.1.1.2|1")]).layout

    assert layout
    assert (layout.kind, len(layout.shards), layout.complete) == (Topology.SHARDED, 2, True)


def test_a_lower_version_is_believed_at_the_second_time() -> None:
    source = ConfigCluster()
    before = source.parse([value(7, "a|1.1.1.1|1")]).layout

    first, second = (source.parse([value(2, "b|1.1.1.2|1")]).layout for _ in range(2))

    assert first == before
    assert second
    assert [node.host for node in second.nodes()] == ["b"]


class Service:
    """A discovery endpoint whose list a test may change, and the nodes that it names."""

    def __init__(self, peer: PeerAt, nodes: int) -> None:
        self.nodes = [peer(answers(STATS)) for _ in range(nodes)]
        self.asked: list[str] = []
        self.replies = {"config get cluster": b""}
        self.endpoint = peer(answers(self.replies, self.asked))
        self.port = self.endpoint.port
        self.tell(1, self.nodes)

    def tell(self, version: int, nodes: list[Peer]) -> None:
        entries = (f"127.0.0.1|127.0.0.1|{node.port}" for node in nodes)
        self.replies["config get cluster"] = node_list(version, *entries)

    @property
    def url(self) -> str:
        return f"memcached+discovery://127.0.0.1:{self.port}"

    def status(self, cache: Cache) -> NodeStatus:
        return NodeStatus.objects.get(node__cache=cache, node__port=self.port)


@pytest.fixture
def service(peer: PeerAt) -> Service:
    return Service(peer, 2)


@pytest.fixture
def always(settings: Settings) -> None:
    """Ask the endpoint at every poll."""
    settings.TOPOLOGY_INTERVAL_SECONDS = 0


def ports(cache: Cache) -> set[int]:
    return set(cache.nodes.present().values_list("port", flat=True))


def test_the_nodes_of_an_endpoint_are_found_and_polled(poller: Poller, cache_at: CacheAt, service: Service) -> None:
    cache = cache_at(service.url)

    poller.poll(cache)
    poller.poll(cache)

    cache.refresh_from_db()
    assert ports(cache) == {node.port for node in service.nodes}
    assert (cache.engine, cache.topology) == (Engine.MEMCACHED, Topology.SHARDED)
    assert all(poller.sample(node, "keys") == (3_671,) for node in cache.nodes.present())


def test_the_endpoint_is_asked_for_no_numbers(poller: Poller, cache_at: CacheAt, service: Service) -> None:
    cache = cache_at(service.url)

    poller.poll(cache)
    poller.poll(cache)

    assert [line for line in service.asked if line != "version"] == ["config get cluster"]
    assert service.status(cache).failing_since is None


@pytest.mark.usefixtures("always")
def test_nodes_that_come_and_go_are_followed(poller: Poller, cache_at: CacheAt, peer: PeerAt, service: Service) -> None:
    cache, new = cache_at(service.url), peer(answers(STATS))
    poller.poll(cache)
    poller.poll(cache)

    service.tell(2, [service.nodes[0], new])
    poller.poll(cache)

    assert ports(cache) == {service.nodes[0].port, new.port}
    kinds = set(Event.objects.filter(cache=cache).values_list("kind", flat=True))
    assert {Kind.SCALING, Kind.JOINED, Kind.LEFT} <= kinds


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize(
    "reply",
    [b"ERROR\r\n", b"END\r\n", node_list(2), node_list(2, "no entry"), node_list("x", "a|1.1.1.1|1")],
    ids=["error", "nothing", "no nodes", "garbage", "no version"],
)
def test_garbage_sends_no_node_away(poller: Poller, cache_at: CacheAt, service: Service, reply: bytes) -> None:
    cache = cache_at(service.url)
    poller.poll(cache)

    service.replies["config get cluster"] = reply
    poller.poll(cache)

    assert ports(cache) == {node.port for node in service.nodes}
    assert service.status(cache).failed_cause == Cause.NO_NODE_LIST


@pytest.mark.usefixtures("always")
def test_nodes_are_watched_on_without_their_endpoint(poller: Poller, cache_at: CacheAt, service: Service) -> None:
    cache = cache_at(service.url)
    poller.poll(cache)

    service.endpoint.close()
    poller.poll(cache)
    poller.poll(cache)

    assert ports(cache) == {node.port for node in service.nodes}
    assert service.status(cache).failing_since is not None
    assert all(poller.sample(node, "keys") == (3_671,) for node in cache.nodes.present())


def test_an_endpoint_that_never_answered_stands_for_its_cache(poller: Poller, cache_at: CacheAt) -> None:
    port = closed_port()
    cache = cache_at(f"memcached+discovery://127.0.0.1:{port}")

    poller.poll(cache)

    assert ports(cache) == {port}
    status = NodeStatus.objects.get(node__cache=cache)
    assert (status.failed_step, status.failed_cause) == ("connect", Cause.REFUSED)


def test_an_endpoint_that_comes_up_later_is_taken_up(poller: Poller, cache_at: CacheAt, service: Service) -> None:
    cache = cache_at(service.url)
    told, service.replies["config get cluster"] = service.replies["config get cluster"], b"ERROR\r\n"
    poller.poll(cache)

    service.replies["config get cluster"] = told
    poller.poll(cache)

    assert ports(cache) == {node.port for node in service.nodes}


def test_an_endpoint_may_be_a_node_itself(poller: Poller, cache_at: CacheAt, peer: PeerAt) -> None:
    replies = dict(STATS)
    one = peer(answers(replies))
    replies["config get cluster"] = node_list(1, f"127.0.0.1||{one.port}")
    cache = cache_at(f"memcached+discovery://127.0.0.1:{one.port}")

    poller.poll(cache)
    poller.poll(cache)

    assert ports(cache) == {one.port}
    assert poller.sample(cache.nodes.get(), "keys") == (3_671,)
