"""Reading stored snapshots: messages of four products as JSON, with the names of their enums.

Every field may be missing, and an enum may be a number that this version of the packages does not know.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, time
from typing import Any

from django.core.exceptions import ValidationError

from collectors.cloud.models import CloudInstance, InstanceState
from collectors.cloud.products import Product
from collectors.cloud.service_facts import (
    Certificate,
    Endpoint,
    Message,
    Schedule,
    ServiceFacts,
    ServiceNode,
    Target,
    Window,
)
from fleet.certificates import certificates

Snapshot = Mapping[str, Any]
GIB, MIB = 2**30, 2**20
STATES = {
    "READY": InstanceState.UP,
    "ACTIVE": InstanceState.UP,
    "CREATING": InstanceState.CHANGING,
    "UPDATING": InstanceState.CHANGING,
    "MIGRATING": InstanceState.CHANGING,
    "IMPORTING": InstanceState.CHANGING,
    "REPAIRING": InstanceState.REPAIR,
    "FAILING_OVER": InstanceState.REPAIR,
    "MAINTENANCE": InstanceState.MAINTENANCE,
    "PERFORMING_MAINTENANCE": InstanceState.MAINTENANCE,
    "DELETING": InstanceState.GONE,
}
AUTH = {
    "AUTH_MODE_IAM_AUTH": "iam",
    "AUTH_MODE_DISABLED": "none",
    "AUTH_MODE_TOKEN_AUTH": "token",
    "IAM_AUTH": "iam",
    "AUTH_DISABLED": "none",
    "TOKEN_AUTH": "token",
}
TLS = {
    "SERVER_AUTHENTICATION": True,
    "TRANSIT_ENCRYPTION_MODE_SERVER_AUTHENTICATION": True,
    "DISABLED": False,
    "TRANSIT_ENCRYPTION_DISABLED": False,
    "TRANSIT_ENCRYPTION_MODE_DISABLED": False,
}
CA_MODES = {"PER_INSTANCE_CA": "instance", "SHARED_CA": "shared", "CAS_CA": "customer"}
PERSISTENCE = {"DISABLED": "none", "RDB": "rdb", "AOF": "aof"}
HOURS = {"ONE_HOUR": 1, "SIX_HOURS": 6, "TWELVE_HOURS": 12, "TWENTY_FOUR_HOURS": 24}
DAYS = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")
KINDS = {
    "CONNECTION_TYPE_DISCOVERY": "discovery",
    "CONNECTION_TYPE_PRIMARY": "primary",
    "CONNECTION_TYPE_READER": "reader",
}
DATA_PORT = 6379
# Where discovery keeps what it asked for beside the instance itself.
AUTHORITY = "certificate_authority"


def facts_of(instance: CloudInstance) -> ServiceFacts:
    return facts(instance.product, instance.snapshot)


def facts(product: str, snapshot: Snapshot) -> ServiceFacts:
    """Return what a snapshot says, in one shape for all products."""
    read = {
        Product.REDIS: _redis,
        Product.REDIS_CLUSTER: _redis_cluster,
        Product.VALKEY: _valkey,
        Product.MEMCACHED: _memcached,
    }[Product(product)]
    return ServiceFacts(**{**_common(product, snapshot), **read(snapshot)})


def _common(product: str, found: Snapshot) -> dict[str, Any]:
    policy = found.get("maintenance_policy", {})
    return {
        "product": product,
        "name": found.get("name", ""),
        "uid": found.get("uid") or found.get("create_time", ""),
        "state": STATES.get(_word(found, "state"), InstanceState.UNKNOWN),
        "state_name": _word(found, "state"),
        "display_name": found.get("display_name", ""),
        "windows": tuple(_windows(policy.get("weekly_maintenance_window", ()))),
        "schedule": _schedule(found.get("maintenance_schedule")),
        "maintenance_version": found.get("effective_maintenance_version") or found.get("maintenance_version", ""),
        "available_versions": tuple(found.get("available_maintenance_versions", ())),
        "labels": dict(found.get("labels", {})),
        "created_at": moment(found.get("create_time")),
    }


def _redis(found: Snapshot) -> dict[str, Any]:
    size = found.get("memory_size_gb", 0) * GIB or None
    is_doubled = found.get("tier") == "STANDARD_HA"
    replicas = found.get("replica_count", 0) or int(is_doubled)
    persistence = found.get("persistence_config", {})
    zones = (found.get("location_id"), found.get("alternative_location_id"), *_each(found.get("nodes"), "zone"))
    return {
        "tier": _word(found, "tier"),
        "memory_bytes": size,
        "node_memory_bytes": size,
        "shards": 1,
        "replicas_per_shard": replicas,
        "node_count": 1 + replicas,
        "version": _version(_word(found, "redis_version")),
        "zones": _distinct(zones),
        "primary_zone": found.get("current_location_id", ""),
        "endpoints": tuple(_redis_endpoints(found)),
        "nodes": tuple(
            ServiceNode(one.get("id", ""), one.get("zone", ""), "", None, "") for one in _list(found, "nodes")
        ),
        "auth": "password" if found.get("auth_enabled") else "none",
        # Not told means not asked for when it was made.
        "tls": TLS.get(_word(found, "transit_encryption_mode") or "DISABLED"),
        "ca_mode": "instance" if found.get("server_ca_certs") else "",
        "ca_certs": tuple(
            Certificate(one.get("cert", ""), moment(one.get("expire_time"))) for one in _list(found, "server_ca_certs")
        ),
        **_persistence(_word(persistence, "persistence_mode"), persistence),
        "messages": tuple(_suspensions(found)),
        "configs": dict(found.get("redis_configs", {})),
    }


def _redis_endpoints(found: Snapshot) -> Iterable[Endpoint]:
    if host := found.get("host"):
        yield Endpoint(host, found.get("port") or DATA_PORT, "primary")
    if host := found.get("read_endpoint"):
        yield Endpoint(host, found.get("read_endpoint_port") or DATA_PORT, "reader")


def _redis_cluster(found: Snapshot) -> dict[str, Any]:
    shards = found.get("shard_count")
    size = found.get("precise_size_gb") or found.get("size_gb")
    endpoints = [*_discovery_endpoints(found), *_connections(found.get("cluster_endpoints", ()), "address")]
    endpoints += [end for end in (_connection(one, "address") for one in _list(found, "psc_connections")) if end]
    return {
        "memory_bytes": round(size * GIB) if size else None,
        "node_memory_bytes": round(size * GIB / shards) if size and shards else None,
        "is_cluster": True,
        "endpoints": tuple(dict.fromkeys(endpoints)),
        "configs": dict(found.get("redis_configs", {})),
        **_sharded(found),
    }


def _valkey(found: Snapshot) -> dict[str, Any]:
    size, shards = found.get("node_config", {}).get("size_gb"), found.get("shard_count")
    endpoints = [*_connections(found.get("endpoints", ()), "ip_address"), *_discovery_endpoints(found)]
    mode = _word(found, "mode")
    return {
        "memory_bytes": round(size * GIB * shards) if size and shards else None,
        "node_memory_bytes": round(size * GIB) if size else None,
        "is_cluster": mode == "CLUSTER" or (not mode and (shards or 1) > 1),
        "version": _version(found.get("engine_version", "")),
        "endpoints": tuple(dict.fromkeys(endpoints)),
        "configs": dict(found.get("engine_configs", {})),
        **_sharded(found),
    }


def _sharded(found: Snapshot) -> dict[str, Any]:
    """Return what Redis Cluster and Valkey tell alike."""
    shards, replicas = found.get("shard_count"), found.get("replica_count", 0)
    persistence = found.get("persistence_config", {})
    update = found.get("state_info", {}).get("update_info")
    zone = found.get("zone_distribution_config", {}).get("zone", "")
    return {
        "node_type": _word(found, "node_type"),
        "shards": shards,
        "replicas_per_shard": replicas,
        "node_count": shards * (1 + replicas) if shards else None,
        "zones": _distinct((zone,)),
        "auth": AUTH.get(_word(found, "authorization_mode"), "unknown"),
        "tls": TLS.get(_word(found, "transit_encryption_mode")),
        "ca_mode": next((ours for end, ours in CA_MODES.items() if _word(found, "server_ca_mode").endswith(end)), ""),
        "ca_certs": tuple(_authority(found)),
        **_persistence(_word(persistence, "mode"), persistence.get("rdb_config", {})),
        "append_fsync": _word(persistence.get("aof_config", {}), "append_fsync"),
        "target": _target(update) if update else None,
    }


def _memcached(found: Snapshot) -> dict[str, Any]:
    config, count = found.get("node_config", {}), found.get("node_count")
    size = config.get("memory_size_mb")
    version = found.get("memcache_full_version", "").removeprefix("memcached-")
    return {
        "vcpu": config.get("cpu_count"),
        "memory_bytes": size * MIB * count if size and count else None,
        "node_memory_bytes": size * MIB if size else None,
        "node_count": count,
        "version": version or _version(_word(found, "memcache_version")),
        "zones": _distinct((*found.get("zones", ()), *_each(found.get("memcache_nodes"), "zone"))),
        "endpoints": tuple(_memcached_endpoints(found)),
        "nodes": tuple(_memcached_nodes(found)),
        "auth": "none",
        "tls": False,
        "persistence": "none",
        "messages": tuple(
            Message(_word(one, "code"), one.get("message", "")) for one in _list(found, "instance_messages")
        ),
        "configs": dict(found.get("parameters", {}).get("params", {})),
    }


def _memcached_nodes(found: Snapshot) -> Iterable[ServiceNode]:
    for one in _list(found, "memcache_nodes"):
        yield ServiceNode(
            one.get("node_id", ""), one.get("zone", ""), one.get("host", ""), one.get("port"), _word(one, "state")
        )


def _memcached_endpoints(found: Snapshot) -> Iterable[Endpoint]:
    host, _, port = found.get("discovery_endpoint", "").rpartition(":")
    if host and port.isdigit():
        yield Endpoint(host, int(port), "discovery")
    for node in _memcached_nodes(found):
        if node.host and node.port:
            yield Endpoint(node.host, node.port, "node")


def _discovery_endpoints(found: Snapshot) -> Iterable[Endpoint]:
    for one in _list(found, "discovery_endpoints"):
        if one.get("address"):
            yield Endpoint(one["address"], one.get("port") or DATA_PORT, "discovery")


def _connections(groups: Iterable[Snapshot], address: str) -> Iterable[Endpoint]:
    for one in (one for group in groups for one in group.get("connections", ())):
        endpoint = _connection(one.get("psc_auto_connection") or one.get("psc_connection") or {}, address)
        if endpoint:
            yield endpoint


def _connection(one: Snapshot, address: str) -> Endpoint | None:
    """Return where a connection leads; None for Google's own data endpoint, which nobody may use."""
    kind, host = KINDS.get(_word(one, "connection_type")), one.get(address)
    return Endpoint(host, one.get("port") or DATA_PORT, kind) if kind and host else None


def _target(update: Snapshot) -> Target:
    return Target(
        update.get("target_shard_count"),
        update.get("target_replica_count"),
        _version(update.get("target_engine_version", "")),
        _word(update, "target_node_type"),
    )


def _persistence(mode: str, rdb: Snapshot) -> dict[str, Any]:
    hours = HOURS.get(_word(rdb, "rdb_snapshot_period"))
    kind = PERSISTENCE.get(mode or "DISABLED", "unknown")
    return {"persistence": kind, "snapshot_seconds": hours * 3600 if hours and kind == "rdb" else None}


def _suspensions(found: Snapshot) -> Iterable[Message]:
    words = found.get("status_message", "")
    for reason in _list(found, "suspension_reasons"):
        yield Message(str(reason), words)
    if words and not found.get("suspension_reasons"):
        yield Message("", words)


def _authority(found: Snapshot) -> Iterable[Certificate]:
    for pem in found.get(AUTHORITY, {}).get("certificates", ()):
        try:
            yield Certificate(pem, min(one.not_valid_after_utc for one in certificates(pem)))
        except ValidationError:
            yield Certificate(pem, None)


def _windows(found: Iterable[Snapshot]) -> Iterable[Window]:
    for one in found:
        if one.get("day") in DAYS:
            start = one.get("start_time", {})
            begins = time(start.get("hours", 0) % 24, start.get("minutes", 0) % 60)
            yield Window(DAYS.index(one["day"]), begins, _seconds(one.get("duration")) or 3600)


def _schedule(found: Snapshot | None) -> Schedule | None:
    if not found:
        return None
    start, end, deadline = (moment(found.get(name)) for name in ("start_time", "end_time", "schedule_deadline_time"))
    return Schedule(start, end, deadline, found.get("can_reschedule"))


def _seconds(duration: str | None) -> int:
    """Return a duration of protobuf's JSON, `3600s`, in whole seconds."""
    return round(float((duration or "0s").removesuffix("s")))


def moment(text: str | None) -> datetime | None:
    """Return a time of protobuf's JSON; None where there is none."""
    return datetime.fromisoformat(text).astimezone(UTC) if text else None


def _word(found: Snapshot, name: str) -> str:
    """Return the name of an enum's value; its number where no name is known; "" where nothing is said."""
    word = str(found.get(name, ""))
    return "" if word.endswith("_UNSPECIFIED") or word == "0" else word


def _version(word: str) -> str:
    """Return 7.2 for REDIS_7_2."""
    _, _, number = word.partition("_")
    return number.replace("_", ".").lower() or word


def _list(found: Snapshot, name: str) -> list[Any]:
    return list(found.get(name) or ())


def _each(found: Iterable[Snapshot] | None, name: str) -> Iterable[str]:
    return (one.get(name, "") for one in found or ())


def _distinct(words: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for word in words if word))
