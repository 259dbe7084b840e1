"""What Google tells of one instance, in one shape for all products."""

from dataclasses import dataclass, field
from datetime import datetime, time
from typing import NamedTuple

from collectors.cloud.models import InstanceState


class Endpoint(NamedTuple):
    """Where it is reached. Kinds: discovery, primary, reader, node."""

    host: str
    port: int
    kind: str


class Certificate(NamedTuple):
    """A certificate of the authority that signs for the servers."""

    pem: str
    expires_at: datetime | None


class Window(NamedTuple):
    """A weekly window for maintenance: day 0 is Monday, times are UTC."""

    day: int
    begins: time
    seconds: int


class Schedule(NamedTuple):
    """Maintenance that is planned. After the deadline it cannot be put off any more."""

    start: datetime | None
    end: datetime | None
    deadline: datetime | None
    can_reschedule: bool | None


class Target(NamedTuple):
    """What an update under way leads to; None or "" where it leaves a thing as it is."""

    shards: int | None
    replicas_per_shard: int | None
    version: str
    node_type: str


class Message(NamedTuple):
    """Something that Google says is wrong: its code, and its words in English."""

    code: str
    words: str


class ServiceNode(NamedTuple):
    """A node that the service names (Redis with read replicas, Memcached)."""

    id: str
    zone: str
    host: str
    port: int | None
    state: str


@dataclass(frozen=True, slots=True)
class ServiceFacts:
    """One instance as its service tells it. Unknown is None, or "" in texts; sizes are in bytes."""

    product: str
    name: str
    uid: str
    state: InstanceState
    state_name: str
    display_name: str = ""
    tier: str = ""
    node_type: str = ""
    vcpu: int | None = None
    memory_bytes: int | None = None
    node_memory_bytes: int | None = None
    shards: int | None = None
    replicas_per_shard: int | None = None
    node_count: int | None = None
    is_cluster: bool = False
    version: str = ""
    zones: tuple[str, ...] = ()
    # The zone of the primary now, where it is told.
    primary_zone: str = ""
    endpoints: tuple[Endpoint, ...] = ()
    nodes: tuple[ServiceNode, ...] = ()
    # none, password, iam, token or unknown.
    auth: str = "unknown"
    tls: bool | None = None
    # instance, shared, customer or "".
    ca_mode: str = ""
    ca_certs: tuple[Certificate, ...] = ()
    # none, rdb, aof or unknown; how often snapshots are taken and how the log is flushed.
    persistence: str = "unknown"
    snapshot_seconds: int | None = None
    append_fsync: str = ""
    windows: tuple[Window, ...] = ()
    schedule: Schedule | None = None
    maintenance_version: str = ""
    available_versions: tuple[str, ...] = ()
    target: Target | None = None
    messages: tuple[Message, ...] = ()
    configs: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    created_at: datetime | None = None

    def endpoint(self, *kinds: str) -> Endpoint | None:
        """Return the first endpoint of the first kind that there is one of."""
        return next((one for kind in kinds for one in self.endpoints if one.kind == kind), None)
