"""Readings that the database could not take: kept in memory, within bounds, and written when it is back."""

import logging
import threading
from collections import deque
from collections.abc import Iterable

import psycopg
from django.db import InterfaceError, OperationalError, connection

from collectors import samples
from collectors.samples import NodeReading

logger = logging.getLogger(__name__)

# About an hour of 200 nodes, or 50 MB; beyond it the oldest readings go.
LIMIT = 50_000
CHUNK = 1_000
# What a database says that restarts, refuses or is away.
AWAY = (OperationalError, InterfaceError, psycopg.OperationalError, psycopg.InterfaceError)

_lock = threading.Lock()
_kept: deque[NodeReading] = deque(maxlen=LIMIT)


def write(readings: list[NodeReading], cache_ids: Iterable[int], tick: int) -> None:
    """Store readings; where the database is away keep them for later. Never raise for that."""
    try:
        samples.write(readings, cache_ids, tick)
    except AWAY as error:
        connection.close()
        with _lock:
            _kept.extend(readings)
        logger.warning("The database is away (%s); %d readings wait for it.", type(error).__name__, len(_kept))
    else:
        drain()


def drain() -> None:
    """Write what waits, the oldest first."""
    while chunk := _taken():
        try:
            samples.write(chunk)
        except AWAY:
            connection.close()
            with _lock:
                _kept.extendleft(reversed(chunk))
            return


def _taken() -> list[NodeReading]:
    with _lock:
        return [_kept.popleft() for _ in range(min(CHUNK, len(_kept)))]


def clear() -> None:
    with _lock:
        _kept.clear()


def size() -> int:
    return len(_kept)
