"""The charts of the page of commands: the heaviest names over time."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext_lazy as _

from dashboard.commands import HISTOGRAM, Commands

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


@dataclass(frozen=True, slots=True)
class NameChart:
    """One chart: the API's address below that of the cache, its measure, and what an empty one means."""

    key: str
    title: StrOrPromise
    unit: str
    path: str
    measure: str
    sources: tuple[str, ...]
    added_up: StrOrPromise = ""
    empty: StrOrPromise = ""
    stacked: bool = True

    def spec(self) -> dict[str, Any]:
        """Return what the script needs, with plain texts."""
        texts = {"title": str(self.title), "added_up": str(self.added_up), "empty": str(self.empty)}
        return asdict(self) | texts | {"by_node": [{"metric": self.measure, "label": ""}], "from_zero": True}


P99 = "command-p99"
CHARTS: tuple[NameChart, ...] = (
    NameChart(
        "command-time",
        _("Share of the servers' time"),
        "fine share",
        "commands/series",
        "time",
        ("cmdstat_*", "usec"),
        _("mean of the nodes; 100% is a main thread that runs commands only"),
    ),
    NameChart(
        "command-calls",
        _("Calls per second"),
        "count/s",
        "commands/series",
        "calls",
        ("cmdstat_*", "calls"),
        _("totals over the chosen nodes"),
    ),
    NameChart(
        P99,
        _("99th percentile of each interval"),
        "usec",
        "commands/series",
        "p99",
        ("LATENCY HISTOGRAM",),
        _("histograms of the nodes added up, percentiles never averaged"),
        _("No histograms: these servers refuse LATENCY HISTOGRAM, or are older than Redis 7.0."),
        stacked=False,
    ),
    NameChart(
        "error-rates",
        _("Errors per second"),
        "count/s",
        "errors/series",
        "calls",
        ("errorstat_*",),
        _("totals over all nodes"),
        _("No errors in this range."),
    ),
)
# Instead of percentiles where no server gives a histogram.
MEAN = NameChart(
    "command-mean",
    _("Mean time per call of each interval"),
    "usec",
    "commands/series",
    "usec",
    ("cmdstat_*", "usec", "calls"),
    _("time of all calls over their number; these servers tell no percentiles"),
    stacked=False,
)


def charts_of(found: Commands) -> tuple[NameChart, ...]:
    """Return the charts for what was measured: percentiles, or the mean where nothing else is known."""
    if not found.seconds or found.total.latency == HISTOGRAM:
        return CHARTS
    return tuple(MEAN if chart.key == P99 else chart for chart in CHARTS)
