"""Google Cloud on a loopback port: the four Memorystore services and Cloud Monitoring, as far as Shardwatch asks them.

Real clients reach it through a plain channel. What it does is a table of the real services' behaviour, each row of
which is a test with Google's own clients (demo/tests/test_cloud_emulator.py).
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import grpc
from google.cloud import memcache_v1, memorystore_v1, monitoring_v3, redis_cluster_v1, redis_v1

from collectors.cloud.metric_types import metric_types
from collectors.cloud.products import Product
from demo.cloud.faults import Faults, RefusalError
from demo.cloud.instances import Instances
from demo.cloud.store import Points
from demo.cloud.time_series import MetricAnswers

HOST = "127.0.0.1"
WORKERS = 16
KEPT_CALLS = 50_000
CLOUD_REDIS = "google.cloud.redis.v1.CloudRedis"
MONITORING = "google.monitoring.v3.MetricService"
SERVICES = {
    Product.REDIS: CLOUD_REDIS,
    Product.REDIS_CLUSTER: "google.cloud.redis.cluster.v1.CloudRedisCluster",
    Product.VALKEY: "google.cloud.memorystore.v1.Memorystore",
    Product.MEMCACHED: "google.cloud.memcache.v1.CloudMemcache",
}


class Method(NamedTuple):
    """One method of a service: the class of its requests, and who answers."""

    service: str
    name: str
    request: type[Any]
    answer: Callable[[Any], Any]

    @property
    def short(self) -> str:
        return f"{self.service.rsplit('.', 1)[-1]}/{self.name}"


@dataclass(frozen=True)
class Call:
    """One call that came in. `params` is the routing header of the client."""

    method: str
    request: Any
    params: str
    at: float


class Emulator:
    """One server. `delay` is for how many seconds a point stays hidden; port 0 takes a free one.

    Tests steer `instances`, `points`, `metric_types`, `faults` and `metrics` while it runs, and read `calls`.
    """

    def __init__(self, port: int = 0, delay: float = 300.0, clock: Callable[[], float] = time.time) -> None:
        self.port = port
        self.clock = clock
        self.instances = Instances()
        self.points = Points()
        self.faults = Faults()
        self.metric_types = dict(metric_types())
        self.metrics = MetricAnswers(self.points, self.metric_types, delay, clock)
        self.calls: deque[Call] = deque(maxlen=KEPT_CALLS)
        self.over = threading.Event()
        self.server: grpc.Server | None = None

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def is_running(self) -> bool:
        return self.server is not None

    def start(self) -> "Emulator":
        """Listen; also again after a stop, on the same port. Raise RuntimeError where the port is taken."""
        self.over.clear()
        # Without the option two emulators would share a port, and calls would reach either.
        self.server = grpc.server(ThreadPoolExecutor(WORKERS), options=(("grpc.so_reuseport", 0),))
        self.port = self.server.add_insecure_port(self.address)
        by_service: dict[str, dict[str, Any]] = {}
        for method in self.methods():
            by_service.setdefault(method.service, {})[method.name] = self.handler(method)
        for service, handlers in by_service.items():
            self.server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service, handlers)])
        self.server.start()
        return self

    def stop(self) -> None:
        """Drop all connections, as when the cable is pulled."""
        self.over.set()
        if self.server is not None:
            self.server.stop(grace=None).wait()
            self.server = None

    def asked(self, method: str = "") -> list[Call]:
        """Return the calls to methods whose name ends so, oldest first."""
        return [call for call in list(self.calls) if call.method.endswith(method)]

    def methods(self) -> list[Method]:
        found, metrics, mon = self.instances, self.metrics, monitoring_v3
        r1, c1, m1, v1 = redis_v1, redis_cluster_v1, memcache_v1, memorystore_v1
        cluster, valkey = Product.REDIS_CLUSTER, Product.VALKEY
        return [
            self.listing(Product.REDIS, "ListInstances", r1.ListInstancesRequest),
            self.opening(Product.REDIS, "GetInstance", r1.GetInstanceRequest),
            Method(CLOUD_REDIS, "GetInstanceAuthString", r1.GetInstanceAuthStringRequest, found.auth_string),
            self.listing(cluster, "ListClusters", c1.ListClustersRequest),
            self.opening(cluster, "GetCluster", c1.GetClusterRequest),
            self.signing(cluster, "GetClusterCertificateAuthority", c1.GetClusterCertificateAuthorityRequest),
            self.sharing(cluster, c1.GetSharedRegionalCertificateAuthorityRequest),
            self.listing(Product.MEMCACHED, "ListInstances", m1.ListInstancesRequest),
            self.opening(Product.MEMCACHED, "GetInstance", m1.GetInstanceRequest),
            self.listing(valkey, "ListInstances", v1.ListInstancesRequest),
            self.opening(valkey, "GetInstance", v1.GetInstanceRequest),
            self.signing(valkey, "GetCertificateAuthority", v1.GetCertificateAuthorityRequest),
            self.sharing(valkey, v1.GetSharedRegionalCertificateAuthorityRequest),
            Method(MONITORING, "ListTimeSeries", mon.ListTimeSeriesRequest, metrics.time_series),
            Method(MONITORING, "ListMetricDescriptors", mon.ListMetricDescriptorsRequest, metrics.descriptors),
        ]

    def listing(self, product: Product, name: str, request: type[Any]) -> Method:
        return Method(SERVICES[product], name, request, partial(self.instances.listed, product))

    def opening(self, product: Product, name: str, request: type[Any]) -> Method:
        return Method(SERVICES[product], name, request, lambda asked: self.instances.get(product, asked.name))

    def signing(self, product: Product, name: str, request: type[Any]) -> Method:
        return Method(SERVICES[product], name, request, lambda asked: self.instances.authority(product, asked.name))

    def sharing(self, product: Product, request: type[Any]) -> Method:
        def answer(asked: Any) -> Any:
            return self.instances.shared_authority(product, asked.name)

        return Method(SERVICES[product], "GetSharedRegionalCertificateAuthority", request, answer)

    def handler(self, method: Method) -> grpc.RpcMethodHandler:
        def answer(request: Any, context: grpc.ServicerContext) -> Any:
            params = dict(context.invocation_metadata()).get("x-goog-request-params", "")
            self.calls.append(Call(method.short, request, str(params), self.clock()))
            try:
                self.faults.meet(method.short, text_of(request), self.over.wait)
                return method.answer(request)
            except RefusalError as refusal:
                return context.abort(refusal.code, refusal.words)

        return grpc.unary_unary_rpc_method_handler(
            answer, request_deserializer=method.request.deserialize, response_serializer=serialized
        )


def text_of(request: Any) -> str:
    """Return what faults look at: whom the request asks about, and its filter."""
    words = (getattr(request, field, "") for field in ("parent", "name", "filter"))
    return " ".join(word for word in words if word)


def serialized(answer: Any) -> bytes:
    """Return the bytes of a message, wrapped or raw."""
    raw = answer if hasattr(answer, "SerializeToString") else type(answer).pb(answer)
    serial: bytes = raw.SerializeToString()
    return serial
