"""A project with instances in an emulated Cloud Monitoring, at a time that tests choose."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from collectors.cloud import collecting
from collectors.cloud.catalogue import COLLECTED
from collectors.cloud.feed import CloudFeed, CloudPlace
from collectors.cloud.models import CloudInstance, CloudProject, Decision
from collectors.cloud.products import Product
from collectors.cloud.service_metrics import POSITION
from collectors.cloud.storing import SIZE, Row, store
from demo.cloud.emulator import Emulator
from demo.cloud.store import Point, Value
from fleet.models import Cache, Reach

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
PROJECT, REGION, ID = "shop-prod-1", "us-central1", "sessions"
USED, CLIENTS = "redis.googleapis.com/stats/memory/usage", "redis.googleapis.com/clients/connected"
CLUSTER_USED = "redis.googleapis.com/cluster/memory/total_used_memory"
TTL = "redis.googleapis.com/keyspace/avg_ttl"
# A round of all 36 types of Redis would cost every test a tenth of a second.
FEW = tuple(metric for metric in COLLECTED if metric.type in {USED, CLIENTS, CLUSTER_USED, TTL})


@dataclass
class Stage:
    """The emulator, and the time as both sides have it."""

    emulator: Emulator
    now: datetime = NOON

    def project(self, project_id: str = PROJECT, **fields: object) -> CloudProject:
        return CloudProject.objects.create(project_id=project_id, endpoint=self.emulator.address, **fields)

    def pass_time(self, **parts: float) -> datetime:
        self.now += timedelta(**parts)
        return self.now

    def add(
        self,
        type_: str,
        values: Iterable[Value | None],
        role: str = "primary",
        node: str = "node-0",
        short_id: str = ID,
        project_id: str = PROJECT,
    ) -> None:
        """Add points of a Redis instance, a minute apart, the last one of now; None is a gap."""
        given = list(values)
        path = f"projects/{project_id}/locations/{REGION}/instances/{short_id}"
        resource = {"project_id": project_id, "region": REGION, "instance_id": path, "node_id": node}
        self.put(type_, "redis_instance", resource, {"role": role} if role else {}, given)

    def add_cluster(self, type_: str, values: Iterable[Value | None], uid: str = "uid-1", **metric: str) -> None:
        """Add points of a Redis Cluster as a whole."""
        resource = {"resource_container": PROJECT, "location": REGION, "cluster_id": ID, "cluster_uid": uid}
        self.put(type_, "redis.googleapis.com/Cluster", resource, metric, list(values))

    def put(
        self, type_: str, resource: str, labels: dict[str, str], metric: dict[str, str], given: list[Value | None]
    ) -> None:
        last = self.now.timestamp()
        for back, value in zip(range(len(given) - 1, -1, -1), given, strict=True):
            if value is not None:
                end = last - 60 * back
                self.emulator.points.add(type_, resource, labels, metric, Point(end, end, value))

    def read(self) -> CloudFeed:
        """Read what is due; return the feed of the first project. One that works is due whenever a test reads."""
        CloudFeed.objects.filter(cause="").update(due_at=self.now)
        for feed_id in collecting.due(self.now):
            collecting.read(feed_id, self.now)
        return CloudFeed.objects.order_by("pk")[0]


def instance(
    project: CloudProject,
    product: Product = Product.REDIS,
    short_id: str = ID,
    reach: Reach = Reach.SERVICE,
    **fields: object,
) -> CloudInstance:
    """An approved instance with its cache."""
    kind = "clusters" if product is Product.REDIS_CLUSTER else "instances"
    given: dict[str, object] = {
        "name": f"projects/{project.project_id}/locations/{REGION}/{kind}/{short_id}",
        "uid": "uid-1",
        "region": REGION,
        "short_id": short_id,
        "decision": Decision.APPROVED,
        "first_seen_at": NOON,
    }
    cache = Cache.objects.create(name=f"{short_id}-{product}", address="redis://127.0.0.1:1", reach=reach)
    return CloudInstance.objects.create(project=project, product=product, cache=cache, **given | fields)


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """An emulator without delay that is asked for few metric types; import it into a module to use it."""
    monkeypatch.setattr(collecting, "COLLECTED", FEW)
    with emulated() as stage:
        yield stage


@contextmanager
def emulated(delay: float = 0) -> Iterator[Stage]:
    stage: list[Stage] = []
    emulator = Emulator(delay=delay, clock=lambda: stage[0].now.timestamp())
    stage.append(Stage(emulator))
    emulator.start()
    try:
        yield stage[0]
    finally:
        emulator.stop()


def stored(name: str, role: str = "primary") -> list[float | None]:
    """Return the stored values of a metric, oldest first."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT numbers[%s] FROM cloud_sample JOIN collectors_cloudplace p ON p.id = place_id"
            " WHERE role = %s ORDER BY at",
            [POSITION[name] + 1, role],
        )
        return [value for (value,) in cursor.fetchall()]


def minutes(
    owner: CloudInstance,
    node: str = "",
    role: str = "primary",
    end: datetime = NOON,
    **numbers: Sequence[float | None],
) -> CloudPlace:
    """Store figures of a place, by the name of the metric without its prefix: a minute each, the last before `end`."""
    place, _ = CloudPlace.objects.get_or_create(
        instance=owner, node_id=node, role=role, defaults={"seen_on": end.date()}
    )
    length = max(len(values) for values in numbers.values())
    rows = []
    for index in range(length):
        row: Row = [None] * SIZE
        for name, values in numbers.items():
            row[POSITION[f"service_{name}"]] = values[index]
        rows.append((int(end.timestamp()) - 60 * (length - index), place.pk, row))
    store(rows)
    return place
