"""When Cloud Monitoring told nothing of a place though it answered: what rules tried on the past take for missing data.

Whether it answered is not stored. It did where it told of anything else in the same project at that time.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from alerts.scene import HIDDEN, LEFT, Watched
from collectors.cloud.windows import known_places
from collectors.past_windows import Grid

# So many caches of a project are asked whether it answered: all of them could be thousands.
WITNESSES = 5
Marks = list[bool]


def read(tried: Sequence[Watched], known: Iterable[Watched], grid: Grid) -> dict[int, Marks]:
    """Return at which points each place of the tried caches was silent; `known` are all caches there are."""
    feeds = _by_feed(known)
    witnesses = [cache for members in feeds.values() for cache in members[:WITNESSES]]
    ids = {place.id for cache in tried for place in cache.places} | {cache.places[0].id for cache in witnesses}
    told = {-place: marks for place, marks in known_places([-place for place in ids], grid).items()}
    heard = {
        cache.id: either((told.get(place.id, []) for place in cache.places), grid) for cache in (*witnesses, *tried)
    }
    found: dict[int, Marks] = {}
    for cache in tried:
        near = {cache.id, *(other.id for other in feeds.get(feed_of(cache), ())[:WITNESSES])}
        answers = either((heard[pk] for pk in near), grid)
        cache_gaps = gaps(heard[cache.id], grid)
        for place in cache.places:
            own = gaps(told.get(place.id, []), grid)
            found[place.id] = [is_silent(*point) for point in zip(own, cache_gaps, answers, strict=True)]
    return found


def _by_feed(caches: Iterable[Watched]) -> dict[str, list[Watched]]:
    found: dict[str, list[Watched]] = defaultdict(list)
    for cache in caches:
        if cache.places and cache.service:
            found[feed_of(cache)].append(cache)
    return found


def feed_of(cache: Watched) -> str:
    return cache.service.instance.project.metrics_project if cache.service else ""


def either(columns: Iterable[Marks], grid: Grid) -> Marks:
    """Return at which points any of them is set."""
    found = [False] * grid.count
    for column in columns:
        found = [one or other for one, other in zip(found, column or found, strict=True)]
    return found


def gaps(told: Marks, grid: Grid) -> list[int | None]:
    """Return how many seconds before the end of each point anything was told last; None before the first time."""
    found: list[int | None] = []
    for is_told in told or [False] * grid.count:
        before = found[-1] if found else None
        found.append(0 if is_told else None if before is None else before + grid.step)
    return found


def is_silent(own: int | None, of_cache: int | None, is_answering: bool) -> bool:
    """Return whether a place is silent for longer than points stay hidden; one that alone stays so has left."""
    if own is None or not is_answering or own < HIDDEN.total_seconds():
        return False
    has_left = own >= LEFT.total_seconds() and of_cache is not None and of_cache < LEFT.total_seconds()
    return not has_left
