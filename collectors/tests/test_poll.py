from collections.abc import Callable

from collectors.tests.conftest import Poller, status_of
from fleet.models import Cache
from launcher.valkey import Valkey

CacheAt = Callable[..., Cache]


def test_it_writes_a_sample_of_a_standalone_server(
    poller: Poller, cache_at: CacheAt, valkey_server: Callable[..., Valkey]
) -> None:
    cache = cache_at(valkey_server("--maxmemory", "64mb").url)

    poller.poll(cache)

    (node,) = cache.nodes.all()
    assert poller.sample(node, "maxmemory", "is_primary", "keys", "maxclients") == (64 * 2**20, True, 0, 10000)
    assert status_of(cache).answered_at
    cache.refresh_from_db()
    assert (cache.engine, cache.topology) == ("valkey", "standalone")


def test_it_finds_a_whole_cluster_from_one_seed(
    poller: Poller, cache_at: CacheAt, valkey_cluster: list[Valkey]
) -> None:
    cache = cache_at(valkey_cluster[3].url)

    poller.poll(cache)
    poller.poll(cache)

    assert {node.port for node in cache.nodes.present()} == {server.port for server in valkey_cluster}
    assert cache.nodes.filter(role="primary").count() == 3
    assert sum(shard.slot_count() for shard in cache.shards.all()) == 16384
    assert [shard.slots for shard in cache.shards.all()] == sorted(shard.slots for shard in cache.shards.all())
    assert all(poller.sample(node, "cluster_state_ok") == (True,) for node in cache.nodes.all())
