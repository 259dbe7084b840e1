"""Test files of rules as people write them: series of nodes in, alerts expected."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _

from alerts.alert import Alert
from alerts.given_series import NodeSeries, expanded
from alerts.measures import measure
from alerts.reason import Reason
from alerts.spec_form import ROLES, Reader, SpecError
from collectors.event import Kind
from collectors.metrics.lookup import UnknownMetricError
from fleet.models import Topology

EVERY_SECONDS = 15
FILE = {"rules", "tests"}
TEST = {"name", "every", "cache", "nodes", "events", "expect"}
CACHE = {"name", "topology", "labels", "policy"}
NODE = {"node", "role", "shard", "series", "week_ago"}
EVENT = {"kind", "at", "until"}
EXPECT = {"at", "rule", "alerts"}
ALERT = ("rule", "node", "shard", "state", "severity", "reason", "value")


@dataclass(frozen=True, slots=True)
class GivenNode:
    """One node of a test and what it says."""

    address: str
    role: str
    shard: int | None
    series: NodeSeries


@dataclass(frozen=True, slots=True)
class GivenEvent:
    """Something that happens to the cache meanwhile, in seconds from the start."""

    kind: str
    at: int
    until: int


@dataclass(frozen=True, slots=True)
class Expectation:
    """The alerts that are active at a time, of one rule or of all; fields that are not named may be anything."""

    at: int
    rule: str
    alerts: Sequence[Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class RuleTest:
    """One story about one cache."""

    name: str
    every: int
    cache: str
    topology: str
    labels: Mapping[str, str]
    policy: str
    nodes: Sequence[GivenNode]
    events: Sequence[GivenEvent]
    expected: Sequence[Expectation]


@dataclass(frozen=True, slots=True)
class TestFile:
    """The files of rules that are tested, none for the default pack, and the tests."""

    rules: Sequence[str]
    tests: Sequence[RuleTest] = field(default=())


def read_tests(given: object) -> TestFile:
    """Return the tests of a mapping as people write it. Raise SpecError naming all that cannot be read."""
    reader = Reader(given, FILE, "")
    rules = reader.given.get("rules", [])
    rules = [rules] if isinstance(rules, str) else rules
    if not isinstance(rules, list) or not all(isinstance(one, str) for one in rules):
        reader.wrong("rules", _("This must be the name of a file with rules, or a list of such."))
        rules = []
    tests = [_test(part) for part in _parts(reader, "tests", TEST)]
    if not tests:
        reader.wrong("tests", _("Give at least one test."))
    if reader.errors:
        raise SpecError(reader.errors)
    return TestFile(rules, tests)


def _parts(reader: Reader, name: str, allowed: set[str]) -> list[Reader]:
    """Return readers for the mappings of a list."""
    value = reader.given.get(name) or []
    if not isinstance(value, list):
        reader.wrong(name, _("This must be a list."))
        return []
    place = ".".join(filter(None, (reader.place, name)))
    return [Reader(part, allowed, f"{place}.{number}", reader.errors) for number, part in enumerate(value, 1)]


def _test(reader: Reader) -> RuleTest:
    every = reader.seconds("every") or EVERY_SECONDS
    cache = Reader(reader.given.get("cache", {}), CACHE, f"{reader.place}.cache", reader.errors)
    return RuleTest(
        name=reader.text("name") or reader.place,
        every=every,
        cache=cache.text("name") or "cache",
        topology=cache.choice("topology", Topology.values, Topology.CLUSTER),
        labels=cache.words("labels"),
        policy=cache.text("policy"),
        nodes=[_node(part, every) for part in _parts(reader, "nodes", NODE)],
        events=[_event(part) for part in _parts(reader, "events", EVENT)],
        expected=[_expectation(part) for part in _parts(reader, "expect", EXPECT)],
    )


def _node(reader: Reader, every: int) -> GivenNode:
    shard = reader.number("shard")
    usual = {metric: _number(reader, f"week_ago.{metric}", text) for metric, text in reader.words("week_ago").items()}
    series = {metric: _values(reader, metric, text) for metric, text in reader.words("series").items()}
    return GivenNode(
        address=reader.text("node") or reader.place,
        role=reader.choice("role", ROLES, "primary"),
        shard=None if shard is None else int(shard),
        series=NodeSeries(every, series, usual),
    )


def _values(reader: Reader, metric: str, text: str) -> list[float | None]:
    try:
        measure(metric)
        return expanded(text)
    except UnknownMetricError as error:
        reader.wrong(f"series.{metric}", str(error))
    except ValueError as error:
        words = _("“%(word)s” is no part of a series, such as 1 1x5 0+10x5 _x3; or the series is too long.")
        reader.wrong(f"series.{metric}", words % {"word": error})
    return []


def _number(reader: Reader, name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        reader.wrong(name, _("This must be a number."))
        return 0.0


def _event(reader: Reader) -> GivenEvent:
    at = reader.seconds("at")
    return GivenEvent(reader.choice("kind", Kind.values, Kind.OTHER), at, reader.seconds("until") or at)


def _expectation(reader: Reader) -> Expectation:
    alerts = [_alert(part) for part in _parts(reader, "alerts", set(ALERT))]
    return Expectation(reader.seconds("at"), reader.text("rule"), alerts)


def _alert(reader: Reader) -> dict[str, Any]:
    reader.choice("state", Alert.State.values, Alert.State.FIRING)
    reader.choice("severity", ("warning", "critical"), "warning")
    reader.choice("reason", Reason.values, Reason.THRESHOLD)
    reader.number("value")
    return {name: reader.text(name) for name in ALERT if name in reader.given}
