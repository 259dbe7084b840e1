"""Cloud Monitoring that costs nothing: prepared answers for any number of projects, in a process of its own.

`python -m bench.cloud_server TYPES CACHES` prints its address and answers until its input ends. Each of the first
TYPES metric types of Redis Cluster has a series a cache; points are a minute apart and hidden for 300 s.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
from google.cloud.monitoring_v3.types import ListTimeSeriesRequest, ListTimeSeriesResponse

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from collectors.cloud.catalogue import COLLECTED, CloudMetric
from collectors.cloud.products import Product

SERVICE = "google.monitoring.v3.MetricService"
# Answers are made for this project; another one's name, of the same length, is put in its place.
TEMPLATE = "bench-project-00"
DELAY_SECONDS, DOUBLE, GAUGE = 300, 3, 1
KEPT = 200


def collected(types: int) -> list[CloudMetric]:
    return [metric for metric in COLLECTED if metric.product == Product.REDIS_CLUSTER][:types]


def project_id(number: int) -> str:
    return f"{TEMPLATE[:-2]}{number:02d}"


def cache_id(number: int) -> str:
    return f"cache-{number:04d}"


class Answers:
    """The bytes of each answer, made once for all projects that ask for the same minutes."""

    def __init__(self, types: int, caches: int) -> None:
        self.by_filter = {metric.filter: metric for metric in collected(types)}
        self.caches = caches
        self.kept: dict[tuple[str, int, int], bytes] = {}
        self.lock = threading.Lock()

    def answer(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        asked = ListTimeSeriesRequest.pb().FromString(request)
        key = (asked.filter, asked.interval.start_time.seconds, asked.interval.end_time.seconds)
        with self.lock:
            if key not in self.kept:
                if len(self.kept) > KEPT:
                    self.kept.clear()
                self.kept[key] = self.made(*key)
        return self.kept[key].replace(TEMPLATE.encode(), asked.name.removeprefix("projects/").encode())

    def made(self, wanted: str, start: int, end: int) -> bytes:
        answer = ListTimeSeriesResponse.pb()()
        metric = self.by_filter.get(wanted)
        for number in range(self.caches) if metric else ():
            self.add(answer, metric, number, start, end)
        given: bytes = answer.SerializeToString()
        return given

    def add(self, answer: Any, metric: Any, number: int, start: int, end: int) -> None:
        series = answer.time_series.add(metric_kind=GAUGE, value_type=DOUBLE)
        series.metric.type, series.resource.type = metric.type, metric.resource
        labels = {"resource_container": TEMPLATE, "cluster_id": cache_id(number), "location": "us-central1"}
        if "resource.labels.node_id" in metric.group_by:
            labels |= {"node_id": f"{number:040d}", "shard_id": "0", "location": "us-central1-a"}
        series.resource.labels.update(labels)
        if "metric.labels.role" in metric.group_by:
            series.metric.labels["role"] = "primary"
        for at in range((end - DELAY_SECONDS) // 60 * 60, start, -60):
            point = series.points.add()
            point.interval.end_time.seconds = point.interval.start_time.seconds = at
            point.value.double_value = at % 3_600 / 7 + number


def main() -> None:
    answers = Answers(int(sys.argv[1]), int(sys.argv[2]))
    server = grpc.server(ThreadPoolExecutor(8))
    port = server.add_insecure_port("127.0.0.1:0")
    handlers = {"ListTimeSeries": grpc.unary_unary_rpc_method_handler(answers.answer)}
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, handlers)])
    server.start()
    sys.stdout.write(f"127.0.0.1:{port}\n")
    sys.stdout.flush()
    sys.stdin.read()
    server.stop(grace=None)


if __name__ == "__main__":
    main()
