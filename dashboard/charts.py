"""The charts of a cache's page: one table that the template and static/js/chart.js read."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from alerts.measures import Measure, measure
from collectors.metrics.lookup import shown
from collectors.metrics.reported import is_reported

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


OVER_PRIMARIES = _("Totals count primaries only: replicas hold copies of the same data.")
OVER_ALL = _("Totals add up all nodes, primaries and replicas.")
SPREAD_SENTENCE = _("The highest and the lowest node have their own lines, so that an average never hides a hot node.")
BY_PLACE = _(
    "Cloud Monitoring hides its points for up to five minutes: the newest end stays empty for so long. By node, each"
    " node and role that the service tells apart has its own line."
)
BY_NODE = _("By node, each node has its own line; of many nodes the 12 highest do, and a band stands for the others.")


@dataclass(frozen=True, slots=True)
class Line:
    """One line over all nodes. `kind`: main, more, spread_top, spread_bottom, limit or alarm (a line that
    should be flat at zero). `hidden` lines are switched on in the legend. A line with `against` shows the share of
    its metric in both."""

    metric: str
    over: str
    label: StrOrPromise
    kind: str = "more"
    hidden: bool = False
    against: str = ""


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound of a rule on what one node shows: a line over the whole width."""

    metric: str
    value: float
    level: str
    label: str
    rule: str
    is_above: bool


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart: its lines over the whole cache, and what can be drawn node by node.

    `unit` names the writer in static/js/units.js. `limit` is the metric of a node's own limit.
    """

    key: str
    title: StrOrPromise
    unit: str
    lines: tuple[Line, ...]
    by_node: tuple[tuple[str, StrOrPromise], ...]
    limit: str = ""
    from_zero: bool = True
    about: StrOrPromise = ""
    # What it is made of where that is not what nodes report.
    told_by: tuple[str, ...] = ()
    bounds: tuple[Bound, ...] = ()

    @property
    def metrics(self) -> list[str]:
        """Return the metrics that the lines over the whole cache are made of."""
        return list(dict.fromkeys(name for line in self.lines for name in (line.metric, line.against) if name))

    @property
    def of_nodes(self) -> set[str]:
        """Return the metrics of which it shows what single nodes have, and no sums alone."""
        return {name for name, _label in self.by_node} | {line.metric for line in self.lines if line.over != "sum"}

    @property
    def judged(self) -> str:
        """Return the metric that a rule made from the chart begins with: what it shows node by node."""
        return self.by_node[0][0] if self.by_node else self.lines[0].metric

    @property
    def fields(self) -> list[Measure]:
        """Return the metrics of the lines, as the catalogue explains them."""
        return [measure(metric) for metric in self.metrics]

    @property
    def combined(self) -> list[StrOrPromise]:
        """Return sentences about how nodes make one line, and what lines by node are."""
        if self.told_by:
            return [BY_PLACE]
        kinds = {line.over for line in self.lines if line.kind != "limit"}
        found: list[StrOrPromise] = []
        if "sum" in kinds:
            found.append(OVER_PRIMARIES if self.totals == {"primaries"} else OVER_ALL)
        if kinds - {"sum"}:
            found.append(SPREAD_SENTENCE)
        return [*found, BY_NODE]

    @property
    def sources(self) -> list[str]:
        """Return the fields of the server, or metric types of the service, that the chart is made of."""
        if self.told_by:
            return list(self.told_by)
        return list(dict.fromkeys(read for metric in self.metrics for read in shown(metric).reads))

    @property
    def added_up(self) -> StrOrPromise:
        """Return over which nodes the totals run, for the sentence under the chart."""
        if self.totals == {"primaries"}:
            return _("totals over primaries")
        return _("totals over all nodes") if self.totals else ""

    @property
    def totals(self) -> set[str]:
        own = () if self.told_by else self.lines
        return {shown(line.metric).over_nodes for line in own if line.over == "sum"}

    def of_engine(self, engine: str) -> Chart:
        """Return the chart without the lines that servers of a kind never report."""
        lines = tuple(line for line in self.lines if is_reported(line.metric, engine))
        by_node = tuple(pair for pair in self.by_node if is_reported(pair[0], engine))
        return self if len(lines) == len(self.lines) else replace(self, lines=lines, by_node=by_node)

    def spec(self) -> dict[str, Any]:
        """Return what the script needs, with plain texts."""
        given = asdict(self) | {"title": str(self.title), "about": str(self.about)}
        given["lines"] = [asdict(line) | {"label": str(line.label)} for line in self.lines]
        given["by_node"] = [{"metric": metric, "label": str(label)} for metric, label in self.by_node]
        return given


def spread(metric: str, main: str = "max") -> tuple[Line, ...]:
    """Return highest, mean and lowest node with the band between them, so that no hot node is averaged away."""
    lines = (
        Line(metric, "max", _("highest node"), "spread_top"),
        Line(metric, "min", _("lowest node"), "spread_bottom"),
        Line(metric, "mean", _("mean of nodes")),
    )
    return lines if main != "sum" else (Line(metric, "sum", _("total"), "main"), *lines[:2])


CHARTS: tuple[Chart, ...] = (
    Chart(
        "memory",
        _("Memory"),
        "bytes",
        (
            Line("used_memory", "sum", _("used"), "main"),
            Line("used_memory_rss", "sum", _("resident")),
            Line("used_memory_dataset", "sum", _("data set")),
            Line("used_memory_peak", "sum", _("peak")),
            Line("maxmemory", "sum", _("maxmemory"), "limit"),
        ),
        (
            ("used_memory", _("used")),
            ("used_memory_rss", _("resident")),
            ("used_memory_dataset", _("data set")),
            ("used_memory_peak", _("peak")),
        ),
        limit="maxmemory",
        about=_("Memory that the data takes, what the system gives for it, and the limit at which evictions begin."),
    ),
    Chart(
        "memory-share",
        _("Memory, share of the limit"),
        "share",
        spread("memory_used_ratio"),
        (("memory_used_ratio", _("share of the limit")),),
        about=_("How full each node is: a full one evicts keys or refuses writes."),
    ),
    Chart(
        "cpu",
        _("CPU, share of one core"),
        "share",
        (
            Line("main_thread_cpu_ratio", "max", _("main thread, busiest node"), "spread_top"),
            Line("main_thread_cpu_ratio", "min", _("main thread, least busy node"), "spread_bottom"),
            Line("cpu_ratio", "max", _("all threads, busiest node")),
        ),
        (("main_thread_cpu_ratio", _("main thread")), ("cpu_ratio", _("all threads"))),
        about=_("How busy the thread that runs commands is: when its core is full, all clients wait."),
    ),
    Chart(
        "commands",
        _("Commands per second"),
        "count/s",
        spread("commands_per_second", "sum"),
        (("commands_per_second", _("commands")),),
        about=_("Commands that the servers run each second."),
    ),
    Chart(
        "connections",
        _("Connections"),
        "count",
        (
            *spread("connected_clients"),
            Line("connected_clients", "sum", _("total"), hidden=True),
            Line("maxclients", "min", _("maxclients"), "limit"),
        ),
        (("connected_clients", _("connections")),),
        limit="maxclients",
        about=_("Connections that clients hold open; at maxclients new ones are refused."),
    ),
    Chart(
        "connection-rates",
        _("New and rejected connections"),
        "count/s",
        (
            Line("connections_received_per_second", "sum", _("new"), "main"),
            Line("rejected_connections_per_second", "sum", _("rejected"), "alarm"),
        ),
        (("connections_received_per_second", _("new")), ("rejected_connections_per_second", _("rejected"))),
        about=_(
            "New and rejected connections per second. Many new ones mean that clients do not reuse their connections."
        ),
    ),
    Chart(
        "hits",
        _("Hit ratio"),
        "share",
        # A mean of the nodes' ratios would weigh an idle node like a busy one.
        (
            Line("keyspace_hits_per_second", "sum", _("whole cache"), "main", against="keyspace_misses_per_second"),
            Line("hit_ratio", "max", _("highest node"), "spread_top"),
            Line("hit_ratio", "min", _("lowest node"), "spread_bottom"),
        ),
        (("hit_ratio", _("hit ratio")),),
        from_zero=False,
        about=_("The share of looked-up keys that were found."),
    ),
    Chart(
        "evictions",
        _("Evicted and expired keys"),
        "count/s",
        (
            Line("expired_keys_per_second", "sum", _("expired"), "main"),
            Line("evicted_keys_per_second", "sum", _("evicted"), "alarm"),
        ),
        (("evicted_keys_per_second", _("evicted")), ("expired_keys_per_second", _("expired"))),
        about=_("Keys removed because their time to live ended, and keys removed because memory was full."),
    ),
    Chart(
        "keys",
        _("Keys with and without a time to live"),
        "count",
        (
            Line("keys", "sum", _("all keys"), "main"),
            Line("expires", "sum", _("with a time to live")),
            Line("keys_without_ttl", "sum", _("without a time to live")),
        ),
        (("keys", _("all keys")), ("expires", _("with a time to live")), ("keys_without_ttl", _("without"))),
        about=_("How many keys there are, and how many of them will never expire."),
    ),
    Chart(
        "network",
        _("Network traffic of clients"),
        "bytes/s",
        (
            Line("network_output_bytes_per_second", "sum", _("out"), "main"),
            Line("network_input_bytes_per_second", "sum", _("in")),
        ),
        (("network_output_bytes_per_second", _("out")), ("network_input_bytes_per_second", _("in"))),
        about=_("Bytes that clients send and receive per second, without replication."),
    ),
    Chart(
        "replication",
        _("Replication lag"),
        "bytes",
        spread("replication_lag_bytes"),
        (("replication_lag_bytes", _("bytes behind")),),
        about=_("Bytes of changes that replicas have not received yet; a failover would lose them."),
    ),
    Chart(
        "replication-age",
        _("Time since replicas last acknowledged"),
        "seconds",
        spread("replication_lag_seconds"),
        (("replication_lag_seconds", _("time")),),
        about=_("How long ago each replica last told its primary how far it is."),
    ),
    Chart(
        "fragmentation",
        _("Memory fragmentation"),
        "ratio",
        spread("mem_fragmentation_ratio"),
        (("mem_fragmentation_ratio", _("resident over used")),),
        from_zero=False,
        about=_(
            "Memory from the system divided by memory in use: far above 1 is waste; below 1, memory is swapped out."
        ),
    ),
    Chart(
        "answers",
        _("Time to answer our polls"),
        "seconds",
        spread("round_trip_seconds"),
        (("round_trip_seconds", _("answer time")),),
        about=_("How long nodes take to answer our own polls, including the network."),
    ),
)


def words() -> dict[str, str]:
    """Return the words that the scripts of charts show, by the name of their data attribute."""
    return {
        "loading": gettext("Loading…"),
        "first": gettext("No data yet: the first samples are on their way."),
        "silent": gettext("No data: the cache has never answered."),
        "empty": gettext("No samples in this range."),
        "absent": gettext("Not reported by this server."),
        "failed": gettext("Could not be loaded: %s"),
        "offline": gettext("no connection"),
        "live": gettext("Live"),
        "fixed": gettext("Fixed range"),
        "stale": gettext("Not updated since %s"),
        "others": gettext("other nodes"),
        "limit": gettext("limit"),
        "shard": gettext("shard %(number)s %(role)s"),
        "primary": gettext("primary"),
        "replica": gettext("replica"),
        "now": gettext("now"),
        "between": gettext("%(from)s to %(to)s"),
        "summary": gettext("%(title)s: %(lines)s"),
        "toggle": gettext("Show or hide %s"),
        "backwards": gettext("The range ends before it begins."),
        "gap": gettext("no sample"),
        "was": gettext("before %s"),
        "before": gettext("%(line)s, %(when)s"),
        "day-before": gettext("a day before"),
        "week-before": gettext("a week before"),
        "no-past": gettext("No samples from that time."),
        "time": gettext("Time"),
        "newestfirst": gettext("Newest first."),
        "thinned": gettext("One of every %(every)s points is shown, of %(total)s in all; the CSV file has them all."),
        "highest": gettext("%s, highest"),
        "lowest": gettext("%s, lowest"),
        "drawn": gettext("Drawn now: one point every %(step)s, from %(tier)s."),
        "logged": gettext("On a logarithmic scale, zero lies on the lower edge."),
        "tierraw": gettext("the samples of each poll"),
        "tierdetail": gettext("samples taken every five minutes"),
        "tier5m": gettext("means of five minutes"),
        "tier1h": gettext("means of an hour"),
        "tier8h": gettext("means of eight hours"),
        "tierother": gettext("counts of whole intervals"),
        "copied": gettext("Link copied."),
        "linked": gettext("The link is now in the address bar; copy it from there."),
    }
