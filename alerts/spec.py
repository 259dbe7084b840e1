"""What a rule says, apart from where it is kept: conditions, where they are judged, and how long they must hold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase

from django.db import models
from django.utils.translation import gettext_lazy as _

from collectors.windows import Read, Reading

DOWN_METRIC = "down"
ADMITTED_METRIC, OFF_METRIC = "switch_admitted_ratio", "switch_off_seconds"
# A verdict: how bad it is, or that nobody can tell.
Level = int
NONE, WARNING, CRITICAL = 0, 1, 2


class Join(StrEnum):
    """How the terms of a condition make one verdict."""

    ALL = "all"
    ANY = "any"


class Per(models.TextChoices):
    """What is judged by itself."""

    NODE = "node", _("each node")
    SHARD = "shard", _("each shard")
    CACHE = "cache", _("each cache")
    SPREAD = "spread", _("the spread between the nodes of a cache")


class Across(models.TextChoices):
    """How the nodes of a shard or cache make one number."""

    MAX = "max", _("the highest node")
    MIN = "min", _("the lowest node")
    SUM = "sum", _("the sum of the nodes")
    AVG = "avg", _("the mean of the nodes")


class NoData(models.TextChoices):
    """What a rule makes of a node that sends no samples any more."""

    KEEP = "keep", _("keep what was known")
    ALERT = "alert", _("count it as true")
    OK = "ok", _("count it as false")


@dataclass(frozen=True, slots=True)
class Term:
    """One comparison. With neither bound it could never be true; a single `warning` bound has one level.

    `guard` is for terms that only allow or forbid the others: true counts for every level.
    """

    reading: Reading
    is_above: bool = True
    # Whether the bound itself counts as true.
    is_closed: bool = False
    warning: float | None = None
    critical: float | None = None
    guard: float | None = None
    across: Across = Across.MAX
    # Nodes of this role only; none means both.
    role: str = ""

    def judge(self, value: float | None) -> Level | None:
        """Return how bad a value is, None where there is none."""
        if value is None:
            return None
        if self.guard is not None:
            return CRITICAL if self._crosses(value, self.guard) else NONE
        if self.critical is not None and self._crosses(value, self.critical):
            return CRITICAL
        return WARNING if self.warning is not None and self._crosses(value, self.warning) else NONE

    def _crosses(self, value: float, bound: float) -> bool:
        if value == bound:
            return self.is_closed
        return value > bound if self.is_above else value < bound

    def bound(self, level: Level) -> float | None:
        """Return the bound that belongs to a level."""
        if self.guard is not None:
            return self.guard
        return self.critical if level == CRITICAL and self.critical is not None else self.warning


def joined(join: Join, levels: Sequence[Level | None]) -> Level | None:
    """Return the verdict of several terms; what is certain without the unknown ones is certain.

    With "all" the mildest level counts and one false term settles it; with "any" the worst does.
    """
    known = [level for level in levels if level is not None]
    if join is Join.ANY:
        worst = max(known, default=NONE)
        return worst if len(known) == len(levels) or worst == CRITICAL else worst or None
    if NONE in known:
        return NONE
    return min(known) if known and len(known) == len(levels) else None


@dataclass(frozen=True, slots=True)
class Where:
    """Which nodes a rule looks at: all of what is given must fit; names may hold `*`."""

    labels: Mapping[str, str] = field(default_factory=dict)
    cache: str = "*"
    shard: int | None = None
    role: str = ""
    node: str = "*"

    def fits_cache(self, name: str, labels: Mapping[str, str]) -> bool:
        is_named = self.cache == "*" or fnmatchcase(name, self.cache)
        return is_named and all(labels.get(key) == value for key, value in self.labels.items())

    @property
    def takes_all_nodes(self) -> bool:
        return not self.role and self.shard is None and self.node == "*"

    def fits_node(self, address: str, role: str, shard: int | None) -> bool:
        return (
            self.role in {"", role}
            and (self.shard is None or self.shard == shard)
            and (self.node == "*" or fnmatchcase(address, self.node))
        )


@dataclass(frozen=True, slots=True)
class Spec:
    """A whole rule. Times are whole seconds; texts may be written in any language.

    `calm` gives, by kind of event (restart, failover, scaling …), how long after it nothing new begins.
    `gates` name what a cache must be (alerts/gates.py) for the rule to apply at all. `hides` names labels: while it
    fires, milder alerts of other rules with the same values of them are not told by themselves.
    """

    key: str
    title: str
    terms: tuple[Term, ...]
    join: Join = Join.ALL
    per: Per = Per.NODE
    where: Where = Where()
    hold: int = 0
    keep: int = 0
    no_data: NoData = NoData.KEEP
    area: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    message: str = ""
    why: str = ""
    check: str = ""
    runbook: str = ""
    gates: tuple[str, ...] = ()
    calm: Mapping[str, int] = field(default_factory=dict)
    hides: tuple[str, ...] = ()

    def readings(self) -> list[Reading]:
        return [term.reading for term in self.terms]

    def judge(self, values: Sequence[float | None]) -> Level | None:
        """Return the verdict for one target; `values` follow the terms."""
        if len(self.terms) == 1:
            return self.terms[0].judge(values[0])
        return joined(self.join, [term.judge(value) for term, value in zip(self.terms, values, strict=True)])

    @property
    def is_about_down(self) -> bool:
        """Return whether it asks only whether nodes serve."""
        return all(term.reading.metric == DOWN_METRIC for term in self.terms)

    @property
    def is_about_switches(self) -> bool:
        """Return whether it asks how far a switch lets applications in: then that is no reason to keep it back."""
        return any(term.reading.metric in {ADMITTED_METRIC, OFF_METRIC} for term in self.terms)

    def leading(self) -> int:
        """Return the position of the term whose value stands for the rule: the first that has levels."""
        return next((index for index, term in enumerate(self.terms) if term.guard is None), 0)

    @property
    def window_seconds(self) -> int:
        return max(reading.seconds for reading in self.readings())


# Readings that need a window of their own; the others have one for a default.
NEEDS_WINDOW = frozenset({Read.AVG, Read.MIN, Read.MAX, Read.SUM, Read.RATE, Read.INCREASE, Read.SHARE, Read.FORECAST})
