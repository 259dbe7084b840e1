"""Stretches of whole poll intervals, and what those who collect spend in them."""

import statistics
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bench.processes import Meter
from bench.sides import INTERVAL_SECONDS, Side
from bench.targets import Targets

# Rounds of polls before the first window: until then each connection of the poller still plans its queries.
FIRST_ROUNDS = 12
LATER_ROUNDS = 3
# Windows begin and end this long before a tick, when the polls of the one before are over.
EARLY_SECONDS = 0.5


@dataclass(slots=True)
class Costs:
    """CPU seconds per 1,000 polls of one node, one a window: of all parts together, and of each."""

    cpu: list[float] = field(default_factory=list)
    parts: list[Mapping[str, float]] = field(default_factory=list)
    polls: int = 0

    def in_words(self) -> str:
        names = self.parts[0] if self.parts else {}
        return ", ".join(f"{name} {statistics.median(part[name] for part in self.parts):.3f}" for name in names)


def costs_together(sides: Mapping[str, Side], windows: int, seconds: int) -> dict[str, Costs]:
    """Let all sides collect in the same minutes; return the costs of each."""
    found = {name: Costs() for name in sides}
    _switch(sides.values(), on=True)
    try:
        sleep_to_interval(FIRST_ROUNDS)
        for _ in range(windows):
            meters = {name: Meter(side.processes()) for name, side in sides.items()}
            polls = {name: side.polls() for name, side in sides.items()}
            sleep_to_interval(seconds // INTERVAL_SECONDS)
            for name, side in sides.items():
                _note(found[name], meters[name].read(), side.polls() - polls[name])
    finally:
        _switch(sides.values(), on=False)
    return found


def load_of(side: Side, servers: Targets, idle: float, seconds: int) -> tuple[float, Costs]:
    """Let one side collect alone; return the CPU that the servers spent on it per 1,000 polls, and its own costs.

    `idle` is what all servers together spend in a second while nobody asks.
    """
    costs = Costs()
    side.switch(on=True)
    try:
        sleep_to_interval(LATER_ROUNDS)
        meter, watched, began = Meter(side.processes()), Meter({"servers": servers.processes}), time.monotonic()
        polls = side.polls()
        sleep_to_interval(seconds // INTERVAL_SECONDS)
        _note(costs, meter.read(), side.polls() - polls)
        spent = watched.read()["servers"] - idle * (time.monotonic() - began)
    finally:
        side.switch(on=False)
    return spent * 1000 / costs.polls, costs


def idle_load(servers: Targets, seconds: int) -> float:
    """Return the CPU seconds a second of all watched servers while nobody asks them anything."""
    meter = Meter({"servers": servers.processes})
    time.sleep(seconds)
    return meter.read()["servers"] / seconds


def _switch(sides: Iterable[Side], on: bool) -> None:
    for side in sides:
        side.switch(on=on)


def _note(costs: Costs, spent: Mapping[str, float], polls: int) -> None:
    """Raise RuntimeError where nothing was collected."""
    if not polls:
        raise RuntimeError("Nothing was collected in a window.")
    per_thousand = {name: seconds * 1000 / polls for name, seconds in spent.items()}
    costs.cpu.append(sum(per_thousand.values()))
    costs.parts.append(per_thousand)
    costs.polls += polls


def sleep_to_interval(count: int) -> None:
    """Sleep to shortly before a poll is due: from there on, `count` rounds of polls are made."""
    now = time.time()
    begun = (now + EARLY_SECONDS) // INTERVAL_SECONDS
    time.sleep(max((begun + count) * INTERVAL_SECONDS - EARLY_SECONDS - now, 0))
