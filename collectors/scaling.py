"""Scalings: nodes and slots that come, go and move are one event until connections are even again."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from django.conf import settings

from collectors import series
from collectors.event import Event, Kind
from collectors.event_detection import CacheState, Happening
from collectors.layout import PRIMARY
from fleet.models import Cache

# The largest distance between primaries, as a share of their mean, that counts as even.
EVEN_SPREAD = 0.25
# A handful of connections is never uneven.
EVEN_CONNECTIONS = 10
# A node that waits without slots for so long is a spare, not on its way.
SPARE_SECONDS = 1_800
ERRORS, REJECTED = "error_replies_per_second", "rejected_connections_per_second"


def quiet_seconds() -> float:
    """Return for how long nothing must change before a scaling has ended: layouts are not read every poll."""
    return 2.0 * settings.TOPOLOGY_INTERVAL_SECONDS + 30


def add_step(event: Event, happening: Happening, state: CacheState) -> None:
    """Count a step into its scaling, which goes on with it."""
    data = event.data
    for name in ("nodes_before", "shards_before"):
        data.setdefault(name, happening.data.get(name))
    data["nodes_after"], data["shards_after"] = len(state.nodes), len(state.shards())
    if happening.kind in {Kind.JOINED, Kind.LEFT}:
        data[happening.kind] = data.get(happening.kind, 0) + len(happening.nodes)
    data["slots"] = data.get("slots", 0) + happening.data.get("slots", 0)
    data["changed_at"] = state.at
    data.pop("even_at", None)
    event.until = None


def with_slots(known: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Return the ways of slots with more of them."""
    if "ways" not in more:
        return known
    ways = Counter(known.get("ways", {})) + Counter(more["ways"])
    return {**known, "slots": known.get("slots", 0) + more["slots"], "ways": dict(ways)}


def is_followed(event: Event) -> bool:
    return event.goes_on or "even_at" not in event.data


def follow(event: Event, cache: Cache, state: CacheState, now: datetime) -> None:
    """Bring a scaling up to date: whether it ended, errors meanwhile, whether connections are even."""
    data = event.data
    changed_at = datetime.fromtimestamp(data["changed_at"], UTC)
    quiet = (now - changed_at).total_seconds()
    if event.until is None and quiet > (quiet_seconds() if is_settled(state) else SPARE_SECONDS):
        event.until = max(changed_at, event.at)
    end = event.until or now
    data |= counted(cache, event.at, end)
    counts = connections(state)
    data["spread"] = spread(counts)
    if is_settled(state) and "even_at" not in data and is_even(counts):
        data["even_at"] = now.timestamp()
    elif event.until is None and not is_even(counts):
        data.pop("even_at", None)


def counted(cache: Cache, start: datetime, end: datetime) -> dict[str, int]:
    """Return how many error replies and rejected connections there were meanwhile, where that is known."""
    if end <= start:
        return {}
    found = {}
    for one in series.read(cache, [ERRORS, REJECTED], start, end):
        total = next((line.mean for line in one.lines if line.label == "sum"), [])
        known = [value for value in total if value is not None]
        if known:
            found["errors" if one.metric == ERRORS else "rejected"] = round(sum(known) * one.step)
    return found


def is_settled(state: CacheState) -> bool:
    """Return whether every node has its place, and every shard of a cluster its slots."""
    if any(node.shard is None for node in state.nodes.values()):
        return False
    return not state.slots or all(state.slots.get(shard) for shard in state.shards())


def connections(state: CacheState) -> list[int]:
    """Return the connections of each primary that answers and tells them."""
    primaries = [node for node in state.nodes.values() if node.role == PRIMARY and node.answers]
    return [node.connections for node in primaries if node.connections is not None]


def spread(counts: Sequence[int]) -> float | None:
    """Return the distance of the highest from the lowest as a share of the mean; None for fewer than two."""
    if len(counts) < 2 or not sum(counts):
        return None
    return (max(counts) - min(counts)) * len(counts) / sum(counts)


def is_even(counts: Sequence[int]) -> bool:
    level = spread(counts)
    return level is None or level <= EVEN_SPREAD or max(counts) - min(counts) <= EVEN_CONNECTIONS
