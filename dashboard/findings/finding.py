"""What a finding is, and the comparisons that several of them make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.urls import reverse

from dashboard.watched import Watched, WatchedNode
from fleet.addresses import Address

# A shard is called uneven only where its own level already matters.
UNEVEN_FACTOR, UNEVEN_FLOOR = 2.0, 0.3
# A sentence about memory mentions siblings from this difference on.
UNEVEN_POINTS = 0.1
THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})


class State(StrEnum):
    """How bad it is, worst first."""

    UNREACHABLE = "unreachable"
    CRITICAL = "critical"
    WARNING = "warning"
    NOTICE = "notice"


ORDER = {state: place for place, state in enumerate(State)}


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence with its state. `reason` is its short form and `figure` the number that counts;
    `chart` names the part of the cache's page that shows it."""

    state: State
    sentence: str
    reason: str
    figure: str
    chart: str
    # The Google Cloud project that it is about, where it is about no cache.
    project: str = ""
    # Where it is told better than on the cache's page.
    url: str = ""
    # Whether it counts of a cache that is paused as well.
    outlives_pause: bool = False

    @property
    def rank(self) -> int:
        return ORDER[self.state]


def notice(sentence: str, reason: str, figure: str, chart: str, url: str = "") -> Finding:
    return Finding(State.NOTICE, sentence, reason, figure, chart, url=url)


def state_of(level: float, critical: float) -> State:
    return State.CRITICAL if level >= critical else State.WARNING


def ranked(
    nodes: Iterable[WatchedNode], measure: Callable[[WatchedNode], float | None]
) -> list[tuple[float, WatchedNode]]:
    """Return the nodes that have a value, highest first."""
    found = [(value, node) for node in nodes if (value := measure(node)) is not None]
    return sorted(found, key=lambda pair: pair[0], reverse=True)


def siblings_mean(ranking: Sequence[tuple[float, WatchedNode]]) -> float | None:
    """Return the mean of all but the highest; None where it has no siblings."""
    others = [value for value, _node in ranking[1:]]
    return sum(others) / len(others) if others else None


def points_above_siblings(ranking: Sequence[tuple[float, WatchedNode]]) -> float | None:
    """Return by how much the fullest primary is above the other primaries, where that is much."""
    primaries = [pair for pair in ranking if pair[1].is_primary]
    mean = siblings_mean(primaries)
    if mean is None or ranking[0][0] - mean < UNEVEN_POINTS:
        return None
    return ranking[0][0] - mean


def is_uneven(level: float, mean: float) -> bool:
    return level >= UNEVEN_FLOOR and level >= UNEVEN_FACTOR * mean


def subject(watched: Watched, node: WatchedNode) -> str:
    return f"{watched.cache.name} {node.name}" if len(watched.nodes) > 1 else watched.cache.name


def page_of(watched: Watched, name: str, part: str = "") -> str:
    """Return a page of the cache, where one sees who or what is behind a finding."""
    return reverse(name, args=[watched.cache.name]) + (f"#{part}" if part else "")


def remote_addresses(watched: Watched) -> list[Address]:
    """Return where the cache is reached over a network; none for the demo and on this machine."""
    return [] if watched.cache.is_demo else [one for one in watched.cache.seeds() if one.host not in THIS_MACHINE]
