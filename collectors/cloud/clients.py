"""The clients of Google's services: one set a process and project, made when first used.

gRPC channels do not live through a fork, so that a set belongs to the process that made it. The packages are
loaded with the first client: they cost a process a second and a half, and most processes never ask Google.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from django.conf import settings

from collectors.cloud.errors import CloudError, told
from collectors.cloud.identities import credentials_of, endpoint_of, machine_credentials

if TYPE_CHECKING:
    from google.api_core.retry import Retry
    from google.cloud.memcache_v1 import CloudMemcacheClient
    from google.cloud.memorystore_v1 import MemorystoreClient
    from google.cloud.monitoring_v3 import MetricServiceClient
    from google.cloud.redis_cluster_v1 import CloudRedisClusterClient
    from google.cloud.redis_v1 import CloudRedisClient

    from collectors.cloud.models import CloudProject

# Looking for credentials that are not there takes seconds: the services of a round share the answer.
AGAIN_SECONDS = 10.0
# gRPC would wait for up to two minutes before it connects again.
IMPATIENT = (("grpc.max_reconnect_backoff_ms", 5_000),)


@dataclass(frozen=True, slots=True)
class Service:
    """Where a package keeps its client, and the transport for a channel of our own."""

    package: str
    name: str
    client: str
    transport: str


REDIS = Service("google.cloud.redis_v1", "cloud_redis", "CloudRedisClient", "CloudRedisGrpcTransport")
REDIS_CLUSTER = Service(
    "google.cloud.redis_cluster_v1",
    "cloud_redis_cluster",
    "CloudRedisClusterClient",
    "CloudRedisClusterGrpcTransport",
)
VALKEY = Service("google.cloud.memorystore_v1", "memorystore", "MemorystoreClient", "MemorystoreGrpcTransport")
MEMCACHED = Service("google.cloud.memcache_v1", "cloud_memcache", "CloudMemcacheClient", "CloudMemcacheGrpcTransport")
METRICS = Service("google.cloud.monitoring_v3", "metric_service", "MetricServiceClient", "MetricServiceGrpcTransport")


def impatient(transport: Any) -> Callable[..., Any]:
    """Return what makes the channel of a transport as the package does, with a shorter wait after an outage."""

    def make(*words: Any, **named: Any) -> Any:
        return transport.create_channel(*words, **{**named, "options": [*named.get("options", ()), *IMPATIENT]})

    return make


class Clients:
    """The clients of one project, each made when it is first used. Safe to use from several threads."""

    def __init__(self, project: CloudProject) -> None:
        self._endpoint = endpoint_of(project)
        self._project = project
        self._made: dict[Service, Any] = {}
        self._channel: Any = None
        # One for all services: each fetches its tokens over the network.
        self._credentials: Any = None
        self._refused: CloudError | None = None
        self._refused_at = 0.0
        self._lock = threading.Lock()

    @property
    def redis(self) -> CloudRedisClient:
        return cast("CloudRedisClient", self._client(REDIS))

    @property
    def redis_cluster(self) -> CloudRedisClusterClient:
        return cast("CloudRedisClusterClient", self._client(REDIS_CLUSTER))

    @property
    def valkey(self) -> MemorystoreClient:
        return cast("MemorystoreClient", self._client(VALKEY))

    @property
    def memcached(self) -> CloudMemcacheClient:
        return cast("CloudMemcacheClient", self._client(MEMCACHED))

    @property
    def metrics(self) -> MetricServiceClient:
        return cast("MetricServiceClient", self._client(METRICS))

    def _client(self, service: Service) -> Any:
        """Return a client. Raise CloudError where there are no credentials."""
        with self._lock:
            if self._refused and time.monotonic() - self._refused_at < AGAIN_SECONDS:
                raise CloudError(self._refused.cause, self._refused.words)
            try:
                return self._kept(service)
            except CloudError as error:
                self._refused, self._refused_at = error, time.monotonic()
                raise

    def _kept(self, service: Service) -> Any:
        with told():
            if service not in self._made:
                self._made[service] = self._make(service)
            return self._made[service]

    def _make(self, service: Service) -> Any:
        client = getattr(import_module(service.package), service.client)
        transports = import_module(f"{service.package}.services.{service.name}.transports")
        transport = getattr(transports, service.transport)
        if self._endpoint:
            return client(transport=transport(channel=self._plain_channel()))
        self._credentials = self._credentials or credentials_of(self._project) or machine_credentials()
        return client(credentials=self._credentials, transport=partial(transport, channel=impatient(transport)))

    def _plain_channel(self) -> Any:
        """Return the channel to the emulator, which serves all five services on one port, without TLS."""
        if self._channel is None:
            options = [("grpc.max_receive_message_length", -1), *IMPATIENT]
            self._channel = import_module("grpc").insecure_channel(self._endpoint, options=options)
        return self._channel


# By project: what it was made from, and the clients. Another process or another revision makes new ones.
_kept: dict[int, tuple[tuple[int, int, str], Clients]] = {}
_keeping = threading.Lock()


def clients_of(project: CloudProject) -> Clients:
    """Return this process's clients of a project; one that is not stored yet has its own."""
    if project.pk is None:
        return Clients(project)
    made_from = (os.getpid(), project.revision, endpoint_of(project))
    with _keeping:
        kept = _kept.get(project.pk)
        if kept is None or kept[0] != made_from:
            kept = _kept[project.pk] = (made_from, Clients(project))
        return kept[1]


def forget(project_id: int) -> None:
    """Let go of a project's clients in this process."""
    with _keeping:
        _kept.pop(project_id, None)


def brief_retry() -> Retry:
    """Return a retry for the moment in which a service restarts."""
    retry = import_module("google.api_core.retry")
    unavailable = import_module("google.api_core.exceptions").ServiceUnavailable
    return cast(
        "Retry",
        retry.Retry(
            predicate=retry.if_exception_type(unavailable),
            initial=0.2,
            maximum=1.0,
            multiplier=2.0,
            timeout=settings.CLOUD_RETRY_SECONDS,
        ),
    )
