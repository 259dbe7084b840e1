"""The instances of the emulated projects, and the answers to whoever lists and opens them."""

import re
import threading
from dataclasses import dataclass
from typing import Any, NamedTuple

import grpc
from google.cloud import memcache_v1, memorystore_v1, redis_cluster_v1, redis_v1

from collectors.cloud.products import Product
from demo.cloud.faults import RefusalError

NAME = re.compile(r"projects/(?P<project>[^/]+)/locations/(?P<region>[^/]+)(?:/(?:instances|clusters)/(?P<id>[^/]+))?")
DEFAULT_PAGE = 1_000


class Shape(NamedTuple):
    """How a product's API calls its things."""

    message: type[Any]
    answer: type[Any]
    # Of the list in the answer, and of the collection in resource names.
    field: str


SHAPES = {
    Product.REDIS: Shape(redis_v1.Instance, redis_v1.ListInstancesResponse, "instances"),
    Product.REDIS_CLUSTER: Shape(redis_cluster_v1.Cluster, redis_cluster_v1.ListClustersResponse, "clusters"),
    Product.VALKEY: Shape(memorystore_v1.Instance, memorystore_v1.ListInstancesResponse, "instances"),
    Product.MEMCACHED: Shape(memcache_v1.Instance, memcache_v1.ListInstancesResponse, "instances"),
}
AUTHORITIES = {
    Product.REDIS_CLUSTER: redis_cluster_v1.CertificateAuthority,
    Product.VALKEY: memorystore_v1.CertificateAuthority,
}
SHARED_AUTHORITIES = {
    Product.REDIS_CLUSTER: redis_cluster_v1.SharedRegionalCertificateAuthority,
    Product.VALKEY: memorystore_v1.SharedRegionalCertificateAuthority,
}


@dataclass(frozen=True)
class Place:
    """A project and one of its regions, or "-" for all of them."""

    project: str
    region: str

    @classmethod
    def of(cls, name: str) -> "Place":
        """Read a parent or a resource name. Raise RefusalError where it is none."""
        found = NAME.fullmatch(name)
        if found is None:
            raise RefusalError(grpc.StatusCode.INVALID_ARGUMENT, f"Invalid resource name: {name!r}.")
        return cls(found["project"], found["region"])

    def holds(self, other: "Place") -> bool:
        return self.project == other.project and self.region in {"-", other.region}


class Instances:
    """What the projects hold; tests change it at any time.

    `auth_strings` and `authorities` (certificates as PEM, also of a region) go by resource name. Instances of a region
    in `unreachable` (a region's id, or its path) are left out of lists, with `has_placeholders` for an entry whose name
    ends in "-".
    """

    def __init__(self) -> None:
        self.known: dict[tuple[Product, str], Any] = {}
        self.auth_strings: dict[str, str] = {}
        self.authorities: dict[str, list[str]] = {}
        self.unreachable: dict[Product, list[str]] = {}
        self.has_placeholders = False
        self.lock = threading.Lock()

    def add(self, product: Product, message: Any) -> Any:
        """Add an instance, or replace the one of its name."""
        with self.lock:
            self.known[product, message.name] = message
        return message

    def remove(self, product: Product, name: str) -> None:
        with self.lock:
            del self.known[product, name]

    def listed(self, product: Product, request: Any) -> Any:
        """Answer a list request: sorted by name, page by page; what is unreachable is told on the first page."""
        asked, shape = Place.of(request.parent), SHAPES[product]
        found = self.reachable(product, asked)
        first = page_start(request.page_token)
        last = first + (request.page_size or DEFAULT_PAGE)
        answer = shape.answer(next_page_token=str(last) if last < len(found) else "")
        setattr(answer, shape.field, found[first:last])
        if first == 0:
            lost = self.lost(product, asked)
            answer.unreachable = lost
            getattr(answer, shape.field).extend(self.placeholders(shape, asked.project, lost))
        return answer

    def reachable(self, product: Product, asked: Place) -> list[Any]:
        lost = {region_of(place) for place in self.unreachable.get(product, [])}
        with self.lock:
            named = sorted((name, message) for (of, name), message in self.known.items() if of == product)
        places = [(Place.of(name), message) for name, message in named]
        return [message for place, message in places if asked.holds(place) and place.region not in lost]

    def lost(self, product: Product, asked: Place) -> list[str]:
        return [place for place in self.unreachable.get(product, []) if asked.region in {"-", region_of(place)}]

    def placeholders(self, shape: Shape, project: str, lost: list[str]) -> list[Any]:
        if not self.has_placeholders:
            return []
        return [
            shape.message(name=f"projects/{project}/locations/{region_of(place)}/{shape.field}/-") for place in lost
        ]

    def get(self, product: Product, name: str) -> Any:
        """Return one instance. Raise RefusalError where there is none of that name."""
        if (product, name) not in self.known:
            raise RefusalError(grpc.StatusCode.NOT_FOUND, f"Resource '{name}' was not found")
        return self.known[product, name]

    def auth_string(self, request: Any) -> redis_v1.InstanceAuthString:
        self.get(Product.REDIS, request.name)
        return redis_v1.InstanceAuthString(auth_string=self.auth_strings.get(request.name, ""))

    def authority(self, product: Product, name: str) -> Any:
        """Answer for `.../clusters/C/certificateAuthority` and the like."""
        owner = name.removesuffix("/certificateAuthority")
        self.get(product, owner)
        return AUTHORITIES[product](name=name, managed_server_ca={"ca_certs": self.chains(owner)})

    def shared_authority(self, product: Product, name: str) -> Any:
        """Answer for a region's authority, which goes by `projects/P/locations/R` here."""
        owner = name.removesuffix("/sharedRegionalCertificateAuthority")
        return SHARED_AUTHORITIES[product](name=name, managed_server_ca={"ca_certs": self.chains(owner)})

    def chains(self, owner: str) -> list[dict[str, Any]]:
        return [{"certificates": [pem]} for pem in self.authorities.get(owner, [])]


def region_of(place: str) -> str:
    return place.rsplit("/", 1)[-1]


def page_start(token: str) -> int:
    if not token.isdigit():
        if token:
            raise RefusalError(grpc.StatusCode.INVALID_ARGUMENT, "The page token is invalid.")
        return 0
    return int(token)
