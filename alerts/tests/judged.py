"""The small cast of rule tests: a cache whose nodes report what a test says, judged tick by tick."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from alerts import evaluate
from alerts.alert import Alert, Transition, moment
from alerts.evaluate import Outcome
from alerts.rule import Rule
from alerts.spec_form import read_spec
from collectors import samples
from collectors.causes import Cause
from collectors.metrics.hot import HOT_INDEX, HOT_NAMES
from collectors.models import NodeStatus, Step
from collectors.tests.cast import cache_with_nodes
from fleet.models import Cache, Node

EVERY = 15
LIMIT = 10**9
TERM = ("metric", "read", "over", "level", "warning", "critical", "value", "across", "role")


def rule(key: str = "memory", **changes: Any) -> Rule:
    """Store a rule on memory_used_ratio over 0.8 and 0.9; `changes` are fields as people write them.

    Fields of its one condition are given by their names, but `sign` for `is`.
    """
    term = {"metric": "memory_used_ratio", "warning": 0.8, "critical": 0.9, "is": changes.pop("sign", ">")}
    term |= {name: changes.pop(name) for name in TERM if name in changes}
    made = Rule.of(read_spec({"rule": key, "title": key.capitalize(), "when": {"all": [term]}} | changes))
    made.save()
    return made


@dataclass
class Fleet:
    """A cache whose polls a test makes up, from four minutes ago on."""

    cache: Cache
    every: int = EVERY
    tick: int = field(default_factory=lambda: int(timezone.now().timestamp()) // EVERY * EVERY - 240)

    @property
    def nodes(self) -> list[Node]:
        return list(Node.objects.filter(cache=self.cache).order_by("port"))

    @property
    def at(self) -> datetime:
        return moment(self.tick)

    def poll(self, *memory: float | None, judge: bool = True) -> Outcome:
        """Let each node report its memory as a share of the limit (None: it stays silent) and judge."""
        self.tick += self.every
        given = dict(zip(self.nodes, memory, strict=True))
        self.report({node: {"memory": share} for node, share in given.items() if share is not None})
        for node in (node for node, share in given.items() if share is None):
            self.failed(node)
        return self.judge() if judge else Outcome()

    def report(self, reports: Mapping[Node, Mapping[str, float]]) -> None:
        """Store what nodes answer at this tick; `memory` is used memory as a share of the limit."""
        samples.write([self._reading(node, dict(hot)) for node, hot in reports.items()])
        answered = {"attempted_at": self.at, "answered_at": self.at, "failing_since": None, "failed_step": ""}
        NodeStatus.objects.bulk_create(
            [NodeStatus(node=node, **answered) for node in reports],
            update_conflicts=True,
            unique_fields=["node"],
            update_fields=list(answered),
        )

    def _reading(self, node: Node, hot: dict[str, float]) -> samples.NodeReading:
        values: list[int | float | bool | None] = [None] * len(HOT_NAMES)
        known = {"uptime_in_seconds": 100_000, "read_after_ms": 0, "is_primary": node.role == "primary"}
        memory = {"used_memory": int(hot.pop("memory", 0.5) * LIMIT), "maxmemory": LIMIT}
        for name, number in (known | memory | hot).items():
            values[HOT_INDEX[name]] = number
        return samples.NodeReading(node.pk, self.tick, values)

    def judge(self) -> Outcome:
        return evaluate.evaluate([self.cache.pk], self.tick)

    def failed(self, node: Node, cause: Cause = Cause.SILENT) -> None:
        status, _made = NodeStatus.objects.get_or_create(node=node)
        status.attempted_at, status.failing_since = self.at, status.failing_since or self.at
        status.failed_step, status.failed_cause = Step.CONNECT, cause
        status.save()


def fleet(shards: int = 1, replicas: int = 0, name: str = "game") -> Fleet:
    return Fleet(cache_with_nodes(shards, replicas, name))


def states() -> list[str]:
    """Return the states of all alerts, oldest first."""
    return list(Alert.objects.order_by("pk").values_list("state", flat=True))


def history(alert: Alert | None = None) -> list[tuple[str, str]]:
    """Return the states and severities that an alert, or the only one, went through."""
    rows: QuerySet[Transition] = (alert or Alert.objects.get()).transitions.all()
    return [(row.state, row.severity) for row in rows]
