"""The traffic of a game's backend on the demo fleet."""

import os
import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import redis

from demo import orders, troubles
from demo.backend import Backend
from demo.layout import GAME, SESSIONS, Home, Member, write_json
from demo.workload import swing

TICK_SECONDS = 0.1
LATE_SECONDS = 1.0
READ_ORDERS_TICKS = 3

Say = Callable[[str], None]


class Traffic:
    """The backends of both caches and the troubles that are on."""

    def __init__(self, home: Home, fleet: list[Member], rng: random.Random) -> None:
        self.home = home
        self.members = fleet
        self.backends = {cache: Backend(cache, fleet, rng) for cache in (GAME, SESSIONS)}
        self.on: dict[tuple[str, str], troubles.Trouble] = {}
        self.obeyed: int | None = None

    def tick(self, seconds: float, now: float) -> None:
        for cache, backend in self.backends.items():
            extra = [
                request
                for (_, place), trouble in self.on.items()
                if place == cache
                for request in trouble.requests(seconds, now)
            ]
            backend.tick(seconds, now, swing(time.time()), extra)

    def obey(self, say: Say) -> None:
        """Begin and end troubles as ordered, and leave word that it was done."""
        wanted = orders.read(self.home)
        if wanted.revision == self.obeyed:
            return
        ordered = {(name, wanted.cache_of(name)) for name in wanted.active}
        for name, cache in self.on.keys() - ordered:
            self.on.pop((name, cache)).close()
            say(f"{name} on {cache} is over")
        for name, cache in ordered - self.on.keys():
            self.begin(name, cache, say)
        self.obeyed = wanted.revision
        write_json(self.home.path / "traffic.json", {"pid": os.getpid(), "obeyed": wanted.revision})

    def begin(self, name: str, cache: str, say: Say) -> None:
        if trouble := troubles.make(name, self.backends[cache]):
            self.on[name, cache] = trouble
            say(f"{name} on {cache} begins")

    def close(self) -> None:
        for trouble in self.on.values():
            trouble.close()
        for backend in self.backends.values():
            backend.close()


def run(home: Home, ending: threading.Event, say: Say) -> None:
    """Keep the traffic going until told to end, through restarts of the fleet, also on other ports."""
    with home.claim("traffic"):
        while not ending.is_set():
            if not home.ready_file.exists():
                say("waiting for the demo fleet to be ready")
                while not home.ready_file.exists() and not ending.wait(TICK_SECONDS):
                    pass
                continue
            traffic = Traffic(home, home.members(), random.Random())
            say("the game is open")
            try:
                play(traffic, ending, say)
            finally:
                traffic.close()


def play(traffic: Traffic, ending: threading.Event, say: Say) -> None:
    """Tick until told to end or until the fleet has moved to other ports."""
    before = time.monotonic()
    ticks = 0
    while not ending.wait(max(0.0, before + TICK_SECONDS - time.monotonic())):
        now = time.monotonic()
        # After a pause (a stopped process, a slow server) the lost time is not made up for.
        traffic.tick(min(now - before, LATE_SECONDS), now)
        before, ticks = now, ticks + 1
        if ticks % READ_ORDERS_TICKS == 0:
            # A server that is down now can be asked again three ticks later.
            with suppress(redis.RedisError):
                traffic.obey(say)
            if traffic.home.members() != traffic.members:
                return
