"""Running rules on a test's series, tick by tick, as they are judged in earnest; without a database."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from alerts import judging, measures
from alerts.alert import Alert, moment
from alerts.evaluate import Book
from alerts.figures import span
from alerts.measures import DOWN
from alerts.rule import Rule
from alerts.rule_tests import Expectation, GivenNode, RuleTest
from alerts.scene import Watched, WatchedNode
from alerts.spec import Spec
from collectors.windows import Reading, Values

CACHE_ID = 1


@dataclass(frozen=True, slots=True)
class Difference:
    """What a test expected at a time and did not find, and what it found and did not expect."""

    test: str
    at: int
    missing: Sequence[str]
    surplus: Sequence[str]

    def lines(self) -> Iterator[str]:
        yield f"{self.test}, at {span(self.at)}:"
        yield from (f"  - expected: {line}" for line in self.missing)
        yield from (f"  + found:    {line}" for line in self.surplus)


def differences(specs: Sequence[Spec], test: RuleTest) -> list[Difference]:
    """Return where the alerts of a test are not those that it expects, in the order of time."""
    wanted = sorted(test.expected, key=lambda one: one.at)
    found, stage = [], Stage(specs, test)
    for expected in wanted:
        difference = compared(test.name, expected, stage.alerts_at(expected.at))
        if difference:
            found.append(difference)
    return found


class Stage:
    """The cache of a test as rules see it, and the alerts as they stand at the last tick that was judged."""

    def __init__(self, specs: Sequence[Spec], test: RuleTest) -> None:
        self.test = test
        # Rules that are stored nowhere are told apart by numbers of our own.
        self.rules = [Rule.of(spec, pk=number) for number, spec in enumerate(specs, 1)]
        self.alerts: list[Alert] = []
        self.next_tick = 0

    def alerts_at(self, at: int) -> list[Alert]:
        """Judge all ticks up to a time that were not judged before; return the active alerts."""
        while self.next_tick <= at:
            self._judge(self.next_tick)
            self.next_tick += self.test.every
        return [alert for alert in self.alerts if alert.state != Alert.State.RESOLVED]

    def _judge(self, tick: int) -> None:
        cache, at = self._watched(tick), moment(tick)
        down = measures.down([cache], at)
        readings = {reading for rule in self.rules for reading in rule.spec.readings()}
        found = {reading: self._read(reading, tick, down) for reading in readings}
        silent = frozenset(node_id for node_id, is_down in down.items() if is_down)
        book = Book([cache], tick, self.alerts)
        for rule in self.rules:
            for verdict in judging.verdicts(rule, (), [cache], found, silent):
                book.enter(rule, verdict)
        known = {rule.pk for rule in self.rules}
        book.close_missing(known, known)
        # The newest of each target; what is over is kept, for an alert that comes back soon flaps.
        everything = (*self.alerts, *(change.alert for change in book.changes))
        self.alerts = list({(alert.rule_id, alert.target): alert for alert in everything}.values())

    def _read(self, reading: Reading, tick: int, down: Values) -> Values:
        if reading.metric == DOWN.name:
            return down
        read = {number: node.series.read(reading, tick) for number, node in enumerate(self.test.nodes, 1)}
        return {number: value for number, value in read.items() if value is not None}

    def _watched(self, tick: int) -> Watched:
        test = self.test
        policies = {number: test.policy for number, _node in enumerate(test.nodes, 1) if test.policy}
        cache = Watched(CACHE_ID, test.cache, test.labels, test.topology, test.every, policies=policies)
        # A test gives figures of the service as it gives those of nodes.
        cache.nodes = cache.places = [_as_seen(number, node, tick) for number, node in enumerate(test.nodes, 1)]
        for event in test.events:
            if event.at <= tick:
                last = moment(min(event.until, tick))
                cache.events[event.kind] = max(last, cache.events.get(event.kind, last))
        return cache


def _as_seen(number: int, node: GivenNode, tick: int) -> WatchedNode:
    """Return the node as its polls up to a tick went: where it says that it is down, it refused them."""
    answered_at = node.series.answered_at(tick)
    first_failure = 0 if answered_at is None else answered_at + node.series.every
    return WatchedNode(
        id=number,
        address=node.address,
        role=node.role,
        shard_id=node.shard,
        shard=node.shard,
        attempted_at=moment(tick),
        answered_at=None if answered_at is None else moment(answered_at),
        failing_since=None if answered_at == tick else moment(first_failure),
        has_evidence=bool(node.series.at(DOWN.name, tick)),
    )


def compared(name: str, expected: Expectation, alerts: Sequence[Alert]) -> Difference | None:
    """Return how the alerts differ from the expected ones, None where they do not."""
    left = [_fields(alert) for alert in alerts if expected.rule in {"", alert.rule_key}]
    missing = []
    for wanted in expected.alerts:
        match = next((one for one in left if _fits(wanted, one)), None)
        if match is None:
            missing.append(_line(wanted))
        else:
            left.remove(match)
    surplus = [_line(one) for one in left]
    return Difference(name, expected.at, missing, surplus) if missing or surplus else None


def _fields(alert: Alert) -> dict[str, str]:
    return {
        "rule": alert.rule_key,
        "node": alert.node_address,
        "shard": str(alert.labels.get("shard", "")),
        "state": str(alert.state),
        "severity": alert.severity,
        "reason": str(alert.reason),
        "value": "" if alert.value is None else f"{alert.value:.6g}",
    }


def _fits(wanted: Mapping[str, str], found: Mapping[str, str]) -> bool:
    """Return whether a found alert has all that is named; one whose state is not named must fire."""
    return all(_is_same(name, text, found[name]) for name, text in {"state": Alert.State.FIRING, **wanted}.items())


def _is_same(name: str, wanted: str, found: str) -> bool:
    if name == "value" and wanted and found:
        return f"{float(wanted):.6g}" == found
    return wanted == found


def _line(fields: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {text}" for name, text in fields.items() if text)
