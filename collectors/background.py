"""The one asyncio loop of a process, in a thread of its own. Connections live on it; nobody else may block it."""

import asyncio
import os
import threading

_lock = threading.Lock()
_loops: dict[int, asyncio.AbstractEventLoop] = {}


def loop() -> asyncio.AbstractEventLoop:
    """Return this process' loop, started on first use: a process that forks gets another one."""
    with _lock:
        if os.getpid() not in _loops:
            _loops[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=_loops[os.getpid()].run_forever, name="polls", daemon=True).start()
        return _loops[os.getpid()]


def is_responsive(seconds: float) -> bool:
    """Return whether the loop gets round to new work within that time."""
    answered = threading.Event()
    loop().call_soon_threadsafe(answered.set)
    return answered.wait(seconds)
