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
        found, metrics = self.instances, self.metrics
        redis, cluster = "google.cloud.redis.v1.CloudRedis", "google.cloud.redis.cluster.v1.CloudRedisCluster"
        memcache, valkey = "google.cloud.memcache.v1.CloudMemcache", "google.cloud.memorystore.v1.Memorystore"
        monitoring = "google.monitoring.v3.MetricService"
        r1, c1, m1, v1 = redis_v1, redis_cluster_v1, memcache_v1, memorystore_v1
        mon = monitoring_v3
        return [
            Method(redis, "ListInstances", r1.ListInstancesRequest, lambda q: found.listed(Product.REDIS, q)),
            Method(redis, "GetInstance", r1.GetInstanceRequest, lambda q: found.get(Product.REDIS, q.name)),
            Method(
                redis, "GetInstanceAuthString", r1.GetInstanceAuthStringRequest, lambda q: found.auth_string(q.name)
            ),
            Method(cluster, "ListClusters", c1.ListClustersRequest, lambda q: found.listed(Product.REDIS_CLUSTER, q)),
            Method(cluster, "GetCluster", c1.GetClusterRequest, lambda q: found.get(Product.REDIS_CLUSTER, q.name)),
            Method(
                cluster,
                "GetClusterCertificateAuthority",
                c1.GetClusterCertificateAuthorityRequest,
                lambda q: found.cluster_authority(q.name),
            ),
            Method(memcache, "ListInstances", m1.ListInstancesRequest, lambda q: found.listed(Product.MEMCACHED, q)),
            Method(memcache, "GetInstance", m1.GetInstanceRequest, lambda q: found.get(Product.MEMCACHED, q.name)),
            Method(valkey, "ListInstances", v1.ListInstancesRequest, lambda q: found.listed(Product.VALKEY, q)),
            Method(valkey, "GetInstance", v1.GetInstanceRequest, lambda q: found.get(Product.VALKEY, q.name)),
            Method(
                valkey,
                "GetCertificateAuthority",
                v1.GetCertificateAuthorityRequest,
                lambda q: found.valkey_authority(q.name),
            ),
            Method(monitoring, "ListTimeSeries", mon.ListTimeSeriesRequest, metrics.time_series),
            Method(monitoring, "ListMetricDescriptors", mon.ListMetricDescriptorsRequest, metrics.descriptors),
        ]

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
