from collections.abc import Callable

import pytest
from pytest_django.fixtures import Settings

from collectors import probe
from collectors.models import Step
from collectors.tests import peers
from collectors.tests.peers import Peer, Script
from fleet.models import Cache
from fleet.secrets import Secret
from launcher.valkey import Valkey
from launcher.waiting import until

CacheAt = Callable[..., Cache]
StartPeer = Callable[[Script], Peer]
StartValkey = Callable[..., Valkey]


def drafted(address: str) -> Cache:
    cache = Cache(name="draft", address=address)
    cache.password = cache.client_key = Secret("")
    return cache


def outcomes(cache: Cache) -> dict[str, bool]:
    return {str(result.step): result.ok for result in probe.test_connection(cache)}


def test_it_goes_through_all_steps_of_a_cluster(valkey_cluster: list[Valkey]) -> None:
    results = probe.test_connection(drafted(valkey_cluster[0].url))

    assert [result.step for result in results] == ["resolve", "connect", "auth", "ping", "info", "layout"]
    assert all(result.ok for result in results)
    assert results[-2].sentence == "Valkey 9.1.2"
    assert results[-1].sentence == "A cluster of 3 shards with 6 nodes."


def test_it_counts_the_replicas_of_a_standalone_server(valkey_server: StartValkey) -> None:
    results = probe.test_connection(drafted(valkey_server().url))

    assert results[-1].sentence == "A primary with 0 replicas."


def test_it_names_the_primary_of_a_replica(valkey_server: StartValkey) -> None:
    primary = valkey_server()
    replica = valkey_server("--replicaof", f"127.0.0.1 {primary.port}")

    results = probe.test_connection(drafted(replica.url))

    assert results[-1].sentence == f"A replica of 127.0.0.1:{primary.port}."


def test_it_stops_at_the_step_that_fails() -> None:
    assert outcomes(drafted(f"redis://127.0.0.1:{peers.closed_port()}")) == {"resolve": True, "connect": False}
    assert outcomes(drafted("redis://no-such-host.invalid")) == {"resolve": False}
    assert outcomes(drafted("ftp://x")) == {"address": False}


def test_nobody_waits_longer_than_allowed(valkey_server: StartValkey, settings: Settings) -> None:
    address = valkey_server().url
    assert all(outcomes(drafted(address)).values())

    settings.TEST_CONNECTION_SECONDS = 0

    assert not all(outcomes(drafted(address)).values())


def test_it_asks_for_a_password_once(valkey_server: StartValkey) -> None:
    assert outcomes(drafted(valkey_server("--requirepass", "x").url)) == {
        "resolve": True,
        "connect": True,
        "auth": False,
    }


STRANGERS: dict[str, tuple[Script, Step]] = {
    "silence": (peers.stays_silent, Step.AUTH),
    "a Sentinel": (
        peers.answers({"PING": b"+PONG\r\n", "INFO": peers.bulk(peers.captured("sentinel-7.0/info.txt"))}),
        Step.INFO,
    ),
    "no INFO": (peers.answers({"PING": b"+PONG\r\n"}), Step.INFO),
    "LOADING": (peers.answers({"PING": b"-LOADING Redis is loading the dataset in memory\r\n"}), Step.PING),
    "a cluster that hides": (
        peers.answers({"PING": b"+PONG\r\n", "INFO": peers.bulk(b"redis_version:7.0\r\ncluster_enabled:1\r\n")}),
        Step.LAYOUT,
    ),
}


@pytest.mark.parametrize("case", STRANGERS)
def test_it_names_the_step_that_a_stranger_fails_at(case: str, peer: StartPeer, short_timeouts: None) -> None:
    script, step = STRANGERS[case]

    results = probe.test_connection(drafted(peer(script).url))

    assert (results[-1].step, results[-1].ok) == (step, False)
    assert results[-1].sentence


def test_it_tests_every_listed_server(valkey_server: StartValkey) -> None:
    dead = f"redis://127.0.0.1:{peers.closed_port()}"

    results = probe.test_connection(drafted(f"{valkey_server().url}, {dead}"))

    assert (results[-1].step, results[-1].ok, results[-1].address) == ("connect", False, dead)


def test_it_makes_a_new_cache_known_at_once(cache_at: CacheAt, valkey_cluster: list[Valkey]) -> None:
    cache = cache_at(valkey_cluster[0].url)

    discovery = probe.discover(cache)

    assert discovery.ok
    assert discovery.sentence == "Found 3 shards with 6 nodes."
    assert cache.nodes.present().count() == 6
    closed = "name=shardwatch"
    assert until(lambda: closed not in str(valkey_cluster[0].ask("CLIENT", "LIST")), 5)


def test_it_counts_one_shard_and_one_node_as_one(cache_at: CacheAt, valkey_server: StartValkey) -> None:
    assert probe.discover(cache_at(valkey_server().url)).sentence == "Found 1 shard with 1 node."


def test_it_tells_why_a_new_cache_cannot_be_read(cache_at: CacheAt) -> None:
    port = peers.closed_port()
    cache = cache_at(f"redis://127.0.0.1:{port}")

    discovery = probe.discover(cache)

    assert not discovery.ok
    assert discovery.sentence.startswith(f"127.0.0.1:{port}: Nothing listens on this port.")
    assert cache.nodes.get().status.failed_step == "connect"


def test_it_leaves_a_paused_cache_alone(cache_at: CacheAt, peer: StartPeer) -> None:
    quiet = peer(peers.stays_silent)

    assert probe.discover(cache_at(quiet.url, is_paused=True)).ok
    assert quiet.connections == 0


def test_it_leaves_nodes_out_of_reach_alone(cache_at: CacheAt, peer: StartPeer) -> None:
    quiet = peer(peers.stays_silent)

    assert probe.discover(cache_at(quiet.url, reach="service")).ok
    assert quiet.connections == 0
