"""When to ask again, spread so that a fleet does not ask at once."""

import random
from collections.abc import Iterable

from shardwatch_client.state import State

SPREAD = 0.2
USUAL_TTL_SECONDS = 5.0
LONGEST_BACK_OFF_SECONDS = 30.0


def after_answer(states: Iterable[State], now: float) -> float:
    return now + _spread(min((state.ttl_seconds for state in states), default=USUAL_TTL_SECONDS))


def after_failure(failures_before: int, now: float, asked_for: float) -> float:
    """Wait 1, 2, 4 … 30 seconds; longer where the answer asked for it, but never beyond 30."""
    wait = max(2.0 ** min(failures_before, 5), asked_for)
    return now + _spread(min(LONGEST_BACK_OFF_SECONDS, wait))


def _spread(seconds: float) -> float:
    return seconds * random.uniform(1 - SPREAD, 1 + SPREAD)  # noqa: S311 - nobody gains by guessing it
