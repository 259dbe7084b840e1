"""The shape of a metric and how its values are kept."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


class Kind(StrEnum):
    """How the server counts: a level, or a number that only grows until a restart or reset."""

    GAUGE = "gauge"
    COUNTER = "counter"


class Column(StrEnum):
    """Postgres' type of a hot column; the smallest that holds every value exactly."""

    INT8 = "int8"
    INT4 = "int4"
    INT2 = "int2"
    BOOL = "bool"
    FLOAT4 = "float4"


@dataclass(frozen=True, slots=True)
class Metric:
    """One number that a server reports or that we derive.

    `unit` is a base unit (bytes, seconds, ratio) or the noun counted (keys, connections); a counter's
    series is its rate, in that unit a second. `scale` turns the stored integer into the unit.
    `since` is the first server version known to report it. `column` is set where every poll keeps it.
    """

    name: str
    unit: str
    kind: Kind
    meaning: StrOrPromise
    section: str
    since: str = ""
    column: Column | None = None
    scale: float = 1
    engines: tuple[str, ...] = ("redis", "valkey")

    @property
    def series_unit(self) -> str:
        return f"{self.unit}/s" if self.kind is Kind.COUNTER else self.unit


@dataclass(frozen=True, slots=True)
class Derived:
    """A number computed from one sample and the one before; `sql` is made by collectors/rates.py."""

    name: str
    unit: str
    meaning: StrOrPromise
    sql: str
    # Hot columns that the formula reads, shown under "explain this chart".
    reads: tuple[str, ...]
    # How the nodes of a cache make one number: sum where amounts add up, max where the worst node counts.
    over_nodes: str = "sum"
