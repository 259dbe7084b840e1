"""Whether a cache may be used, as Shardwatch says it. `shardwatch_client.switched_redis` needs redis-py."""

from shardwatch_client.options import Default, Options
from shardwatch_client.state import Endpoint, State
from shardwatch_client.switches import Switches

__all__ = ["Default", "Endpoint", "Options", "State", "Switches"]
