"""Find what a chart, a rule or the API may ask for, by name."""

import difflib
from dataclasses import dataclass

from django.utils.translation import gettext as _

from collectors import rates
from collectors.metrics.catalogue import Derived, Kind, Metric
from collectors.metrics.detail import DETAIL
from collectors.metrics.hot import HOT
from collectors.metrics.slots import SLOT


class UnknownMetricError(LookupError):
    """No metric of that name; the text names those that look alike."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A metric as a series: its unit, the SQL over a pair of samples, and where rollups keep it.

    `over_nodes` tells how nodes make one number: the sum over "primaries" or "all", or no sum ("max").
    """

    name: str
    unit: str
    meaning: str
    sql: str
    slot: int
    over_nodes: str
    reads: tuple[str, ...]
    is_detail: bool = False
    is_counter: bool = False
    scale: float = 1


# Amounts that belong to connections and traffic of each process; data is counted on primaries only.
ADD_UP_EVERYWHERE = {
    "connected_clients",
    "blocked_clients",
    "tracking_clients",
    "pubsub_clients",
    "cluster_connections",
}
ADDING_UNITS = {"bytes", "keys", "connections", "commands/s", "changes", "replicas"}
NEVER_ADDED = {"maxclients", "replication_lag_bytes", "master_repl_offset", "client_recent_max_output_buffer"}


def _over_nodes(metric: Metric) -> str:
    if metric.name in ADD_UP_EVERYWHERE or metric.kind is Kind.COUNTER:
        return "all"
    if metric.unit in ADDING_UNITS and metric.name not in NEVER_ADDED:
        return "primaries"
    return "max"


def _of_derived(derived: Derived) -> Shown:
    unit, meaning = derived.unit, str(derived.meaning)
    return Shown(derived.name, unit, meaning, derived.sql, SLOT[derived.name], derived.over_nodes, derived.reads)


def _of_hot(metric: Metric) -> Shown:
    same = SAME_AS.get(metric.name)
    slot = SLOT[same.name if same else metric.name]
    over = same.over_nodes if same else _over_nodes(metric)
    return Shown(metric.name, metric.series_unit, str(metric.meaning), rates.value(metric), slot, over, (metric.name,))


def _of_detail(metric: Metric, position: int) -> Shown:
    # Postgres counts array elements from 1.
    slot, counted = position + 1, metric.kind is Kind.COUNTER
    meaning = str(metric.meaning)
    return Shown(
        metric.name,
        metric.series_unit,
        meaning,
        "",
        slot,
        _over_nodes(metric),
        (metric.name,),
        True,
        counted,
        metric.scale,
    )


# Counters whose rate has a name of its own share that one's slot.
SAME_AS = {derived.reads[0]: derived for derived in rates.DERIVED if derived.name.endswith("_per_second")}
SAME_AS = {column: derived for column, derived in SAME_AS.items() if derived.sql == rates.rate(column)}
DERIVED_BY_NAME = {derived.name: derived for derived in rates.DERIVED}
HOT_BY_NAME = {metric.name: metric for metric in HOT}
DETAIL_POSITION = {metric.name: position for position, metric in enumerate(DETAIL)}
NAMES = (*DERIVED_BY_NAME, *HOT_BY_NAME, *DETAIL_POSITION)


def shown(name: str) -> Shown:
    """Return how to read the metric as a series. Raise UnknownMetricError where there is none."""
    if name in DERIVED_BY_NAME:
        return _of_derived(DERIVED_BY_NAME[name])
    if name in HOT_BY_NAME:
        return _of_hot(HOT_BY_NAME[name])
    if name in DETAIL_POSITION:
        position = DETAIL_POSITION[name]
        return _of_detail(DETAIL[position], position)
    near = ", ".join(difflib.get_close_matches(name, NAMES, n=3)) or "used_memory"
    raise UnknownMetricError(
        _("There is no metric %(name)s. Did you mean %(near)s?") % {"name": name[:64], "near": near}
    )
