"""Google's own clients on an emulator, made by hand: nothing of Shardwatch's clients is in between."""

from collections.abc import Callable, Mapping
from typing import Any

import grpc
from google.cloud import memcache_v1, memorystore_v1, monitoring_v3, redis_cluster_v1, redis_v1
from google.cloud.memcache_v1.services.cloud_memcache.transports import CloudMemcacheGrpcTransport
from google.cloud.memorystore_v1.services.memorystore.transports import MemorystoreGrpcTransport
from google.cloud.monitoring_v3.services.metric_service.transports import MetricServiceGrpcTransport
from google.cloud.redis_cluster_v1.services.cloud_redis_cluster.transports import CloudRedisClusterGrpcTransport
from google.cloud.redis_v1.services.cloud_redis.transports import CloudRedisGrpcTransport

from collectors.cloud.metric_types import metric_types
from collectors.cloud.products import Product
from demo.cloud.emulator import Emulator
from demo.cloud.store import Point

PROJECT = "shop-prod"
REGION = "asia-northeast1"
# A whole minute; emulators of tests live at this time until they are told another.
NOW = 1_790_000_040.0
SECONDS = 10.0
CONNECTED = "redis.googleapis.com/clients/connected"
CALLS = "redis.googleapis.com/commands/calls"


class Clock:
    """The time of an emulator, which passes when it is told to."""

    def __init__(self, now: float = NOW) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class BareClients:
    """One of each client, over one channel without TLS."""

    def __init__(self, address: str) -> None:
        # Channels to one address share connections, and with them the pause after a failed one.
        self.channel = grpc.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)])
        self.redis = redis_v1.CloudRedisClient(transport=CloudRedisGrpcTransport(channel=self.channel))
        self.cluster = redis_cluster_v1.CloudRedisClusterClient(
            transport=CloudRedisClusterGrpcTransport(channel=self.channel)
        )
        self.valkey = memorystore_v1.MemorystoreClient(transport=MemorystoreGrpcTransport(channel=self.channel))
        self.memcached = memcache_v1.CloudMemcacheClient(transport=CloudMemcacheGrpcTransport(channel=self.channel))
        self.metrics = monitoring_v3.MetricServiceClient(transport=MetricServiceGrpcTransport(channel=self.channel))

    def list(self, product: Product) -> Callable[..., Any]:
        """Return the call that lists a product's instances."""
        calls: Mapping[Product, Callable[..., Any]] = {
            Product.REDIS: self.redis.list_instances,
            Product.REDIS_CLUSTER: self.cluster.list_clusters,
            Product.VALKEY: self.valkey.list_instances,
            Product.MEMCACHED: self.memcached.list_instances,
        }
        return calls[product]

    def series(self, **changes: Any) -> Any:
        """Return the pager of a request for connections of Redis, with some of it changed."""
        return self.metrics.list_time_series(request=asking(**changes), timeout=SECONDS, retry=None)

    def close(self) -> None:
        self.channel.close()


def asking(type_: str = CONNECTED, seconds: int = 600, end: float = NOW, **changes: Any) -> dict[str, Any]:
    request = {
        "name": f"projects/{PROJECT}",
        "filter": f'metric.type = "{type_}" AND resource.type = "{metric_types()[type_].resource}"'
        if type_ in metric_types()
        else f'metric.type = "{type_}"',
        "interval": {"start_time": {"seconds": int(end) - seconds}, "end_time": {"seconds": int(end)}},
        "view": monitoring_v3.ListTimeSeriesRequest.TimeSeriesView.FULL,
    }
    return request | changes


def aggregation(
    aligner: str, reducer: str = "REDUCE_NONE", group_by: tuple[str, ...] = (), seconds: int = 60
) -> dict[str, Any]:
    return {
        "alignment_period": {"seconds": seconds},
        "per_series_aligner": getattr(monitoring_v3.Aggregation.Aligner, aligner),
        "cross_series_reducer": getattr(monitoring_v3.Aggregation.Reducer, reducer),
        "group_by_fields": group_by,
    }


def resource_name(product: Product, short_id: str, region: str = REGION, project: str = PROJECT) -> str:
    collection = "clusters" if product == Product.REDIS_CLUSTER else "instances"
    return f"projects/{project}/locations/{region}/{collection}/{short_id}"


def add_instance(emulator: Emulator, product: Product, short_id: str, region: str = REGION, **fields: Any) -> Any:
    kind = {
        Product.REDIS: redis_v1.Instance,
        Product.REDIS_CLUSTER: redis_cluster_v1.Cluster,
        Product.VALKEY: memorystore_v1.Instance,
        Product.MEMCACHED: memcache_v1.Instance,
    }[product]
    return emulator.instances.add(product, kind(name=resource_name(product, short_id, region), **fields))


def add_points(
    emulator: Emulator,
    *values: float,
    type_: str = CONNECTED,
    node: str = "node-0",
    ends: float = NOW,
    seconds: float = 60,
    **labels: str,
) -> None:
    """Add values of a minute each, the last of them at `ends`, to a node of the Redis instance `carts`."""
    of = metric_types()[type_]
    labels_of_resource = {"project_id": PROJECT, "region": REGION, "node_id": node}
    labels_of_resource["instance_id"] = resource_name(Product.REDIS, "carts")
    first = ends - seconds * (len(values) - 1)
    is_span = of.kind == "DELTA"
    points = [
        Point(first + seconds * (place - is_span), first + seconds * place, value) for place, value in enumerate(values)
    ]
    emulator.points.add(type_, of.resource, labels_of_resource, {"role": "primary", **labels}, *points)
