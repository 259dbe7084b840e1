"""Waiting for something to become true, with an end."""

import time
from collections.abc import Callable


def until(claim: Callable[[], object], seconds: float, step: float = 0.05) -> bool:
    """Return True as soon as the claim holds, False when it has not within that many seconds."""
    deadline = time.monotonic() + seconds
    while not claim():
        if time.monotonic() > deadline:
            return False
        time.sleep(step)
    return True
