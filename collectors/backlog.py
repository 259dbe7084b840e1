"""Writing readings so that none is lost: batches that end together in one go, and later while the database is away.

Batches of one tick answer within the same moment. The thread that writes takes along what the others have
ready, so that a fleet costs a few transactions a tick rather than one a batch.
"""

import logging
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db import DatabaseError, InterfaceError, OperationalError, connection

from collectors import samples
from collectors.samples import NodeReading

logger = logging.getLogger(__name__)

# About an hour of 200 nodes, or 50 MB; beyond it the oldest readings go.
LIMIT = 50_000
CHUNK = 1_000
# What a database says that restarts, refuses or is away.
AWAY = (OperationalError, InterfaceError)


@dataclass(slots=True, eq=False)
class Share:
    """What one thread has ready to be written."""

    readings: Sequence[NodeReading]
    cache_ids: Sequence[int]
    tick: int
    is_done: bool = False


_lock = threading.Lock()
_writing = threading.Lock()
_shares: list[Share] = []
_kept: deque[NodeReading] = deque(maxlen=LIMIT)


def write(readings: Sequence[NodeReading], cache_ids: Iterable[int], tick: int) -> None:
    """Store readings before returning; where the database is away keep them for later. Never raise for that."""
    share = Share(readings, list(cache_ids), tick)
    with _lock:
        _shares.append(share)
    with _writing:
        if not share.is_done:
            _write_together(_taken_shares())


def _taken_shares() -> list[Share]:
    with _lock:
        taken = list(_shares)
        _shares.clear()
        return taken


def _write_together(shares: Sequence[Share]) -> None:
    readings = [reading for share in shares for reading in share.readings]
    try:
        samples.write(readings, [pk for share in shares for pk in share.cache_ids], max(share.tick for share in shares))
    except AWAY as error:
        _keep(readings)
        logger.warning("The database is away (%s); %d readings wait for it.", type(error).__name__, len(_kept))
    except DatabaseError:
        logger.exception("%d readings cannot be written together.", len(readings))
        _write_apart(readings)
    else:
        drain()
    finally:
        for share in shares:
            share.is_done = True


def _keep(readings: Sequence[NodeReading]) -> None:
    connection.close()
    with _lock:
        _kept.extend(readings)


def _write_apart(readings: Sequence[NodeReading]) -> None:
    """Write what can be written: a reading that the database does not take must not cost the others theirs."""
    for reading in readings:
        try:
            samples.write([reading])
        except AWAY:
            _keep([reading])
        except DatabaseError:
            logger.exception("The reading of node %d cannot be written.", reading.node_id)


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
