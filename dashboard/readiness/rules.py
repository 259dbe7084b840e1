"""The rules of readiness in one table: what is judged, by which rule, and who published it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

from collectors.cloud import limits
from collectors.cloud.limits import Page
from dashboard.readiness import access, maintenance, scaling
from dashboard.readiness.inputs import ORIGIN_WORDS, Inputs
from dashboard.readiness.verdict import MARK_WORDS, SIGNS, Mark, Verdict, worst

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


class Part(StrEnum):
    """What one may be ready for."""

    MAINTENANCE = "maintenance"
    SCALING = "scaling"
    SCALE_IN = "scale-in"
    ACCESS = "access"


PART_WORDS = {
    Part.MAINTENANCE: _("Maintenance"),
    Part.SCALING: _("Scaling"),
    Part.SCALE_IN: _("Scale-in"),
    Part.ACCESS: _("Access"),
}


@dataclass(frozen=True, slots=True)
class Rule:
    """One check. `sources` are pages of collectors/cloud/product_limits.json; `told_by` says who else it is from."""

    name: str
    part: Part
    title: StrOrPromise
    text: StrOrPromise
    judge: Callable[[Inputs], Verdict]
    sources: tuple[str, ...] = ()
    told_by: StrOrPromise = ""

    @property
    def pages(self) -> list[Page]:
        return [limits.page(source) for source in self.sources]


@dataclass(frozen=True, slots=True)
class Check:
    """A rule and what it says of one cache."""

    rule: Rule
    verdict: Verdict

    @property
    def mark(self) -> Mark:
        return self.verdict.mark

    @property
    def sign(self) -> str:
        return SIGNS[self.mark]

    @property
    def mark_word(self) -> StrOrPromise:
        return MARK_WORDS[self.mark]

    @property
    def origins(self) -> list[StrOrPromise]:
        """Return who told the numbers, each once."""
        return [ORIGIN_WORDS[origin] for origin in dict.fromkeys(one.origin for one in self.verdict.measured)]

    @property
    def measured_at(self) -> datetime | None:
        """Return the time of the oldest number."""
        return min((one.at for one in self.verdict.measured if one.at), default=None)


RULES: tuple[Rule, ...] = (
    Rule(
        "system-memory",
        Part.MAINTENANCE,
        _("Memory of the system"),
        _("Redis: the system memory usage ratio is at most 50% when maintenance begins, for copies and replication."),
        maintenance.system_memory,
        ("redis-memory", "redis-maintenance"),
    ),
    Rule(
        "cpu-primary",
        Part.MAINTENANCE,
        _("CPU of the busiest primary"),
        _(
            "Redis: at most 0.9 of a core. Redis Cluster and Valkey: at most 0.5 with one replica a shard, 0.9 with two"
            " or more, so that a zone may be lost. No limit is published without replicas."
        ),
        maintenance.cpu_primary,
        ("cluster-practices", "valkey-practices"),
        _("For Redis: alert policies that are public"),
    ),
    Rule(
        "cpu-replica",
        Part.MAINTENANCE,
        _("CPU of the busiest replica"),
        _("At most 0.5: it serves writes too when it becomes the primary."),
        maintenance.cpu_replica,
        ("cluster-practices", "valkey-practices"),
        _("For Redis: release notes as others sum them up"),
    ),
    Rule(
        "window",
        Part.MAINTENANCE,
        _("Maintenance window"),
        _("A window is set: notice comes at least seven days before, and only where there is one."),
        maintenance.window,
        ("redis-maintenance", "cluster-maintenance", "valkey-maintenance"),
    ),
    Rule(
        "replicas",
        Part.MAINTENANCE,
        _("Replicas a shard"),
        _("At least one: without replicas a lost node takes its keys with it, and Google's SLA for Valkey is void."),
        maintenance.replicas,
        ("cluster-replicas", "valkey-guidelines"),
    ),
    Rule(
        "replica-memory",
        Part.SCALING,
        _("Memory of the fullest node"),
        _("Clusters: at most 80% of the limit before a replica is added or RDB is turned on; above it, adding fails."),
        scaling.replica_memory,
        ("cluster-practices", "valkey-practices"),
    ),
    Rule(
        "biggest-key",
        Part.SCALING,
        _("Biggest key"),
        _("Clusters: no key of 128 MB or more, since the slot that holds it cannot move."),
        scaling.biggest_key,
        ("cluster-scaling",),
    ),
    Rule(
        "load",
        Part.SCALING,
        _("Connections and commands"),
        _(
            "Clusters: as little load as possible. With 10,000 connections and 15,000 commands per second a scaling"
            " took under 5 minutes; with 32,000 and 50,000 it failed after 2 hours."
        ),
        scaling.load,
        ("cluster-practices",),
        _("Two scalings in production, told by those who ran them"),
    ),
    Rule(
        "node-type",
        Part.SCALING,
        _("Type of node"),
        _("Not nano: such nodes are outside the SLA, and scaling fails where over 98% of their memory is used."),
        scaling.node_type,
        ("cluster-nodes", "valkey-nodes", "cluster-scaling"),
    ),
    Rule(
        "scale-in",
        Part.SCALE_IN,
        _("Room on fewer shards"),
        _("Clusters: what is left after scale-in holds at least 1.5 times the memory in use."),
        scaling.scale_in,
        ("cluster-practices", "valkey-practices"),
    ),
    Rule("auth", Part.ACCESS, _("AUTH"), _("A password or a token is asked for."), access.auth, ("cluster-auth",)),
    Rule("tls", Part.ACCESS, _("TLS"), _("Connections are encrypted."), access.tls, ("redis-tls", "cluster-tls")),
)


def check(inputs: Inputs) -> list[Check]:
    """Return what every rule says of one cache, those that do not apply too."""
    return [Check(rule, rule.judge(inputs)) for rule in RULES]


def summary(checks: Sequence[Check]) -> dict[Part, Mark]:
    """Return the worst mark of each part."""
    return {part: worst(one.mark for one in checks if one.rule.part == part) for part in Part}
