"""Metrics as expressions of PromQL over the series of /metrics/fleet, and how rules read them over a window."""

from collections.abc import Callable, Sequence

from django.utils.translation import gettext as _

from alerts.measures import DOWN, is_counted
from collectors.metrics.catalogue import Kind
from collectors.metrics.exporter_names import NAMES, OF_ALL_DATABASES, SCALES
from collectors.metrics.hot import HOT
from collectors.windows import Read, Reading

EXPORTED = {column: name for column, name, _kind in NAMES}
COUNTERS = {metric.name for metric in HOT if metric.kind is Kind.COUNTER}
OF_SUMS = {column for column, name in EXPORTED.items() if name in OF_ALL_DATABASES}
# A rate needs several samples, and a subquery a step: four polls and one by default.
SHORTEST_RATE, STEP = "1m", "15s"
OVER_TIME = {Read.AVG: "avg", Read.MIN: "min", Read.MAX: "max", Read.SUM: "sum"}


class InexpressibleError(Exception):
    """Prometheus cannot judge this rule; the text says why."""


def number(value: float) -> str:
    return f"{value:.12g}"


def read(reading: Reading, selector: str) -> str:
    """Return the expression of what a rule reads. Raise InexpressibleError."""
    window = f"{reading.seconds}s"
    if reading.how is Read.FORECAST:
        raise InexpressibleError(_("A forecast is believed only where the samples lie on a line, which it cannot ask."))
    if reading.how is Read.DEVIATION:
        raise InexpressibleError(_("It knows no whole hours of a week ago."))
    if reading.how is Read.SHARE:
        return f"avg_over_time(({series(reading.metric, selector)} > bool {number(reading.level)})[{window}:{STEP}])"
    if reading.how in {Read.RATE, Read.INCREASE}:
        if reading.metric not in COUNTERS:
            raise InexpressibleError(_("Only counters have a rate there."))
        return f"{reading.how.value}({exporter_name(reading.metric)}{{{selector}}}[{window}])"
    if reading.how is Read.LAST:
        return series(reading.metric, selector)
    if reading.how is Read.AVG and reading.metric in RATES:
        return series(reading.metric, selector, window)
    if reading.metric in EXPORTED and reading.metric not in COUNTERS | OF_SUMS:
        plain = f"{OVER_TIME[reading.how]}_over_time({_plain(reading.metric, selector)}[{window}])"
        return _scaled(reading.metric, plain)
    return f"{OVER_TIME[reading.how]}_over_time(({series(reading.metric, selector)})[{window}:{STEP}])"


def exporter_name(metric: str) -> str:
    if metric not in EXPORTED:
        raise InexpressibleError(_("/metrics/fleet has no series of %(metric)s.") % {"metric": metric})
    return EXPORTED[metric]


def series(metric: str, selector: str, window: str = SHORTEST_RATE) -> str:
    """Return the expression of a metric at one moment; `window` is what a rate in it is taken over."""
    if metric == DOWN.name:
        return f"1 - redis_up{{{selector}}}"
    if is_counted(metric):
        raise InexpressibleError(_("/metrics/fleet has no counts by name."))
    if metric in DERIVED:
        return DERIVED[metric](selector, window)
    if metric in COUNTERS:
        return f"rate({exporter_name(metric)}{{{selector}}}[{window}])"
    if metric in OF_SUMS:
        return f"sum without (db) ({_plain(metric, selector)})"
    return _scaled(metric, _plain(metric, selector))


def _plain(metric: str, selector: str) -> str:
    return f"{exporter_name(metric)}{{{selector}}}"


def _scaled(metric: str, expression: str) -> str:
    """Return the expression in our unit: the exporter gives base units."""
    scale = SCALES[metric] if metric == "latest_fork_usec" else 1
    return expression if scale == 1 else f"{expression} / {number(scale)}"


def _rates(*columns: str) -> Callable[[str, str], str]:
    def made(selector: str, window: str) -> str:
        return " + ".join(f"rate({EXPORTED[column]}{{{selector}}}[{window}])" for column in columns)

    return made


def _hit_ratio(selector: str, window: str) -> str:
    hits, misses = (_rates(name)(selector, window) for name in ("keyspace_hits", "keyspace_misses"))
    return f"{hits} / ({hits} + {misses} > 0)"


def _share(part: Sequence[str], whole: str) -> Callable[[str, str], str]:
    def made(selector: str, window: str) -> str:
        parts = " + ".join(_plain(name, selector) for name in part)
        return f"({parts}) / ({_plain(whole, selector)} > 0)"

    return made


def _less(whole: str, part: str) -> Callable[[str, str], str]:
    def made(selector: str, window: str) -> str:
        return f"clamp_min({_rates(whole)(selector, window)} - {_rates(part)(selector, window)}, 0)"

    return made


PER_SECOND = {
    "commands_per_second": "total_commands_processed",
    "connections_received_per_second": "total_connections_received",
    "rejected_connections_per_second": "rejected_connections",
    "keyspace_hits_per_second": "keyspace_hits",
    "keyspace_misses_per_second": "keyspace_misses",
    "expired_keys_per_second": "expired_keys",
    "evicted_keys_per_second": "evicted_keys",
    "error_replies_per_second": "total_error_replies",
    "replication_input_bytes_per_second": "total_net_repl_input_bytes",
    "replication_output_bytes_per_second": "total_net_repl_output_bytes",
}
DERIVED: dict[str, Callable[[str, str], str]] = {
    **{name: _rates(column) for name, column in PER_SECOND.items()},
    "network_input_bytes_per_second": _less("total_net_input_bytes", "total_net_repl_input_bytes"),
    "network_output_bytes_per_second": _less("total_net_output_bytes", "total_net_repl_output_bytes"),
    "cpu_ratio": _rates("used_cpu_sys", "used_cpu_user"),
    "main_thread_cpu_ratio": _rates("used_cpu_sys_main_thread", "used_cpu_user_main_thread"),
    "hit_ratio": _hit_ratio,
    "memory_used_ratio": _share(["used_memory"], "maxmemory"),
    "connections_used_ratio": _share(["connected_clients", "connected_slaves"], "maxclients"),
    "keys_without_ttl": lambda selector, window: " - ".join(series(name, selector) for name in ("keys", "expires")),
}
# The mean of what is a sum of rates is its rate over the whole window.
RATES = {*PER_SECOND, *COUNTERS, "cpu_ratio", "main_thread_cpu_ratio"}
