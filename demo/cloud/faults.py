"""What goes wrong on order: the refusals of the real services, with their words."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

import grpc

ALWAYS = None
PERMISSIONS = {
    "CloudRedis/ListInstances": "redis.instances.list",
    "CloudRedis/GetInstance": "redis.instances.get",
    "CloudRedis/GetInstanceAuthString": "redis.instances.getAuthString",
    "CloudRedisCluster/ListClusters": "redis.clusters.list",
    "CloudRedisCluster/GetCluster": "redis.clusters.get",
    "CloudRedisCluster/GetClusterCertificateAuthority": "redis.clusters.get",
    "CloudMemcache/ListInstances": "memcache.instances.list",
    "CloudMemcache/GetInstance": "memcache.instances.get",
    "Memorystore/ListInstances": "memorystore.instances.list",
    "Memorystore/GetInstance": "memorystore.instances.get",
    "Memorystore/GetCertificateAuthority": "memorystore.instances.getCertificateAuthority",
    "CloudRedisCluster/GetSharedRegionalCertificateAuthority": "redis.sharedRegionalCertificateAuthorities.get",
    "Memorystore/GetSharedRegionalCertificateAuthority": "memorystore.sharedRegionalCertificateAuthorities.get",
    "MetricService/ListTimeSeries": "monitoring.timeSeries.list",
    "MetricService/ListMetricDescriptors": "monitoring.metricDescriptors.list",
}
QUOTA_LIMIT = "QueryRequestsPerMinutePerProject"


class RefusalError(Exception):
    """An answer that is a status and not a message."""

    def __init__(self, code: grpc.StatusCode, words: str) -> None:
        super().__init__(words)
        self.code = code
        self.words = words


def quota_words(project: str) -> str:
    return (
        "Quota exceeded for quota metric 'Time series queries' and limit "
        f"'{QUOTA_LIMIT}' of service 'monitoring.googleapis.com' for consumer 'projects/{project}'."
    )


@dataclass
class Fault:
    """One disturbance of the methods whose name ends in `method` and whose request has `containing` in its text.

    It is over after `times` calls, or when it is cleared. `code` None only makes the answer late by `seconds`.
    """

    method: str
    code: grpc.StatusCode | None
    words: str = ""
    times: int | None = ALWAYS
    containing: str = ""
    seconds: float = 0.0

    def suits(self, method: str, text: str) -> bool:
        return self.times != 0 and method.endswith(self.method) and self.containing in text


class Faults:
    """The faults that are on; the first one that suits a call meets it."""

    def __init__(self) -> None:
        self.on: list[Fault] = []
        self.lock = threading.Lock()

    def add(self, fault: Fault) -> Fault:
        with self.lock:
            self.on.append(fault)
        return fault

    def fail(
        self, method: str, code: grpc.StatusCode, words: str, times: int | None = ALWAYS, containing: str = ""
    ) -> Fault:
        """Answer a method, like "CloudRedis/ListInstances" or "" for all, with a status."""
        return self.add(Fault(method, code, words, times, containing))

    def deny(self, method: str, containing: str = "") -> Fault:
        """Refuse a method for want of its permission, which the words name."""
        words = f"Permission '{PERMISSIONS[method]}' denied on resource (or it may not exist)."
        return self.fail(method, grpc.StatusCode.PERMISSION_DENIED, words, containing=containing)

    def exhaust(self, project: str, times: int | None = ALWAYS) -> Fault:
        """Answer as when the project has used up its queries of the minute."""
        code = grpc.StatusCode.RESOURCE_EXHAUSTED
        return self.fail("MetricService/ListTimeSeries", code, quota_words(project), times, f"projects/{project}")

    def unavailable(self, method: str, times: int | None = ALWAYS) -> Fault:
        return self.fail(method, grpc.StatusCode.UNAVAILABLE, "The service is currently unavailable.", times)

    def slow(self, method: str, seconds: float, times: int | None = ALWAYS) -> Fault:
        """Keep the answers of a method back for a while."""
        return self.add(Fault(method, None, times=times, seconds=seconds))

    def clear(self) -> None:
        with self.lock:
            self.on.clear()

    def meet(self, method: str, text: str, wait: Callable[[float], object]) -> None:
        """Do to a call what is ordered. Raise RefusalError where it is to fail."""
        with self.lock:
            fault = next((fault for fault in self.on if fault.suits(method, text)), None)
            if fault is None:
                return
            if fault.times is not None:
                fault.times -= 1
        if fault.seconds:
            wait(fault.seconds)
        if fault.code is not None:
            raise RefusalError(fault.code, fault.words)
