"""Tests for promtool of exported rules: what they expect is what our own judging finds on the same series."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from alerts.given_series import NodeSeries
from alerts.measures import DOWN
from alerts.prometheus import Exported, annotations
from alerts.prometheus_series import COUNTERS, EXPORTED, PER_SECOND
from alerts.rehearsal import Stage
from alerts.rule_tests import GivenNode, RuleTest
from alerts.spec import Per, Spec, Term
from collectors.metrics.exporter_names import OF_ALL_DATABASES, SCALES
from collectors.windows import Read
from fleet.models import Topology

EVERY_SECONDS, SLACK_SECONDS = 30, 300
# Shard and role: enough for rules about replicas and about several shards.
LAYOUT = ((1, "primary"), (2, "primary"), (1, "replica"))
# Who crosses the bounds; the first that makes the rule fire is taken: one node, two, everybody.
CROSSING: tuple[frozenset[int], ...] = (frozenset({0}), frozenset({2}), frozenset({0, 1}), frozenset({0, 1, 2}))
Values = Sequence[float]


@dataclass(frozen=True, slots=True)
class Told:
    """One node's numbers over time, by our names."""

    labels: Mapping[str, str]
    values: Mapping[str, Values]


def promtool_test(exported: Exported) -> dict[str, Any] | None:
    """Return a test in which a rule fires and is over; None where no series of ours makes it do that."""
    spec = exported.spec
    ticks = (spec.hold + spec.keep + 2 * spec.window_seconds + SLACK_SECONDS) // EVERY_SECONDS
    times = [number * ticks * EVERY_SECONDS - EVERY_SECONDS for number in (1, 2, 3)]
    for crossing in CROSSING:
        told = [_node(spec, ticks, number, number in crossing) for number in range(len(LAYOUT))]
        seen = _seen(spec, told, times)
        if seen[1] and not seen[0] and not seen[2]:
            return _written(exported, told, dict(zip(times, seen, strict=True)))
    return None


def _node(spec: Spec, ticks: int, number: int, crosses: bool) -> Told:
    """Return a node that is well, crosses the bounds of all terms that are about it, and is well again."""
    shard, role = LAYOUT[number]
    values: dict[str, Values] = {}
    for term in spec.terms:
        well, ill = _amount(term, crosses=False), _amount(term, crosses=crosses)
        # Of two terms about one metric, the first says what it does.
        values.setdefault(term.reading.metric, [*[well] * ticks, *[ill] * ticks, *[well] * ticks])
    first = spec.where.shard or 1
    place = {"cache": _sample(spec.where.cache), "instance": _sample(spec.where.node, f"10.0.0.{number + 1}:6379")}
    return Told({**place, "shard": str(first + shard - 1), "role": role}, values)


def _sample(glob: str, usual: str = "game") -> str:
    """Return a name that fits a pattern, as long as it has no sets of characters."""
    return usual if glob == "*" else glob.replace("*", "x").replace("?", "x")


def _amount(term: Term, crosses: bool) -> float:
    """Return a number of a metric, of a counter its growth a second, with which a term is true, or is not."""
    reading, bound = term.reading, term.bound(2) or 0.0
    if reading.how is Read.SHARE:
        return reading.level + max(1.0, abs(reading.level)) if crosses == term.is_above else 0.0
    over, under = bound + (abs(bound) * 0.1 or 1.0), 0.0 if bound > 0 else bound - 1
    amount = over if term.is_above == crosses else under
    if not crosses and not term.is_closed and (bound == 0 or not term.is_above):
        # The bound itself is no crossing: nothing is less than nothing, and no cluster has more than all slots.
        amount = bound
    parts = {Read.INCREASE: reading.seconds, Read.SUM: reading.seconds / EVERY_SECONDS}
    return amount / parts.get(reading.how, 1)


def _seen(spec: Spec, told: Sequence[Told], times: Sequence[int]) -> list[list[tuple[dict[str, str], str]]]:
    """Return labels and severities of what fires at these times by our own judging."""
    nodes = [
        GivenNode(
            one.labels["instance"],
            one.labels["role"],
            int(one.labels["shard"]),
            NodeSeries(EVERY_SECONDS, {name: _summed(name, values) for name, values in one.values.items()}),
        )
        for one in told
    ]
    topology = Topology.STANDALONE if "not-cluster" in spec.gates else Topology.CLUSTER
    test = RuleTest(spec.key, EVERY_SECONDS, told[0].labels["cache"], topology, {}, _policy(spec), nodes, (), ())
    stage = Stage([spec], test)
    return [
        [(dict(alert.labels), alert.severity) for alert in stage.alerts_at(time) if alert.is_firing] for time in times
    ]


def _policy(spec: Spec) -> str:
    return "allkeys-lru" if "evicts" in spec.gates else "noeviction"


def _summed(name: str, values: Values) -> Values:
    """Return a counter as it stands; other metrics as they are."""
    if name not in COUNTERS:
        return values
    return list(accumulate(value * EVERY_SECONDS for value in values))


def _written(
    exported: Exported, told: Sequence[Told], seen: Mapping[int, Sequence[tuple[dict[str, str], str]]]
) -> dict[str, Any]:
    spec = exported.spec
    return {
        "name": spec.key,
        "interval": f"{EVERY_SECONDS}s",
        "input_series": [
            {"series": series, "values": compressed(values)} for one in told for series, values in _series(spec, one)
        ],
        "alert_rule_test": [
            {
                "eval_time": f"{time}s",
                "alertname": spec.key,
                "exp_alerts": [expected for alert in alerts for expected in _expected(exported, *alert)],
            }
            for time, alerts in seen.items()
        ],
    }


def _expected(exported: Exported, found: Mapping[str, str], severity: str) -> Iterable[dict[str, Any]]:
    """Yield what Prometheus has of one alert of ours: one alert a level that is reached."""
    spec = exported.spec
    named = {"cache": found["cache"]}
    if spec.per in {Per.NODE, Per.SHARD}:
        named["shard"] = found["shard"]
    if spec.per is Per.NODE:
        named |= {"instance": found["node"], "role": found["role"]}
    reached = ["warning", "critical"][: ["warning", "critical"].index(severity) + 1]
    for rule in exported.rules:
        if rule["labels"]["severity"] in reached:
            given = {**named, **spec.labels, "severity": rule["labels"]["severity"]}
            yield {"exp_labels": given, "exp_annotations": annotations(spec)}


def _series(spec: Spec, told: Told) -> Iterable[tuple[str, Values]]:
    """Yield the exporter's series of a node with their values."""
    mode = "standalone" if "not-cluster" in spec.gates else "cluster"
    about = {"redis_mode": mode, "maxmemory_policy": _policy(spec)}
    length = len(next(iter(told.values.values())))
    yield _named("redis_instance_info", {**told.labels, **about}), [1.0] * length
    down = told.values.get(DOWN.name, [0.0] * length)
    yield _named("redis_up", told.labels), [1 - value for value in down]
    raw: dict[str, Values] = {}
    for metric, values in told.values.items():
        for column, numbers in _raw(metric, values).items():
            raw.setdefault(column, numbers)
    for column, numbers in raw.items():
        name = EXPORTED[column]
        more = {"db": "all"} if name in OF_ALL_DATABASES else {}
        yield _named(name, {**told.labels, **more}), numbers


def _raw(metric: str, values: Values) -> dict[str, Values]:
    """Return the exporter's numbers, by our columns, that make a metric have these values."""
    if metric == DOWN.name:
        return {}
    if metric in MADE_OF:
        return MADE_OF[metric](values)
    column = PER_SECOND.get(metric, metric)
    if column in COUNTERS:
        return {column: _summed(column, values)}
    scale = SCALES[column] if column == "latest_fork_usec" else 1
    return {column: [value * scale for value in values]}


def _parts(whole: str, size: float, part: str, *nothing: str) -> Callable[[Values], dict[str, Values]]:
    """Return what makes a ratio of a part to a whole of a size; further parts are nothing."""
    return lambda values: {
        part: [value * size for value in values],
        whole: [size] * len(values),
        **{name: [0.0] * len(values) for name in nothing},
    }


def _counted(part: str, *nothing: str) -> Callable[[Values], dict[str, Values]]:
    return lambda values: {part: _summed(part, values), **{name: [0.0] * len(values) for name in nothing}}


MADE_OF: dict[str, Callable[[Values], dict[str, Values]]] = {
    "memory_used_ratio": _parts("maxmemory", 1e10, "used_memory"),
    "connections_used_ratio": _parts("maxclients", 1e4, "connected_clients", "connected_slaves"),
    "cpu_ratio": _counted("used_cpu_user", "used_cpu_sys"),
    "main_thread_cpu_ratio": _counted("used_cpu_user_main_thread", "used_cpu_sys_main_thread"),
    "network_input_bytes_per_second": _counted("total_net_input_bytes", "total_net_repl_input_bytes"),
    "network_output_bytes_per_second": _counted("total_net_output_bytes", "total_net_repl_output_bytes"),
    "hit_ratio": lambda values: {
        "keyspace_hits": _summed("keyspace_hits", [1000 * value for value in values]),
        "keyspace_misses": _summed("keyspace_misses", [1000 * (1 - value) for value in values]),
    },
    "keys_without_ttl": lambda values: {"keys": values, "expires": [0.0] * len(values)},
}


def _named(name: str, given: Mapping[str, str]) -> str:
    return f"{name}{{{', '.join(f'{key}={text!r}' for key, text in given.items())}}}".replace("'", '"')


def compressed(values: Values) -> str:
    """Return values in promtool's notation, runs of one step together."""
    words, start = [], 0
    while start < len(values):
        step = values[start + 1] - values[start] if start + 1 < len(values) else 0.0
        end = start + 1
        while end < len(values) and abs(values[start] + step * (end - start) - values[end]) <= 1e-9 * abs(values[end]):
            end += 1
        words.append(f"{values[start]:.12g}{step:+.12g}x{end - start - 1}")
        start = end
    return " ".join(words)
