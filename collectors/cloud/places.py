"""Which instance, node and role a series tells of: labels of Cloud Monitoring against what discovery found.

Redis names an instance by its full path, the other products by a short id; Redis Cluster and Valkey give a uid.
A node's location is a zone, an instance's is a region.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, NamedTuple

from django.db.models import F

from collectors.cloud.feed import CloudPlace
from collectors.cloud.metric_types import PRODUCTS
from collectors.cloud.models import CloudInstance, CloudProject, Decision

# Nodes of an instance that count, far more than a product allows: labels are not ours.
MOST_PLACES = 1_000


class Labels(NamedTuple):
    """What a resource type calls the parts of a place; "" where it has none."""

    project: str
    location: str
    instance: str
    uid: str
    node: str


LABELS = {
    "redis_instance": Labels("project_id", "region", "instance_id", "", "node_id"),
    "redis.googleapis.com/Cluster": Labels("resource_container", "location", "cluster_id", "cluster_uid", ""),
    "redis.googleapis.com/ClusterNode": Labels(
        "resource_container", "location", "cluster_id", "cluster_uid", "node_id"
    ),
    "memorystore.googleapis.com/Instance": Labels("resource_container", "location", "instance_id", "instance_uid", ""),
    "memorystore.googleapis.com/InstanceNode": Labels(
        "resource_container", "location", "instance_id", "instance_uid", "node_id"
    ),
    "memcache_node": Labels("project_id", "location", "instance_id", "", "node_id"),
}


class Key(NamedTuple):
    """A place as labels name it. With a uid, the location is left out: some series of an instance have none."""

    product: str
    project: str
    instance: str
    uid: str
    location: str
    node: str
    role: str


def key_of(resource: str, series: Any) -> Key:
    """Return the place of a raw TimeSeries."""
    labels, get = LABELS[resource], series.resource.labels.get
    uid = get(labels.uid, "")
    location = "" if uid else get(labels.location, "")
    role = series.metric.labels.get("role", "")
    return Key(
        PRODUCTS[resource], get(labels.project, ""), get(labels.instance, ""), uid, location, get(labels.node, ""), role
    )


class Seen(NamedTuple):
    """One instance as one of our projects sees it."""

    pk: int
    project_id: str
    product: str
    region: str
    short_id: str
    uid: str
    name: str


@dataclass(slots=True)
class Instances:
    """The instances that one feed answers for, by all that a series may name them by."""

    by_uid: dict[tuple[str, str], int] = field(default_factory=dict)
    by_region: dict[tuple[str, str, str, str], int] = field(default_factory=dict)
    by_name: dict[tuple[str, str, str], list[int]] = field(default_factory=dict)
    projects: set[str] = field(default_factory=set)
    products: set[str] = field(default_factory=set)
    pks: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, projects: Sequence[CloudProject]) -> Instances:
        """Return the present instances of these projects that nobody chose to ignore.

        Where two of them see the same one, its figures belong to the row that has the cache.
        """
        found = cls(projects={project.project_id for project in projects})
        rows = CloudInstance.objects.present().filter(project__in=projects).exclude(decision=Decision.IGNORED)
        rows = rows.order_by(F("cache").asc(nulls_first=True), "first_seen_at")
        same: dict[tuple[str, str, str], list[Seen]] = defaultdict(list)
        for row in map(Seen._make, rows.values_list("pk", "project__project_id", *Seen._fields[2:])):
            found.pks.append(row.pk)
            same[row.product, row.name, row.uid].append(row)
        for members in same.values():
            found._add(members[-1], {row.project_id for row in members})
        return found

    def _add(self, row: Seen, projects: set[str]) -> None:
        self.products.add(row.product)
        self.by_uid[row.product, row.uid] = row.pk
        # Series name the project that an instance is in, whichever of ours sees it.
        for project_id in projects | set(row.name.split("/")[1:2]):
            self.by_region[project_id, row.product, row.region, row.short_id] = row.pk
            self.by_name.setdefault((project_id, row.product, row.short_id), []).append(row.pk)

    def find(self, key: Key) -> int | None:
        """Return the instance that a series names, None where discovery knows no such one."""
        if key.uid and (found := self.by_uid.get((key.product, key.uid))):
            return found
        project, region, short_id = named(key)
        if project not in self.projects and len(self.projects) == 1:
            # A project may be given by its number.
            (project,) = self.projects
        for place in (region, region.rpartition("-")[0]):
            if found := self.by_region.get((project, key.product, place, short_id)):
                return found
        only = self.by_name.get((project, key.product, short_id), []) if not region else []
        return only[0] if len(only) == 1 else None


def named(key: Key) -> tuple[str, str, str]:
    """Return project, region or zone, and short id, whichever way the labels give them."""
    parts = key.instance.split("/")
    if len(parts) == 6 and parts[0] == "projects":
        return parts[1], parts[3], parts[5]
    return key.project.removeprefix("projects/"), key.location, key.instance


# Instance, node id and role.
Place = tuple[int, str, str]


class Places:
    """The numbers of places, kept by a process between rounds."""

    def __init__(self) -> None:
        self._known: dict[Place, int] = {}
        self._today: date | None = None
        # Those that are known to have been seen today.
        self._seen: set[int] = set()

    def of(self, keys: Iterable[Key], instances: Instances, today: date) -> dict[Key, int]:
        """Return the number of each key's place, giving new places theirs; those of unknown instances are left out."""
        wanted = {key: (pk, key.node[:100], key.role[:16]) for key in keys if (pk := instances.find(key))}
        missing = bounded({place for place in wanted.values() if place not in self._known})
        if missing:
            self._known |= numbered(missing, today)
        found = {key: self._known[place] for key, place in wanted.items() if place in self._known}
        self._see(set(found.values()), today)
        return found

    def _see(self, numbers: set[int], today: date) -> None:
        if self._today != today:
            self._today, self._seen = today, set()
        if new := numbers - self._seen:
            CloudPlace.objects.filter(pk__in=new, seen_on__lt=today).update(seen_on=today)
            self._seen |= new


def bounded(places: set[Place]) -> list[Place]:
    """Return at most MOST_PLACES of each instance, in a fixed order."""
    kept: dict[int, list[Place]] = {}
    for place in sorted(places):
        members = kept.setdefault(place[0], [])
        if len(members) < MOST_PLACES:
            members.append(place)
    return [place for members in kept.values() for place in members]


def numbered(places: Sequence[Place], today: date) -> dict[Place, int]:
    rows = [CloudPlace(instance_id=pk, node_id=node, role=role, seen_on=today) for pk, node, role in places]
    CloudPlace.objects.bulk_create(rows, ignore_conflicts=True)
    owners = {pk for pk, _node, _role in places}
    known = CloudPlace.objects.filter(instance__in=owners).values_list("instance_id", "node_id", "role", "pk")
    return {(pk, node, role): number for pk, node, role, number in known}
