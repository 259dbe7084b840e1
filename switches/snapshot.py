"""Everything that the read path needs of the database, as one value: read at once, kept in a file, never changed."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import orjson

from fleet.addresses import AddressError, parse_addresses
from fleet.models import Topology
from switches import buckets
from switches.switch import ALL

FORMAT = 1
# One statement sees one state of the database. A name of an instance is a reader's, so it stays text.
READ = """
SELECT json_build_object(
    'epoch', i.epoch, 'serial', i.serial,
    'switches', (SELECT coalesce(json_agg(json_build_object(
        'id', s.id, 'key', s.key, 'percent', s.percent, 'revision', s.revision, 'ttl_seconds', s.ttl_seconds,
        'address', c.address, 'topology', c.topology,
        'instances', CASE WHEN s.percent BETWEEN 1 AND 99 THEN
            (SELECT json_object_agg(n.name, n.is_admitted) FROM switches_instance n WHERE n.switch_id = s.id) END
    ) ORDER BY s.key), '[]') FROM switches_switch s LEFT JOIN fleet_cache c ON c.id = s.cache_now_id
        WHERE s.retired_at IS NULL),
    'keys', (SELECT coalesce(json_agg(json_build_object('id', k.id, 'digest', k.digest, 'scope', k.scope)), '[]')
        FROM switches_clientkey k WHERE k.revoked_at IS NULL)
)::text FROM switches_installation i WHERE i.id = 1
"""


class SnapshotUnreadableError(ValueError):
    """A file that holds no snapshot of ours, or a damaged one."""


@dataclass(frozen=True, slots=True)
class KnownSwitch:
    """A switch as readers see it. `instances` says who is let in while it is a canary over those that report."""

    id: int
    key: str
    percent: int
    revision: int
    ttl_seconds: int
    endpoint: dict[str, Any] | None
    instances: Mapping[str, bool]

    @property
    def is_canary(self) -> bool:
        return 0 < self.percent < ALL

    def allows(self, instance: str) -> bool:
        """Return whether a named instance may use the cache; without a name, whether anybody may."""
        if not self.is_canary or not instance:
            return self.percent > 0
        if self.instances:
            return self.instances.get(instance, False)
        return self.allows_bucket(instance)

    def allows_bucket(self, name: str) -> bool:
        return buckets.bucket(self.key, name) <= self.percent


@dataclass(frozen=True, slots=True)
class KnownKey:
    """A client key that is valid, and the patterns of what it reads."""

    id: int
    scope: tuple[str, ...]

    def reads(self, key: str) -> bool:
        return not self.scope or any(fnmatchcase(key, pattern) for pattern in self.scope)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of the database after change `serial` of an epoch. `answers` are those made from it so far."""

    epoch: int
    serial: int
    switches: Mapping[str, KnownSwitch]
    keys: Mapping[str, KnownKey]
    document: bytes
    answers: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def place(self) -> tuple[int, int]:
        return self.epoch, self.serial


def parse(document: bytes) -> Snapshot:
    """Return the snapshot that READ's answer says. Raise SnapshotUnreadableError."""
    try:
        found = orjson.loads(document)
        switches = {row["key"]: _switch(row) for row in found["switches"]}
        keys = {row["digest"]: KnownKey(row["id"], tuple(row["scope"])) for row in found["keys"]}
        return Snapshot(int(found["epoch"]), int(found["serial"]), switches, keys, document)
    except (ValueError, KeyError, TypeError) as error:
        raise SnapshotUnreadableError("This is no snapshot of switches.") from error


def packed(snapshot: Snapshot) -> bytes:
    """Return the content of a file that holds the snapshot, with a check sum."""
    total = hashlib.sha256(snapshot.document).hexdigest()
    return b"shardwatch switches %d %s\n%s" % (FORMAT, total.encode(), snapshot.document)


def unpacked(content: bytes) -> Snapshot:
    """Raise SnapshotUnreadableError where the content is not what `packed` made."""
    head, _, document = content.partition(b"\n")
    if head != packed(Snapshot(0, 0, {}, {}, document)).partition(b"\n")[0]:
        raise SnapshotUnreadableError("The file is damaged, or of another version.")
    return parse(document)


def _switch(row: Mapping[str, Any]) -> KnownSwitch:
    return KnownSwitch(
        id=row["id"],
        key=row["key"],
        percent=row["percent"],
        revision=row["revision"],
        ttl_seconds=row["ttl_seconds"],
        endpoint=_endpoint(row["address"], row["topology"]),
        instances=row["instances"] or {},
    )


def _endpoint(address: str | None, topology: str | None) -> dict[str, Any] | None:
    """Return where the cache is, never with a password; None without a cache that can be named."""
    try:
        seed = parse_addresses(address or "")[0][0]
    except AddressError:
        return None
    return {"host": seed.host, "port": seed.port, "tls": seed.tls, "cluster": topology == Topology.CLUSTER}
