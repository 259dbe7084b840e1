"""What tests of key scans share: a brute force to compare with, and a scan of one server in a line."""

from collections.abc import Sequence
from typing import Any

import redis

from collectors.connections import Access
from collectors.keyscan.aggregate import Aggregate
from collectors.keyscan.control import Control
from collectors.keyscan.job import Job
from collectors.keyscan.scan import Scan
from collectors.keyscan.targets import Target
from collectors.keyscan.walk import Plan
from launcher.valkey import Valkey

# Tens of thousands of commands take the server a moment, and this side of the network seconds. A server of a cluster
# refuses what belongs to another one.
FILL = """
for number = 0, tonumber(ARGV[1]) - 1 do
    local value = string.rep('x', tonumber(ARGV[3]) + number % tonumber(ARGV[4]))
    redis.pcall('SET', ARGV[2] .. number, value)
end
"""
SIZES = """
local found = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
    found[#found + 1] = {key, redis.call('MEMORY', 'USAGE', key, 'SAMPLES', 0)}
end
return found
"""


def fill(*servers: Valkey, keys: int, prefix: str = "key:", least: int = 0, sizes: int = 1, replicas: int = 0) -> None:
    """Write so many strings, of `least` bytes and less than `sizes` more, to a server or to all primaries of a cluster.

    Return once so many replicas of each have them, too.
    """
    for server in servers:
        client: Any = client_of(server, single_connection_client=True)
        client.eval(FILL, 0, keys, prefix, least, sizes)
        assert client.wait(replicas, 20_000) >= replicas
        client.close()


def client_of(server: Valkey, **options: Any) -> "redis.Redis":
    return redis.Redis(port=server.port, **options)


def brute_force(server: Valkey) -> dict[bytes, int]:
    """Return every key of a server with its exact bytes, each asked for by itself."""
    client: Any = client_of(server)
    return dict(client.eval(SIZES, 0))


def largest(sizes: dict[bytes, int], count: int = 100) -> list[tuple[bytes, int]]:
    return sorted(sizes.items(), key=lambda item: (-item[1], item[0]))[:count]


def job(brake: str = "fast", access: Access | None = None, top: int = 100, **options: Any) -> Job:
    plan = options.pop("plan", Plan())
    control = options.pop("control", None) or Control(brake)
    make = options.pop("make_aggregate", lambda _target, _db: Aggregate(top))
    return Job(access or Access(tls=False), None, plan, control, make, **options)


def target_of(server: Valkey, is_replica: bool = False) -> Target:
    return Target("127.0.0.1", server.port, str(server.port), is_replica)


def scan_of(servers: Sequence[Valkey], brake: str = "fast", **options: Any) -> Scan:
    """Return a scan that has run to its end."""
    scan = Scan(job(brake, **options), [target_of(server) for server in servers])
    scan.run()
    return scan


def found_in(scan: Scan) -> Aggregate:
    """Return what a scan of one node with one database found."""
    return scan.nodes[0].parts[0].aggregate
