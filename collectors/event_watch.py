"""Whether a poll has anything to tell: the cheap look at every poll, in the memory of the process.

Most polls change nothing. Only where a sign changed, or this process did not poll the cache the last time,
the tables are asked (collectors/events.py). An event that cannot be written must never cost a sample.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from django.conf import settings
from django.db import connection
from django.utils import timezone

from collectors import events
from collectors.backlog import AWAY
from collectors.metrics.hot import HOT_INDEX
from collectors.source import Value

logger = logging.getLogger(__name__)
SIGNS = [HOT_INDEX[name] for name in ("is_primary", "maxmemory", "maxclients")]
EVICTED, UPTIME = HOT_INDEX["evicted_keys"], HOT_INDEX["uptime_in_seconds"]
# A look that failed is tried again after so long, not at every poll.
RETRY_SECONDS = 5

Sign = tuple[Value, ...]


class Polled(Protocol):
    """A cache as a poll knows it."""

    @property
    def pk(self) -> int: ...
    @property
    def poll_interval_seconds(self) -> int: ...


class Sighting(NamedTuple):
    """What one poll saw of one node: its hot row, and whether any of its texts changed."""

    node_id: int
    answers: bool
    row: Sequence[Value]
    has_new_facts: bool


@dataclass(slots=True)
class Memory:
    """What the last poll of one cache showed."""

    tick: int
    signs: Mapping[int, Sign] = field(default_factory=dict)
    uptimes: dict[int, int] = field(default_factory=dict)
    evicted: dict[int, int] = field(default_factory=dict)
    # When each node was last seen to evict.
    evicted_at: dict[int, int] = field(default_factory=dict)
    evicting: frozenset[int] = frozenset()
    # False until the tables were asked: others may have polled the cache before.
    is_known: bool = False
    must_look: bool = True
    retry_at: float = 0.0


class EventWatch:
    """The memories of one process, by cache."""

    def __init__(self) -> None:
        self._memories: dict[int, Memory] = {}

    def notice(self, cache: Polled, tick: int, sightings: Sequence[Sighting], has_changed: bool) -> None:
        """Take in a poll of a cache, and look closer where it shows a change. Never raise."""
        memory = self._memories.get(cache.pk)
        if memory is None or not 0 < tick - memory.tick <= interval_of(cache):
            memory = self._memories[cache.pk] = Memory(tick)
        try:
            memory.must_look |= take_in(memory, tick, sightings) or has_changed
            if memory.must_look and time.monotonic() >= memory.retry_at:
                self._look(cache, memory, tick)
        except AWAY as error:
            connection.close()
            memory.retry_at = time.monotonic() + RETRY_SECONDS
            logger.warning("The database is away (%s); events of cache %d wait.", type(error).__name__, cache.pk)
        except Exception:
            memory.retry_at = time.monotonic() + RETRY_SECONDS
            logger.exception("The events of cache %d cannot be written now.", cache.pk)

    def _look(self, cache: Polled, memory: Memory, tick: int) -> None:
        found = events.look(cache.pk, timezone.now(), memory.evicting if memory.is_known else None)
        if not memory.is_known:
            memory.evicted_at = {**dict.fromkeys(found.evicting, tick), **memory.evicted_at}
            memory.evicting |= found.evicting
        memory.is_known, memory.must_look, memory.retry_at = True, found.follows, 0.0


def take_in(memory: Memory, tick: int, sightings: Sequence[Sighting]) -> bool:
    """Remember what a poll showed; return whether it differs from the one before."""
    signs: dict[int, Sign] = {}
    has_news = False
    for node_id, answers, row, has_new_facts in sightings:
        signs[node_id] = (answers, *(row[slot] for slot in SIGNS))
        has_news |= has_new_facts
        if answers:
            has_news |= (row[UPTIME] or 0) < memory.uptimes.get(node_id, 0)
            memory.uptimes[node_id] = int(row[UPTIME] or 0)
            note_evictions(memory, tick, node_id, int(row[EVICTED] or 0))
    evicting = frozenset(node for node, at in memory.evicted_at.items() if tick - at <= events.EVICTION_QUIET_SECONDS)
    has_news |= signs != memory.signs or evicting != memory.evicting
    memory.tick, memory.signs, memory.evicting = tick, signs, evicting
    return has_news


def note_evictions(memory: Memory, tick: int, node_id: int, evicted: int) -> None:
    if evicted > memory.evicted.get(node_id, evicted):
        memory.evicted_at[node_id] = tick
    memory.evicted[node_id] = evicted


def interval_of(cache: Polled) -> int:
    """Return the seconds between two polls, which lie on the grid of ticks."""
    return -(-cache.poll_interval_seconds // settings.POLL_TICK_SECONDS) * settings.POLL_TICK_SECONDS
