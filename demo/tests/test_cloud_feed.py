"""What servers say, as points of Cloud Monitoring."""

import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from collectors.cloud.catalogue import COLLECTED
from collectors.cloud.metric_types import metric_types, resource_labels
from collectors.cloud.products import Product
from demo.cloud import measures
from demo.cloud.feed import PREFIXES, TABLES, WHOLES, Fed, feed
from demo.cloud.reading import MemcachedServer, Reading, ValkeyServer, asked
from demo.cloud.store import Point, Points
from demo.layout import GAME, Member
from launcher.valkey import Valkey
from launcher.waiting import until

NAME = "projects/demo-project/locations/asia-northeast1/instances/carts"
ZONES = ("asia-northeast1-a", "asia-northeast1-b")
# What Cloud Monitoring reports and no open server does, or what the demo does not use.
NOT_FED = {
    "search/",
    "backup/",
    "cross_",
    "node/json/",
    "node/bloomfilter/",
    "node/persistence/aof_",
}


class Told:
    """A server that says one thing after the other; None is silence."""

    def __init__(self, *infos: Mapping[str, Any] | None, node_id: str = "", shard_id: str = "") -> None:
        self.infos = iter(infos)
        self.identity = node_id, shard_id

    def read(self, now: float) -> Reading | None:
        info = next(self.infos)
        return None if info is None else Reading(now, info, *self.identity)


def fed(product: Product, *servers: Told) -> Fed:
    return Fed(product, NAME, "uid-1", servers, ZONES)


def points_of(one: Fed, times: int = 2) -> Points:
    points = Points()
    for turn in range(times):
        one.read(points, 1_000.0 + 60 * turn)
    return points


def last(points: Points, type_: str, **labels: str) -> list[float]:
    """Return the newest value of each series of a type that has these labels."""
    found = points.known.get(type_, {}).values()
    return [
        series.points[-1].value
        for series in found
        if labels.items() <= {**series.resource_labels, **series.metric_labels}.items()
    ]


def primary(**info: Any) -> dict[str, Any]:
    return {"role": "master", **info}


def replica(**info: Any) -> dict[str, Any]:
    return {"role": "slave", **info}


def test_it_passes_levels_on() -> None:
    points = points_of(fed(Product.REDIS, Told(primary(connected_clients=7))), times=1)

    assert last(points, "redis.googleapis.com/clients/connected") == [7]


def test_it_counts_from_the_second_reading_on() -> None:
    one = fed(Product.REDIS, Told(primary(keyspace_hits=100), primary(keyspace_hits=160)))

    points = points_of(one)

    (series,) = points.known["redis.googleapis.com/stats/keyspace_hits"].values()
    assert list(series.points) == [Point(1_000, 1_060, 60)]


def test_it_counts_from_zero_when_the_server_restarted() -> None:
    points = points_of(fed(Product.REDIS, Told(primary(evicted_keys=100), primary(evicted_keys=30))))

    assert last(points, "redis.googleapis.com/stats/evicted_keys") == [30]


def test_it_leaves_out_what_the_server_does_not_say() -> None:
    points = points_of(fed(Product.REDIS, Told(primary(), primary())))

    assert last(points, "redis.googleapis.com/clients/connected") == []
    assert last(points, "redis.googleapis.com/stats/cache_hit_ratio") == []


def test_it_names_nodes_of_redis_by_their_place_and_the_instance_by_its_path() -> None:
    one = fed(Product.REDIS, Told(primary(connected_clients=1)), Told(replica(connected_clients=2)))

    points = points_of(one, times=1)

    labels = [
        {**series.resource_labels, **series.metric_labels}
        for series in points.known["redis.googleapis.com/clients/connected"].values()
    ]
    assert [(found["node_id"], found["role"]) for found in labels] == [("node-0", "primary"), ("node-1", "replica")]
    assert {(found["instance_id"], found["region"], found["project_id"]) for found in labels} == {
        (NAME, "asia-northeast1", "demo-project")
    }


def test_it_names_nodes_of_clusters_as_they_name_themselves() -> None:
    one = fed(Product.VALKEY, Told(primary(connected_clients=1), node_id="abc", shard_id="def"))

    points = points_of(one, times=1)

    (series,) = points.known["memorystore.googleapis.com/instance/node/clients/connected_clients"].values()
    assert series.resource_labels == {
        "resource_container": "demo-project",
        "location": "asia-northeast1-a",
        "instance_id": "carts",
        "instance_uid": "uid-1",
        "node_id": "abc",
        "shard_id": "def",
    }


def test_it_tells_primary_and_replica_apart_in_redis() -> None:
    points = points_of(fed(Product.REDIS, Told(primary()), Told(replica())), times=1)

    role = "redis.googleapis.com/replication/role"
    assert (last(points, role, node_id="node-0"), last(points, role, node_id="node-1")) == ([1], [0])


def test_it_tells_how_far_the_farthest_replica_is() -> None:
    slaves = {"slave0": {"offset": 70, "lag": 1}, "slave1": {"offset": 95, "lag": 0}}

    points = points_of(fed(Product.REDIS, Told(primary(master_repl_offset=100, **slaves))), times=1)

    assert last(points, "redis.googleapis.com/replication/offset_diff") == [30]
    assert last(points, "redis.googleapis.com/replication/master/slaves/lag", slave="slave0") == [1]


def test_it_counts_each_command_by_itself() -> None:
    first = primary(cmdstat_get={"calls": 10, "usec": 50})
    then = primary(cmdstat_get={"calls": 25, "usec": 90}, **{"cmdstat_config|get": {"calls": 2, "usec": 8}})

    points = points_of(fed(Product.REDIS, Told(first, then)))

    calls = "redis.googleapis.com/commands/calls"
    assert (last(points, calls, cmd="get"), last(points, calls, cmd="config get")) == ([15], [2])
    assert last(points, "redis.googleapis.com/commands/total_time", cmd="get") == [40]


def test_it_tells_keys_by_database() -> None:
    info = primary(db0={"keys": 5, "expires": 3, "avg_ttl": 900}, db3={"keys": 1, "expires": 0, "avg_ttl": 0})

    points = points_of(fed(Product.REDIS, Told(info)), times=1)

    assert last(points, "redis.googleapis.com/keyspace/keys", db="db0") == [5]
    assert last(points, "redis.googleapis.com/keyspace/keys", db="db3") == [1]


def test_it_takes_the_hit_ratio_of_the_last_interval() -> None:
    first = primary(keyspace_hits=1_000, keyspace_misses=0)

    points = points_of(fed(Product.REDIS, Told(first, primary(keyspace_hits=1_030, keyspace_misses=10))))

    assert last(points, "redis.googleapis.com/stats/cache_hit_ratio") == [0.75]


def test_it_counts_cpu_seconds_by_space() -> None:
    first = primary(used_cpu_sys=1.0, used_cpu_user=2.0)

    points = points_of(fed(Product.REDIS, Told(first, primary(used_cpu_sys=4.0, used_cpu_user=8.0))))

    cpu = "redis.googleapis.com/stats/cpu_utilization"
    assert (last(points, cpu, space="system"), last(points, cpu, space="user")) == ([3.0], [6.0])


CLUSTER = "redis.googleapis.com/cluster"


def test_it_folds_the_nodes_of_a_cluster_by_role() -> None:
    nodes = [Told(primary(connected_clients=10)), Told(primary(connected_clients=20))]

    points = points_of(fed(Product.REDIS_CLUSTER, *nodes), times=1)

    assert last(points, f"{CLUSTER}/clients/total_connected_clients", role="primary") == [30]
    assert last(points, f"{CLUSTER}/clients/maximum_connected_clients", role="primary") == [20]
    assert last(points, f"{CLUSTER}/clients/average_connected_clients", role="primary") == [15]
    assert last(points, f"{CLUSTER}/clients/total_connected_clients", role="replica") == []


def test_it_counts_data_of_a_cluster_once() -> None:
    info = {"db0": {"keys": 5, "expires": 0, "avg_ttl": 0}, "used_memory": 40, "maxmemory": 100}

    points = points_of(fed(Product.REDIS_CLUSTER, Told(primary(**info)), Told(replica(**info))), times=1)

    assert last(points, f"{CLUSTER}/keyspace/total_keys") == [5]
    assert last(points, f"{CLUSTER}/memory/total_used_memory") == [40]
    assert last(points, f"{CLUSTER}/memory/size") == [100]
    assert last(points, f"{CLUSTER}/memory/maximum_utilization") == [0.4]


def test_it_takes_the_cpu_of_the_busiest_main_thread() -> None:
    def server(seconds: float) -> Told:
        idle = primary(used_cpu_sys_main_thread=0.0, used_cpu_user_main_thread=0.0)
        return Told(idle, {**idle, "used_cpu_user_main_thread": seconds})

    points = points_of(fed(Product.REDIS_CLUSTER, server(6), server(30)))

    assert last(points, f"{CLUSTER}/cpu/maximum_utilization", role="primary") == [0.5]
    assert last(points, f"{CLUSTER}/cpu/average_utilization", role="primary") == [0.3]
    assert last(points, f"{CLUSTER}/node/cpu/utilization", state="user_main_thread", location=ZONES[0]) == [0.1]


def test_it_calls_a_node_ill_that_stopped_answering() -> None:
    points = points_of(fed(Product.REDIS_CLUSTER, Told(primary(), None, node_id="abc")))

    (series,) = points.known[f"{CLUSTER}/node/server/healthy"].values()
    assert [point.value for point in series.points] == [1, 0]


def test_it_says_nothing_of_a_node_that_never_answered() -> None:
    assert points_of(fed(Product.REDIS_CLUSTER, Told(None)), times=1).types() == set()
    assert points_of(fed(Product.REDIS, Told(primary(), None))).known["redis.googleapis.com/replication/role"]


def test_it_counts_the_time_of_a_silence_as_one_interval() -> None:
    one = fed(Product.REDIS, Told(primary(expired_keys=0), None, primary(expired_keys=12)))

    (series,) = points_of(one, times=3).known["redis.googleapis.com/stats/expired_keys"].values()

    assert list(series.points) == [Point(1_000, 1_120, 12)]


MEMCACHE = "memcache.googleapis.com/node"


def test_it_splits_the_memory_of_a_memcached() -> None:
    points = points_of(fed(Product.MEMCACHED, Told({"bytes": 30.0, "limit_maxbytes": 100.0})), times=1)

    assert last(points, f"{MEMCACHE}/cache_memory", used="1") == [30]
    assert last(points, f"{MEMCACHE}/cache_memory", used="0") == [70]


def test_it_counts_operations_of_a_memcached_by_outcome() -> None:
    first = {"get_hits": 0.0, "get_misses": 0.0, "cmd_set": 5.0}

    points = points_of(fed(Product.MEMCACHED, Told(first, {"get_hits": 9.0, "get_misses": 1.0, "cmd_set": 6.0})))

    assert last(points, f"{MEMCACHE}/operation_count", command="get", response_type="hits") == [9]
    assert last(points, f"{MEMCACHE}/operation_count", command="set") == [1]
    assert last(points, f"{MEMCACHE}/hit_ratio") == [0.9]


def test_it_tells_the_cpu_of_a_memcached_as_a_ratio() -> None:
    first = {"rusage_user": 1.0, "rusage_system": 1.0}

    points = points_of(fed(Product.MEMCACHED, Told(first, {"rusage_user": 4.0, "rusage_system": 4.0})))

    assert last(points, f"{MEMCACHE}/cpu/utilization") == [0.1]


@pytest.mark.parametrize("product", list(Product), ids=Product.values)
def test_it_feeds_only_types_that_are_published(product: Product) -> None:
    paths = {path for path in TABLES[product] if not path.startswith("#")}
    if product in {Product.REDIS_CLUSTER, Product.VALKEY}:
        paths |= {whole.path for whole in WHOLES}

    assert {f"{PREFIXES[product]}/{path}" for path in paths} <= set(metric_types())
    assert {whole.of for whole in WHOLES} <= set(measures.NODE)


@pytest.mark.parametrize("product", list(Product), ids=Product.values)
def test_it_feeds_all_that_is_collected_and_that_servers_know(product: Product) -> None:
    paths = {*TABLES[product], *(whole.path for whole in WHOLES)}
    wanted = [metric.type.removeprefix(f"{PREFIXES[product]}/") for metric in COLLECTED if metric.product == product]

    missing = [path for path in wanted if path not in paths]

    assert [path for path in missing if not path.startswith(tuple(NOT_FED))] == []


def test_it_reads_at_once_and_then_at_each_multiple() -> None:
    points, over = Points(), threading.Event()

    class Ends:
        def read(self, now: float) -> Reading | None:
            if points.known:
                over.set()
            return Reading(now, primary(connected_clients=1))

    feed(points, [Fed(Product.REDIS, NAME, "", [Ends()], ZONES)], 1.0, over)

    (series,) = points.known["redis.googleapis.com/clients/connected"].values()
    assert len(series.points) == 2
    assert all(point.end == int(point.end) for point in series.points)


def member(server: Valkey) -> Member:
    return Member("game-1", GAME, "", server.port)


def test_it_reads_a_server_that_is_in_a_cluster(valkey_cluster: list[Valkey]) -> None:
    server = valkey_cluster[0]

    reading = ValkeyServer(member(server), is_clustered=True).read(5.0)

    assert reading is not None
    assert reading.node_id == server.ask("CLUSTER", "MYID")
    assert len(reading.shard_id) == 40
    assert (reading.role, reading.at) == ("primary", 5.0)


def test_it_reads_nothing_where_nobody_answers(valkey_server: Any) -> None:
    server = valkey_server()
    server.kill()

    assert ValkeyServer(member(server), is_clustered=False).read(5.0) is None
    assert MemcachedServer(server.port).read(5.0) is None


def test_it_refuses_statistics_that_are_cut_short(cut_short: int) -> None:
    with pytest.raises(ConnectionResetError):
        asked(cut_short, b"stats\r\n")


@pytest.fixture
def cut_short() -> Iterator[int]:
    """The port of a server that hangs up in the middle of its answer."""
    import socketserver

    class HangsUp(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.rfile.readline()
            self.wfile.write(b"STAT pid 1\r\nSTA")

    with socketserver.TCPServer(("127.0.0.1", 0), HangsUp) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        yield server.server_address[1]
        thread.join()


@pytest.mark.parametrize("product", list(Product), ids=Product.values)
def test_it_gives_every_series_all_labels_of_its_resource(product: Product) -> None:
    info = primary(connected_clients=1, curr_connections=1.0)

    points = points_of(fed(product, Told(info, info, node_id="abc", shard_id="def")))

    for of_type in points.known.values():
        for series in of_type.values():
            assert tuple(series.resource_labels) == resource_labels()[series.resource]


def test_a_real_server_feeds_the_metrics_of_a_cluster(valkey_cluster: list[Valkey]) -> None:
    servers = [ValkeyServer(member(server), is_clustered=True) for server in valkey_cluster]
    one, points = Fed(Product.REDIS_CLUSTER, NAME, "uid-1", servers, ZONES * 3), Points()

    one.read(points, 1_000.0)
    assert until(lambda: servers[0].read(0) is not None, 5)
    one.read(points, 1_060.0)

    unlimited = {f"{CLUSTER}/node/memory/utilization"}
    wanted = {f"{CLUSTER}/{path}" for path in measures.NODE if not path.startswith("#")}
    assert wanted - points.types() == unlimited
    assert last(points, f"{CLUSTER}/node/server/healthy") == [1] * 6
    assert {len(last(points, f"{CLUSTER}/node/cpu/utilization", location=zone)) for zone in ZONES} == {18}
