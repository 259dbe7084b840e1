"""The project of the demo: one instance of each product, with servers of the demo as their nodes."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from google.cloud import memcache_v1, memorystore_v1, redis_cluster_v1, redis_v1

from collectors.cloud.products import Product
from demo.cloud.emulator import Emulator
from demo.cloud.feed import Fed
from demo.cloud.reading import MemcachedServer, ValkeyServer
from demo.layout import GAME, SESSIONS, Member
from launcher.valkey import HOST

PROJECT = "demo-project"
REGION = "asia-northeast1"
ZONES = ("asia-northeast1-a", "asia-northeast1-b", "asia-northeast1-c")
GIB = 1 << 30
# Sundays at 18:00 UTC.
WINDOW_DAY, WINDOW_HOUR, WINDOW_LENGTH = 6, 18, timedelta(hours=1)
# Nobody is at home there, as behind a network that is not ours.
FAR_AWAY = "10.0.0.3"
VALKEY_PORT = 6379


def name_of(collection: str, short_id: str) -> str:
    return f"projects/{PROJECT}/locations/{REGION}/{collection}/{short_id}"


def zones(count: int) -> list[str]:
    return [ZONES[place % len(ZONES)] for place in range(count)]


def next_window(now: datetime) -> datetime:
    """Return when the window for maintenance begins that is open or comes next."""
    days = (WINDOW_DAY - now.weekday()) % 7
    begins = (now + timedelta(days=days)).replace(hour=WINDOW_HOUR, minute=0, second=0, microsecond=0)
    return begins if now < begins + WINDOW_LENGTH else begins + timedelta(days=7)


def planned(now: datetime) -> redis_v1.MaintenanceSchedule:
    """Return the maintenance that is planned: the same until it is over, however often the demo starts meanwhile."""
    begins = next_window(now)
    return redis_v1.MaintenanceSchedule(
        start_time=begins,
        end_time=begins + WINDOW_LENGTH,
        can_reschedule=True,
        schedule_deadline_time=begins + timedelta(days=7),
    )


def plan_again(emulator: Emulator, now: datetime) -> None:
    """Plan the session store's next maintenance once the last one is over."""
    known = emulator.instances.get(Product.REDIS, name_of("instances", "sessions"))
    if known.maintenance_schedule.end_time <= now:
        # A copy: the one that is there may be on its way to somebody.
        changed = redis_v1.Instance(known)
        changed.maintenance_schedule = planned(now)
        emulator.instances.add(Product.REDIS, changed)


def weekly_window() -> list[dict[str, Any]]:
    return [{"day": "SUNDAY", "start_time": {"hours": WINDOW_HOUR}}]


def sessions(members: Sequence[Member], born: datetime) -> redis_v1.Instance:
    """Return the session store as Memorystore for Redis, with maintenance planned for the coming Sunday."""
    return redis_v1.Instance(
        name=name_of("instances", "sessions"),
        display_name="Session store",
        labels={"env": "demo", "team": "platform"},
        location_id=ZONES[0],
        alternative_location_id=ZONES[1],
        current_location_id=ZONES[0],
        nodes=[{"id": f"node-{place}", "zone": zone} for place, zone in enumerate(zones(len(members)))],
        tier=redis_v1.Instance.Tier.STANDARD_HA,
        memory_size_gb=1,
        redis_version="REDIS_7_2",
        redis_configs={"maxmemory-policy": "allkeys-lfu", "maxmemory-gb": "0.03"},
        host=HOST,
        port=members[0].port,
        replica_count=len(members) - 1,
        state=redis_v1.Instance.State.READY,
        create_time=born,
        connect_mode=redis_v1.Instance.ConnectMode.PRIVATE_SERVICE_ACCESS,
        transit_encryption_mode=redis_v1.Instance.TransitEncryptionMode.DISABLED,
        persistence_config={"persistence_mode": "RDB", "rdb_snapshot_period": "ONE_HOUR"},
        maintenance_policy={"weekly_maintenance_window": weekly_window()},
        maintenance_schedule=planned(datetime.now(UTC)),
    )


def game(members: Sequence[Member], born: datetime) -> redis_cluster_v1.Cluster:
    """Return the game's cluster as Memorystore for Redis Cluster. It has no window for maintenance."""
    shards = sum(not member.primary for member in members)
    return redis_cluster_v1.Cluster(
        name=name_of("clusters", "game"),
        uid="demo-game",
        state=redis_cluster_v1.Cluster.State.ACTIVE,
        node_type=redis_cluster_v1.NodeType.REDIS_SHARED_CORE_NANO,
        shard_count=shards,
        replica_count=len(members) // shards - 1,
        size_gb=1,
        precise_size_gb=shards * (48 << 20) / GIB,
        redis_configs={"maxmemory-policy": "volatile-lru"},
        discovery_endpoints=[{"address": HOST, "port": members[0].port}],
        authorization_mode=redis_cluster_v1.AuthorizationMode.AUTH_MODE_DISABLED,
        transit_encryption_mode=redis_cluster_v1.TransitEncryptionMode.TRANSIT_ENCRYPTION_MODE_DISABLED,
        persistence_config={"mode": "RDB", "rdb_config": {"rdb_snapshot_period": "ONE_HOUR"}},
        zone_distribution_config={"mode": "MULTI_ZONE"},
        create_time=born,
    )


def far(members: Sequence[Member], born: datetime) -> memorystore_v1.Instance:
    """Return the game's cluster once more, as a Valkey whose nodes nobody here can reach or sign in to."""
    kind = memorystore_v1.Instance
    shards = sum(not member.primary for member in members)
    connection = {"ip_address": FAR_AWAY, "port": VALKEY_PORT, "connection_type": "CONNECTION_TYPE_DISCOVERY"}
    return kind(
        name=name_of("instances", "far-away"),
        uid="demo-far-away",
        labels={"env": "demo", "team": "game"},
        state=kind.State.ACTIVE,
        mode=kind.Mode.CLUSTER,
        node_type=kind.NodeType.SHARED_CORE_NANO,
        node_config={"size_gb": (48 << 20) / GIB},
        shard_count=shards,
        replica_count=len(members) // shards - 1,
        engine_version="VALKEY_9_1",
        engine_configs={"maxmemory-policy": "volatile-lru"},
        endpoints=[{"connections": [{"psc_auto_connection": connection}]}],
        authorization_mode=kind.AuthorizationMode.TOKEN_AUTH,
        transit_encryption_mode=kind.TransitEncryptionMode.SERVER_AUTHENTICATION,
        persistence_config={"mode": "RDB", "rdb_config": {"rdb_snapshot_period": "ONE_HOUR"}},
        zone_distribution_config={"mode": "MULTI_ZONE"},
        maintenance_policy={"weekly_maintenance_window": weekly_window()},
        create_time=born,
        update_time=born,
    )


def pages(port: int, discovery_port: int, born: datetime) -> memcache_v1.Instance:
    """Return the page cache as Memorystore for Memcached, with one node."""
    kind, reading = memcache_v1.Instance, MemcachedServer(port).read(0)
    node = {"node_id": "node-0", "zone": ZONES[0], "host": HOST, "port": port, "state": "READY"}
    return kind(
        name=name_of("instances", "pages"),
        display_name="Page cache",
        labels={"env": "demo", "team": "web"},
        zones=[ZONES[0]],
        node_count=1,
        node_config={"cpu_count": 1, "memory_size_mb": 64},
        # The enum of versions ends at 1.5; what is newer is told in words alone.
        memcache_version=memcache_v1.MemcacheVersion.MEMCACHE_1_5,
        memcache_full_version=f"memcached-{reading.info['version']}" if reading else "",
        memcache_nodes=[node],
        state=kind.State.READY,
        discovery_endpoint=f"{HOST}:{discovery_port}",
        maintenance_policy={"weekly_maintenance_window": [{**weekly_window()[0], "duration": WINDOW_LENGTH}]},
        create_time=born,
        update_time=born,
    )


def furnish(
    emulator: Emulator, fleet: Sequence[Member], page_cache: tuple[int, int] | None, born: datetime
) -> list[Fed]:
    """Put the instances, made at a time, into an emulator; return what is to be fed to it.

    `page_cache` has the ports of a Memcached and of its discovery endpoint, None where there is none.
    """
    fed = []
    for product, instance, servers in rows(fleet, page_cache, born):
        emulator.instances.add(product, instance)
        uid = getattr(instance, "uid", "")
        fed.append(Fed(product, instance.name, uid, servers, zones(len(servers))))
    return fed


def rows(
    fleet: Sequence[Member], page_cache: tuple[int, int] | None, born: datetime
) -> Iterator[tuple[Product, Any, Sequence[ValkeyServer | MemcachedServer]]]:
    players = [member for member in fleet if member.cache == GAME]
    signed_in = [member for member in fleet if member.cache == SESSIONS]
    yield Product.REDIS, sessions(signed_in, born), [ValkeyServer(member, is_clustered=False) for member in signed_in]
    clustered = [ValkeyServer(member, is_clustered=True) for member in players]
    yield Product.REDIS_CLUSTER, game(players, born), clustered
    yield Product.VALKEY, far(players, born), [ValkeyServer(member, is_clustered=True) for member in players]
    if page_cache:
        port, discovery_port = page_cache
        yield Product.MEMCACHED, pages(port, discovery_port, born), [MemcachedServer(port)]
