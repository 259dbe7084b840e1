"""Every number that a rule may name: what samples hold, and what we know about nodes beside their samples.

What the service says of its caches is told by place (the instance, a node of it, in one role); the ids of places are
below zero. `down` is 1 where a node is known not to serve and 0 where it answers; figures of whole caches (key scans,
switches) count as those of each of its nodes; `errors.OOM` counts error replies of one type per second; `calls.keys`,
`usec_per_call.keys` and `p99_usec.keys` tell of one command.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

from alerts import cache_figures
from alerts.cache_figures import FIGURES
from alerts.scene import Watched, is_silent
from alerts.spec import DOWN_METRIC
from collectors import tally_queries, windows
from collectors.cloud import windows as cloud_windows
from collectors.cloud.service_metrics import POSITION, SERVICE_METRICS
from collectors.metrics.lookup import shown
from collectors.tallies import COMMAND, ERROR
from collectors.tally_queries import Scope, Summary
from collectors.windows import Reading, Values

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


@dataclass(frozen=True, slots=True)
class Measure:
    """What a rule's metric is: its unit and meaning, for forms and messages."""

    name: str
    unit: str
    meaning: "StrOrPromise"


DOWN = Measure(DOWN_METRIC, "claim", _("Whether the node is known not to serve: 1 when it refuses or stays silent."))


@dataclass(frozen=True, slots=True)
class Family:
    """Numbers of which there is one for each name that servers count by."""

    kind: str
    unit: str
    meaning: "StrOrPromise"
    value: Callable[[Summary], float | None]


FAMILIES = {
    "errors": Family(
        ERROR, "replies/s", _("Error replies of one type per second."), lambda s: s.per_second(s.totals[0].calls)
    ),
    "calls": Family(
        COMMAND, "calls/s", _("Calls of one command per second."), lambda s: s.per_second(s.totals[0].calls)
    ),
    "failed_calls": Family(
        COMMAND, "calls/s", _("Failed calls of one command per second."), lambda s: s.per_second(s.totals[0].failed)
    ),
    "usec_per_call": Family(
        COMMAND, "microseconds", _("Mean server time of a call of one command."), lambda s: s.totals[0].usec_per_call
    ),
    "p99_usec": Family(
        COMMAND,
        "microseconds",
        _("Server time that 99% of the calls of one command stay below."),
        lambda s: s.totals[0].percentile_usec(0.99),
    ),
}


def measure(name: str) -> Measure:
    """Return what is known of a metric. Raise UnknownMetricError where there is none of this name."""
    if name == DOWN.name:
        return DOWN
    family, _dot, member = name.partition(".")
    if member and family in FAMILIES:
        return Measure(name, FAMILIES[family].unit, FAMILIES[family].meaning)
    if is_service(name):
        told = SERVICE_METRICS[POSITION[name]]
        return Measure(name, told.unit, told.meaning)
    if is_whole(name):
        return Measure(name, *FIGURES[name])
    metric = shown(name)
    return Measure(name, metric.unit, metric.meaning)


def is_service(name: str) -> bool:
    """Return whether the service tells a metric, by Cloud Monitoring, and not its nodes."""
    return name in POSITION


def is_whole(name: str) -> bool:
    """Return whether a metric is one of a whole cache, of which only the newest value is known."""
    return name in FIGURES


def is_counted(name: str) -> bool:
    """Return whether a metric comes from counts by name, which are kept by the minute."""
    return "." in name


def read(
    caches: Sequence[Watched], at: datetime, wanted: Collection[Reading], known_down: Values
) -> dict[Reading, Values]:
    """Return each reading's values by node or place, as the caches stood at `at`; `known_down` comes from `down`."""
    ids = [node.id for cache in caches for node in cache.nodes]
    found = windows.read(ids, at, [reading for reading in wanted if _is_sampled(reading.metric)])
    for reading in wanted:
        if reading.metric == DOWN.name:
            found[reading] = known_down
        elif is_counted(reading.metric):
            found[reading] = _counted(ids, at, reading)
    told = _told(caches, at, [reading for reading in wanted if is_service(reading.metric)])
    return found | told | _of_caches(caches, at, [reading for reading in wanted if is_whole(reading.metric)])


def _of_caches(caches: Sequence[Watched], at: datetime, wanted: Sequence[Reading]) -> dict[Reading, Values]:
    """Return figures of whole caches, for each of their nodes and places."""
    known = cache_figures.read([cache.id for cache in caches], at) if wanted else {}
    return {
        reading: {
            node.id: known[cache.id][reading.metric]
            for cache in caches
            if reading.metric in known.get(cache.id, {})
            for node in (*cache.nodes, *cache.places)
        }
        for reading in wanted
    }


def _told(caches: Sequence[Watched], at: datetime, wanted: Sequence[Reading]) -> dict[Reading, Values]:
    ids = [-place.id for cache in caches for place in cache.places]
    if not ids or not wanted:
        return {}
    found = cloud_windows.read(ids, at, wanted)
    return {reading: {-place: value for place, value in values.items()} for reading, values in found.items()}


def _is_sampled(name: str) -> bool:
    return name != DOWN.name and not (is_counted(name) or is_service(name) or is_whole(name))


def down(caches: Sequence[Watched], at: datetime) -> Values:
    """Return 1 for nodes known not to serve, 0 for those that answer; the others are missing."""
    judged = {node.id: node.is_down(at, cache.interval) for cache in caches for node in cache.nodes}
    return {node_id: float(is_down) for node_id, is_down in judged.items() if is_down is not None}


def silent(caches: Sequence[Watched], at: datetime, known_down: Values) -> frozenset[int]:
    """Return the nodes that are known not to serve, and the places of which the service tells nothing any more."""
    places = (place.id for cache in caches if cache.is_read for place in cache.places if is_silent(place, at))
    return frozenset((*(node_id for node_id, is_down in known_down.items() if is_down), *places))


def _counted(ids: list[int], at: datetime, reading: Reading) -> Values:
    name, _dot, member = reading.metric.partition(".")
    family = FAMILIES[name]
    # Counts are kept by the minute, each with the time of its end.
    start = at - timedelta(seconds=reading.seconds) + timedelta(microseconds=1)
    summaries = tally_queries.by_node(Scope(ids, family.kind, start, at + timedelta(microseconds=1)), member, at)
    values = {node_id: family.value(summary) for node_id, summary in summaries.items()}
    return {node_id: value for node_id, value in values.items() if value is not None}
