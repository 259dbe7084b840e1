"""The game's servers as users of one cache: they find the right node, fill what is missing, follow failovers."""

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import redis
from redis.cluster import ClusterNode, RedisCluster
from redis.crc import key_slot

from demo.crowd import Crowd, connection_options
from demo.layout import GAME, SESSIONS, Member
from demo.workload import GAME_STEPS, SESSION_STEPS, Request, Workload, game_data, session_data
from launcher.valkey import HOST, SLOTS

SERVERS = {GAME: ("game-api", "game-api", "matchmaker", "ranking", "batch"), SESSIONS: ("gateway", "login")}
# Connections to each primary in turn, then to each replica: some servers always have more than others.
CROWDS = {GAME: ((34, 27, 21), (4, 3, 2)), SESSIONS: ((58,), (6,))}
WARMING_PER_SECOND = 700
PENDING_LIMIT = 2_000
LOOK_AGAIN_SECONDS = 0.5
# The cluster client's own error is none of redis-py's RedisErrors.
UNREACHABLE = (redis.RedisError, redis.exceptions.RedisClusterException)
PING = Request(("PING",))


class Backend:
    """All traffic to one cache. `primary_ports` are the servers that take writes now, in the order of their slots."""

    def __init__(self, cache: str, fleet: list[Member], rng: random.Random) -> None:
        self.cache = cache
        self.rng = rng
        self.members = [member for member in fleet if member.cache == cache]
        self.crowds = {member.port: Crowd(member.port, SERVERS[cache], rng) for member in self.members}
        self.workload = Workload(GAME_STEPS if cache == GAME else SESSION_STEPS, rng)
        self.warming: Iterator[Request] = game_data(rng) if cache == GAME else session_data(rng)
        self.pending: list[Request] = []
        self.cluster: RedisCluster | None = None
        self.routes = [self.members[0].port] * SLOTS
        self.primary_ports = [self.members[0].port]
        self.look_at: float | None = 0.0

    def tick(self, seconds: float, now: float, busy: float, extra: Iterable[Request] = ()) -> None:
        """Do what the game's servers do in a span of time, `busy` times as much as in a calm hour."""
        if self.look_at is not None and now >= self.look_at:
            self.look(now)
        self.tend_crowds(seconds, now, busy)
        requests, self.pending = self.pending, []
        requests.extend(islice(self.warming, int(WARMING_PER_SECOND * seconds)))
        requests.extend(self.workload.requests(seconds, busy))
        requests.extend(extra)
        by_port: dict[int, list[Request]] = defaultdict(list)
        for request in requests:
            by_port[self.routes[key_slot(request.key.encode())]].append(request)
        for port, group in by_port.items():
            self.learn(group, self.crowds[port].send(group, now), now)

    def learn(self, requests: list[Request], replies: list[Any] | None, now: float) -> None:
        """Queue what the replies call for: a missing value to be filled in, a new look at the cluster."""
        if replies is None:
            self.look_at = self.look_at or now + LOOK_AGAIN_SECONDS
            return
        for request, reply in zip(requests, replies, strict=True):
            if reply is None and request.fill and len(self.pending) < PENDING_LIMIT:
                self.pending.append(Request(request.fill))
            elif isinstance(reply, redis.exceptions.MovedError | redis.exceptions.ClusterDownError):
                self.look_at = self.look_at or now + LOOK_AGAIN_SECONDS

    def look(self, now: float) -> None:
        """Ask the cluster who serves which slot; the last answer stays in force where none comes."""
        self.look_at = None
        if self.cache != GAME:
            return
        try:
            slots = self.slot_nodes()
        except UNREACHABLE:
            self.look_at = now + LOOK_AGAIN_SECONDS
            return
        ports = {slot: nodes[0].port for slot, nodes in slots.items()}
        self.routes = [ports.get(slot, port) for slot, port in enumerate(self.routes)]
        self.primary_ports = list(dict.fromkeys(self.routes))

    def slot_nodes(self) -> dict[int, list[ClusterNode]]:
        if self.cluster is None:
            seeds = [ClusterNode(HOST, m.port) for m in self.members]  # type: ignore[no-untyped-call]
            self.cluster = RedisCluster(
                startup_nodes=seeds,
                require_full_coverage=False,
                dynamic_startup_nodes=False,
                client_name="game-topology",
                **connection_options(),
            )
        else:
            self.cluster.nodes_manager.initialize()
        return self.cluster.nodes_manager.slots_cache

    def tend_crowds(self, seconds: float, now: float, busy: float) -> None:
        at_primaries, at_replicas = CROWDS[self.cache]
        replica_ports = [port for port in self.crowds if port not in self.primary_ports]
        sizes = [*zip(self.primary_ports, at_primaries, strict=False), *zip(replica_ports, at_replicas, strict=False)]
        for port, size in sizes:
            self.crowds[port].tend(round(size * (0.8 + 0.2 * busy)), seconds, now)
        for port in replica_ports:
            if self.rng.random() < seconds:
                self.crowds[port].send([PING], now)

    def close(self) -> None:
        for crowd in self.crowds.values():
            crowd.close()
        if self.cluster is not None:
            self.cluster.close()
