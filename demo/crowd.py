"""The connections that a game's servers keep open to one cache server."""

import random
from collections.abc import Sequence
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.maint_notifications import MaintNotificationsConfig
from redis.retry import Retry

from demo.workload import Request
from launcher.valkey import HOST

TIMEOUT_SECONDS = 1.0
OPENED_PER_TICK = 4
QUIET_SECONDS = 1.0
# One connection in this many seconds ends and comes back, as when a pod is replaced.
RENEWAL_SECONDS = 12.0


def connection_options() -> dict[str, Any]:
    """Return what all clients of the traffic share: fail at once, retry never, the tick after is the retry."""
    return {
        "socket_timeout": TIMEOUT_SECONDS,
        "socket_connect_timeout": TIMEOUT_SECONDS,
        "retry": Retry(NoBackoff(), 0),
        "maint_notifications_config": MaintNotificationsConfig(enabled=False),
    }


class Crowd:
    """Many clients of one server, each with one connection and a name of its own."""

    def __init__(self, port: int, servers: Sequence[str], rng: random.Random) -> None:
        self.port = port
        self.servers = servers
        self.rng = rng
        self.clients: list[redis.Redis] = []
        self.opened = 0
        self.quiet_until = 0.0

    def tend(self, wanted: int, seconds: float, now: float) -> None:
        """Come a step closer to the wanted number of connections, and renew one now and then."""
        if self.clients and self.rng.random() < seconds / RENEWAL_SECONDS:
            self.clients.pop(self.rng.randrange(len(self.clients))).close()
        if len(self.clients) > wanted:
            self.clients.pop().close()
        missing = wanted - len(self.clients)
        for _ in range(min(missing, OPENED_PER_TICK) if now >= self.quiet_until else 0):
            self.open(now)

    def open(self, now: float) -> None:
        self.opened += 1
        name = f"{self.servers[self.opened % len(self.servers)]}-{self.opened % 20 + 1}"
        client = redis.Redis(host=HOST, port=self.port, client_name=name, **connection_options())
        try:
            client.ping()
        except redis.RedisError:
            client.close()
            self.quiet_until = now + QUIET_SECONDS
        else:
            self.clients.append(client)

    def send(self, requests: Sequence[Request], now: float) -> list[Any] | None:
        """Send requests down one connection; return the replies, errors among them, None where it broke."""
        if not self.clients:
            return None
        pipeline = self.rng.choice(self.clients).pipeline(transaction=False)
        for request in requests:
            pipeline.execute_command(*request.words)  # type: ignore[no-untyped-call]
        try:
            return pipeline.execute(raise_on_error=False)
        except redis.RedisError:
            # The server went away, and so did the other connections to it.
            self.close()
            self.quiet_until = now + QUIET_SECONDS
            return None

    def close(self) -> None:
        for client in self.clients:
            client.close()
        self.clients.clear()
