"""The connection test of Memcached addresses, and the first look at such a cache."""

from collections.abc import Callable

import pytest

from collectors import probe
from collectors.probe import StepResult
from collectors.tests.memcached import answers, node_list
from collectors.tests.peers import Peer, captured, closed_port
from collectors.tests.test_probe import drafted
from conftest import MemcachedFactory, ValkeyFactory
from fleet.models import Cache

PeerAt = Callable[..., Peer]
CacheAt = Callable[..., Cache]
STATS = {"stats": captured("memcached-1.6/stats.txt") + b"END\r\n"}


def tried(address: str, username: str = "") -> list[StepResult]:
    cache = drafted(address)
    cache.username = username
    return probe.test_connection(cache)


def steps(results: list[StepResult]) -> list[str]:
    return [str(result.step) for result in results]


def endpoint_of(peer: PeerAt, *entries: str) -> str:
    listener = peer(answers({"config get cluster": node_list(1, *entries)}))
    return f"memcached+discovery://127.0.0.1:{listener.port}"


def test_it_goes_through_the_steps_of_a_node(memcached_server: MemcachedFactory) -> None:
    results = tried(memcached_server().url)

    assert steps(results) == ["resolve", "connect", "auth", "stats"]
    assert all(result.ok for result in results)
    assert results[-1].sentence.startswith("Memcached 1.")


def test_it_tests_the_nodes_that_an_endpoint_names(peer: PeerAt) -> None:
    node = peer(answers(STATS))

    results = tried(endpoint_of(peer, f"127.0.0.1||{node.port}"))

    assert steps(results) == ["resolve", "connect", "auth", "nodes", "resolve", "connect", "auth", "stats"]
    assert results[3].sentence == "It names 1 node."
    assert results[-1].sentence == "Memcached 1.6.18"


def test_a_list_that_is_too_long_says_how_many_are_watched(peer: PeerAt) -> None:
    results = tried(endpoint_of(peer, *(f"127.0.0.1||{port}" for port in range(1, 601))))

    assert results[3].sentence == "It names 500 nodes or more; no more than these are watched."


def test_a_named_node_that_cannot_be_reached_fails_the_test(peer: PeerAt) -> None:
    node, dead = peer(answers(STATS)), closed_port()

    results = tried(endpoint_of(peer, f"127.0.0.1||{node.port}", f"127.0.0.1||{dead}"))

    assert (results[-1].ok, str(dead) in results[-1].address) == (False, True)


@pytest.mark.parametrize("reply", [b"ERROR\r\n", b"END\r\n", node_list(1, "nonsense")])
def test_an_endpoint_without_a_list_fails_the_test(peer: PeerAt, reply: bytes) -> None:
    listener = peer(answers({"config get cluster": reply}))

    results = tried(f"memcached+discovery://127.0.0.1:{listener.port}")

    assert (steps(results)[-1], results[-1].ok) == ("nodes", False)
    assert "memcached://" in results[-1].sentence


def test_redis_behind_the_address_is_named(valkey_server: ValkeyFactory) -> None:
    results = tried(valkey_server().url.replace("redis", "memcached"))

    assert not results[-1].ok
    assert "redis://" in results[-1].sentence


def test_memcached_behind_a_redis_address_is_named(memcached_server: MemcachedFactory) -> None:
    results = tried(memcached_server().url.replace("memcached", "redis"))

    assert not results[-1].ok
    assert "memcached://" in results[-1].sentence


@pytest.mark.parametrize(
    "reply", [b"ERROR\r\n", b"END\r\n", b"STAT pid 1\r\nEND\r\n", b"STAT version 1\r\nEND\r\nEND\r\n"]
)
def test_stats_that_are_none_fail_the_test(peer: PeerAt, reply: bytes) -> None:
    results = tried(f"memcached://127.0.0.1:{peer(answers({'stats': reply})).port}")

    assert (steps(results)[-1], results[-1].ok) == ("stats", False)


def test_credentials_that_nobody_asked_for_fail_the_test(memcached_server: MemcachedFactory) -> None:
    results = tried(memcached_server().url, username="watch")

    assert (steps(results)[-1], results[-1].ok) == ("auth", False)


@pytest.mark.django_db(transaction=True)
def test_the_first_look_finds_the_nodes(cache_at: CacheAt, peer: PeerAt) -> None:
    nodes = [peer(answers(STATS)) for _ in range(2)]

    found = probe.discover(cache_at(endpoint_of(peer, *(f"127.0.0.1||{node.port}" for node in nodes))))

    assert (found.ok, found.sentence) == (True, "Found 2 shards with 2 nodes.")


@pytest.mark.django_db(transaction=True)
def test_the_first_look_says_why_it_finds_none(cache_at: CacheAt) -> None:
    found = probe.discover(cache_at(f"memcached+discovery://127.0.0.1:{closed_port()}"))

    assert not found.ok
    assert "Nothing listens" in found.sentence
