"""Real clusters while they change: what is watched follows."""

from collections.abc import Callable

from collectors.tests.conftest import Poller
from fleet.models import Cache
from launcher import valkey
from launcher.valkey import Valkey
from launcher.waiting import until

CacheAt = Callable[..., Cache]
StartCluster = Callable[..., list[Valkey]]


def numbers(cache: Cache) -> dict[int, int | None]:
    """Return the number of each node's shard by port."""
    return dict(cache.nodes.present().values_list("port", "shard__number"))


def settled(poller: Poller, cache: Cache, nodes: int) -> bool:
    poller.poll(cache)
    return cache.nodes.present().exclude(shard=None).count() == nodes


def test_it_finds_a_whole_cluster_from_one_seed(
    poller: Poller, cache_at: CacheAt, valkey_cluster: list[Valkey]
) -> None:
    cache = cache_at(valkey_cluster[3].url)

    assert until(lambda: settled(poller, cache, 6), 10)
    poller.poll(cache)

    assert set(numbers(cache)) == {server.port for server in valkey_cluster}
    assert cache.nodes.present().filter(role="primary").count() == 3
    slots = [shard.slots for shard in cache.shards.all()]
    assert slots == sorted(slots)
    assert sum(shard.slot_count() for shard in cache.shards.all()) == 16384
    assert all(poller.sample(node, "cluster_state_ok") == (True,) for node in cache.nodes.present())


def test_it_follows_a_failover_on_command(poller: Poller, cache_at: CacheAt, own_valkey_cluster: StartCluster) -> None:
    servers = own_valkey_cluster()
    cache = cache_at(servers[0].url)
    assert until(lambda: settled(poller, cache, 6), 10)
    before = numbers(cache)
    replica = next(server for server in servers[3:] if "master_link_status:up" in str(server.ask("INFO")))

    replica.ask("CLUSTER", "FAILOVER")

    promoted = cache.nodes.filter(port=replica.port, role="primary")
    assert until(lambda: bool(poller.poll(cache)) and promoted.exists(), 10)
    assert until(lambda: settled(poller, cache, 6) and cache.nodes.filter(role="primary").count() == 3, 10)
    assert numbers(cache) == before
    assert cache.shards.count() == 3


def test_it_follows_a_failover_after_a_kill(
    poller: Poller, cache_at: CacheAt, own_valkey_cluster: StartCluster
) -> None:
    servers = own_valkey_cluster("--cluster-node-timeout", "1000")
    cache = cache_at(servers[0].url)
    assert until(lambda: settled(poller, cache, 6), 10)
    before = numbers(cache)

    servers[0].kill()

    dead = cache.nodes.get(port=servers[0].port)
    others = cache.nodes.exclude(pk=dead.pk).filter(role="primary")
    assert until(lambda: bool(poller.poll(cache)) and others.count() == 3, 15)
    assert numbers(cache) == before
    dead.refresh_from_db()
    assert dead.left_at is None
    assert dead.status.failing_since
    assert all(poller.sample(node, "is_primary") for node in others)


def test_it_follows_a_new_shard_and_slots_on_the_move(
    poller: Poller, cache_at: CacheAt, own_valkey_cluster: StartCluster, valkey_server: Callable[..., Valkey]
) -> None:
    servers = own_valkey_cluster(shards=3, replicas=0)
    cache = cache_at(servers[0].url)
    assert until(lambda: settled(poller, cache, 3), 10)
    before = numbers(cache)
    new = valkey_server(*valkey.CLUSTER_OPTIONS)

    new.ask("CLUSTER", "MEET", "127.0.0.1", str(servers[0].port))
    everybody = [new, *servers]
    assert until(lambda: all("cluster_known_nodes:4" in str(one.ask("CLUSTER", "INFO")) for one in everybody), 10)
    identity = str(new.ask("CLUSTER", "MYID"))
    for slot in range(3):
        new.ask("CLUSTER", "SETSLOT", str(slot), "NODE", identity)
        for server in servers:
            server.ask("CLUSTER", "SETSLOT", str(slot), "NODE", identity)

    assert until(lambda: settled(poller, cache, 4), 10)
    assert numbers(cache) == {**before, new.port: 4}
    assert until(lambda: bool(poller.poll(cache)) and cache.shards.get(number=4).slots == [[0, 2]], 10)
    assert cache.shards.get(number=1).slots[0][0] == 3


def test_it_lets_a_forgotten_node_leave(poller: Poller, cache_at: CacheAt, own_valkey_cluster: StartCluster) -> None:
    servers = own_valkey_cluster(shards=3, replicas=1)
    cache = cache_at(servers[0].url)
    assert until(lambda: settled(poller, cache, 6), 10)
    gone, identity = servers[5], str(servers[5].ask("CLUSTER", "MYID"))

    gone.kill()
    for server in servers[:5]:
        server.ask("CLUSTER", "FORGET", identity)

    left = cache.nodes.filter(port=gone.port, left_at__isnull=False)
    assert until(lambda: bool(poller.poll(cache)) and left.exists(), 10)
    assert cache.nodes.present().count() == 5


def test_it_lets_nobody_leave_while_the_cluster_is_down(
    poller: Poller, cache_at: CacheAt, own_valkey_cluster: StartCluster
) -> None:
    servers = own_valkey_cluster(shards=3, replicas=0)
    cache = cache_at(servers[0].url)
    assert until(lambda: settled(poller, cache, 3), 10)

    for server in servers:
        server.kill()
    for _ in range(2):
        poller.poll(cache)

    assert cache.nodes.present().count() == 3
    assert {node.status.failed_step for node in cache.nodes.present()} == {"connect"}


def test_it_asks_for_slots_where_shards_are_refused(
    poller: Poller, cache_at: CacheAt, own_valkey_cluster: StartCluster
) -> None:
    servers = own_valkey_cluster(shards=3, replicas=0)
    for server in servers:
        server.ask("ACL", "SETUSER", "watcher", "on", ">x", "+info", "+cluster|info", "+cluster|slots")
    cache = cache_at(servers[0].url, "x", username="watcher")

    assert until(lambda: settled(poller, cache, 3), 10)
    assert status_of_all(cache) == {""}


def status_of_all(cache: Cache) -> set[str]:
    return {
        node.status.failed_step for node in cache.nodes.present().select_related("status") if hasattr(node, "status")
    }
