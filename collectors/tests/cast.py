"""The small cast of storage tests: a cache with nodes, and readings of them."""

from datetime import UTC, datetime

from collectors import samples
from collectors.metrics.hot import HOT_INDEX, HOT_NAMES
from fleet.models import Cache, Node, Shard

# Noon of a day in the recent past, on the grid of every tick, rollup and partition.
NOON = int(datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0).timestamp()) - 43_200


def noon(seconds: int = 0) -> datetime:
    return datetime.fromtimestamp(NOON + seconds, UTC)


def cache_with_nodes(shards: int = 1, replicas: int = 0, name: str = "game") -> Cache:
    cache = Cache.objects.create(name=name, address="redis://127.0.0.1:6379", poll_interval_seconds=15)
    for number in range(1, shards + 1):
        shard = Shard.objects.create(cache=cache, identity=f"shard-{number}", number=number)
        for index in range(replicas + 1):
            role = Node.Role.REPLICA if index else Node.Role.PRIMARY
            port = 7000 + number * 10 + index
            Node.objects.create(
                cache=cache, shard=shard, identity=f"node-{port}", host="127.0.0.1", port=port, role=role
            )
    return cache


def reading(node: Node, seconds: int = 0, **hot: float | bool | None) -> samples.NodeReading:
    """Return a reading `seconds` after noon with the given hot values; uptime grows with time."""
    values: list[int | float | bool | None] = [None] * len(HOT_NAMES)
    given = {"uptime_in_seconds": 10_000 + seconds, "read_after_ms": 0, "is_primary": node.role == "primary"} | hot
    for name, number in given.items():
        values[HOT_INDEX[name]] = number
    return samples.NodeReading(node.pk, NOON + seconds, values)
