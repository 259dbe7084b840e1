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


def client_of(server: Valkey, **options: Any) -> "redis.Redis":
    return redis.Redis(port=server.port, **options)


def brute_force(server: Valkey) -> dict[bytes, int]:
    """Return every key of a server with its exact bytes, each asked for by itself."""
    client: Any = client_of(server)
    keys: list[bytes] = client.execute_command("KEYS", "*")
    pipe = client.pipeline(transaction=False)
    for key in keys:
        pipe.execute_command("MEMORY USAGE", key, "SAMPLES", 0)
    return dict(zip(keys, pipe.execute(), strict=True))


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
