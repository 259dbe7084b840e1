"""Every number that a rule may name: what samples hold, and what we know about nodes beside their samples.

`down` is 1 where a node is known not to serve and 0 where it answers; `errors.OOM` counts error replies of
one type per second; `calls.keys`, `usec_per_call.keys` and `p99_usec.keys` tell of one command.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

from alerts.scene import Watched
from alerts.spec import DOWN_METRIC
from collectors import tally_queries, windows
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
    metric = shown(name)
    return Measure(name, metric.unit, metric.meaning)


def is_counted(name: str) -> bool:
    """Return whether a metric comes from counts by name, which are kept by the minute."""
    return "." in name


def read(
    caches: Sequence[Watched], at: datetime, wanted: Collection[Reading], known_down: Values
) -> dict[Reading, Values]:
    """Return each reading's values by node id, as the caches stood at `at`; `known_down` is what `down` returned."""
    ids = [node.id for cache in caches for node in cache.nodes]
    found = windows.read(ids, at, [reading for reading in wanted if _is_sampled(reading.metric)])
    for reading in wanted:
        if reading.metric == DOWN.name:
            found[reading] = known_down
        elif is_counted(reading.metric):
            found[reading] = _counted(ids, at, reading)
    return found


def _is_sampled(name: str) -> bool:
    return name != DOWN.name and not is_counted(name)


def down(caches: Sequence[Watched], at: datetime) -> Values:
    """Return 1 for nodes known not to serve, 0 for those that answer; the others are missing."""
    judged = {node.id: node.is_down(at, cache.interval) for cache in caches for node in cache.nodes}
    return {node_id: float(is_down) for node_id, is_down in judged.items() if is_down is not None}


def _counted(ids: list[int], at: datetime, reading: Reading) -> Values:
    name, _dot, member = reading.metric.partition(".")
    family = FAMILIES[name]
    # Counts are kept by the minute, each with the time of its end.
    start = at - timedelta(seconds=reading.seconds) + timedelta(microseconds=1)
    summaries = tally_queries.by_node(Scope(ids, family.kind, start, at + timedelta(microseconds=1)), member, at)
    values = {node_id: family.value(summary) for node_id, summary in summaries.items()}
    return {node_id: value for node_id, value in values.items() if value is not None}
