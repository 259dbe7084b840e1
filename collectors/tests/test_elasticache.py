"""Clusters of a service by address alone: its configuration endpoint, and commands that it took away."""

from collections.abc import Callable

import pytest

from collectors import probe
from collectors.models import CommandSupport, NodeStatus
from collectors.tests.conftest import Poller
from collectors.tests.peers import Peer, answers, bulk, captured
from collectors.tests.test_probe import drafted
from conftest import ClusterFactory
from fleet.models import Cache, Topology

pytestmark = pytest.mark.django_db(transaction=True)
# As ElastiCache answers what it does not let anybody run.
UNKNOWN = b"-ERR unknown command 'config', with args beginning with: 'get' 'maxclients' \r\n"
TAKEN_AWAY = ("--rename-command", "CONFIG", "", "--rename-command", "DEBUG", "")
CacheAt = Callable[..., Cache]


def test_a_configuration_endpoint_leads_to_the_nodes(
    poller: Poller, cache_at: CacheAt, own_valkey_cluster: ClusterFactory
) -> None:
    nodes = own_valkey_cluster(*TAKEN_AWAY, replicas=0)
    # A name of its own, which stands for one of the nodes.
    cache = cache_at(f"redis://localhost:{nodes[0].port}")

    for _ in range(2):
        poller.poll(cache)

    cache.refresh_from_db()
    assert cache.topology == Topology.CLUSTER
    assert set(cache.nodes.present().values_list("port", flat=True)) == {node.port for node in nodes}
    assert set(cache.nodes.present().values_list("host", flat=True)) == {"127.0.0.1"}
    limits = [poller.sample(node, "maxclients", "cluster_slots_ok") for node in cache.nodes.present()]
    assert limits == [(10_000, 16_384)] * 3


def test_the_connection_test_passes_without_config(own_valkey_cluster: ClusterFactory) -> None:
    nodes = own_valkey_cluster(*TAKEN_AWAY, replicas=0)

    results = probe.test_connection(drafted(f"redis://localhost:{nodes[0].port}"))

    assert all(result.ok for result in results)
    assert results[-1].sentence == "A cluster of 3 shards with 3 nodes."


def test_an_older_version_without_config_leaves_limits_unknown(
    poller: Poller, cache_at: CacheAt, peer: Callable[..., Peer]
) -> None:
    lines = captured("redis-7.0/info_primary.txt").split(b"\r\n")
    info = bulk(b"\r\n".join(line for line in lines if not line.startswith((b"maxclients", b"maxmemory:"))))
    server = peer(answers({"INFO": info, "CONFIG": UNKNOWN}))
    cache = cache_at(server.url)

    for _ in range(3):
        poller.poll(cache)

    node = cache.nodes.get(port=server.port)
    assert NodeStatus.objects.get(node=node).failing_since is None
    assert poller.sample(node, "maxclients", "maxmemory") == (None, None)
    refused = CommandSupport.objects.filter(node__cache=cache, state=CommandSupport.State.REFUSED)
    assert "CONFIG GET" in refused.values_list("command", flat=True)
