"""Where the service and the nodes tell of the same thing: do they agree, over the same minutes?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from collectors import series
from collectors.cloud.catalogue import COLLECTED
from collectors.cloud.feed import CloudPlace
from collectors.cloud.reading import Place, places, points
from collectors.cloud.storing import moment
from collectors.metrics.lookup import shown
from collectors.series import Series
from fleet.models import Cache

# Ten minutes, up to the point that the service has shown for certain by now.
SPAN, HIDDEN = timedelta(minutes=10), timedelta(minutes=6)
# Both sample at other seconds: what differs less, or changes as much by itself meanwhile, is no disagreement.
TOLERANCE = 0.25
# Below these amounts a quarter means nothing, by unit; others are not compared.
FLOORS = {
    "bytes": 32 * 2.0**20,
    "keys": 1_000.0,
    "connections": 20.0,
    "commands/s": 50.0,
    "lookups/s": 50.0,
    "ratio": 0.1,
}


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One figure as both tell it, by the name that it has on the nodes."""

    metric: str
    unit: str
    service: float
    nodes: float

    @property
    def size(self) -> float:
        return abs(self.service - self.nodes) / max(abs(self.service), abs(self.nodes))


# Pages ask every few seconds; the service has news each minute.
_kept: dict[int, tuple[int, list[Disagreement]]] = {}


def disagreements(cache: Cache, now: datetime) -> list[Disagreement]:
    """Return what differs, the worst first; looked at once a minute and process."""
    minute = int(now.timestamp()) // 60
    if _kept.get(cache.pk, (None,))[0] != minute:
        _kept[cache.pk] = minute, _look(cache, now)
    return _kept[cache.pk][1]


def _look(cache: Cache, now: datetime) -> list[Disagreement]:
    end = moment(int((now - HIDDEN).timestamp()) // 60 * 60)
    start = end - SPAN
    product = CloudPlace.objects.filter(instance__cache=cache).values_list("instance__product", flat=True).first()
    pairs = [(one.name, one.same_as) for one in COLLECTED if one.product == product and comparable(one.same_as)]
    if not pairs:
        return []
    told = _told(cache, [name for name, _same in pairs], start, end)
    read = {one.metric: one for one in series.read(cache, [same for _name, same in pairs], start, end)}
    found = [compared(same, told.get(name, []), read[same]) for name, same in pairs]
    return sorted((one for one in found if one), key=lambda one: -one.size)


def comparable(metric: str) -> bool:
    return bool(metric) and shown(metric).unit in FLOORS


def _told(cache: Cache, names: Sequence[str], start: datetime, end: datetime) -> dict[str, list[tuple[Place, float]]]:
    """Return the means of each place over the span, by name."""
    known = {place.id: place for place in places([cache.pk], start)}
    rows = points("raw", list(known), names, start, end, int(SPAN.total_seconds()))
    return {
        name: [(known[row[0]], row[3 + 4 * index]) for row in rows if row[3 + 4 * index] is not None]
        for index, name in enumerate(names)
    }


def compared(metric: str, told: Sequence[tuple[Place, float]], read: Series) -> Disagreement | None:
    """Return the difference that both have in the mean of the span, None where there is none worth telling."""
    how = shown(metric)
    is_sum = how.over_nodes != "max"
    if how.over_nodes == "primaries":
        told = [(place, value) for place, value in told if place.role in {"", "primary"}]
    label = "sum" if is_sum else "max"
    measured = [value for line in read.lines if line.label == label for value in line.mean if value is not None]
    if not told or not measured:
        return None
    reduce: Callable[[list[float]], float] = sum if is_sum else max
    service, nodes = reduce([value for _place, value in told]), sum(measured) / len(measured)
    highest = max(abs(service), abs(nodes))
    limit = max(TOLERANCE * highest, FLOORS[how.unit])
    is_steady = max(measured) - min(measured) <= TOLERANCE * highest
    return Disagreement(metric, how.unit, service, nodes) if is_steady and abs(service - nodes) > limit else None
