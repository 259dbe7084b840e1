"""Time two or more ways of doing the same thing in turns, so that a busy machine is busy for all of them."""

import time
from collections.abc import Callable, Mapping
from typing import TypeVar

T = TypeVar("T")


def interleaved(ways: Mapping[str, Callable[[], object]], runs: int, warm_up: int = 3) -> dict[str, list[float]]:
    """Return the milliseconds of each run of each way; every other round goes through them backwards."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(warm_up + runs):
        order = list(ways.items())
        for name, act in order if number % 2 else reversed(order):
            began = time.perf_counter()
            act()
            if number >= warm_up:
                taken[name].append((time.perf_counter() - began) * 1000)
    return taken


def percentile(values: list[float], share: float) -> float:
    """Return the value that `share` (0 to 1) of the values do not exceed. Raise ValueError without any."""
    if not values:
        raise ValueError("no values, no percentile")
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def turns(ways: Mapping[str, Callable[[], T]], rounds: int) -> dict[str, list[T]]:
    """Return what each way gave in each round; every other round goes through them backwards."""
    found: dict[str, list[T]] = {name: [] for name in ways}
    for number in range(rounds):
        order = list(ways.items())
        for name, act in reversed(order) if number % 2 else order:
            found[name].append(act())
    return found
