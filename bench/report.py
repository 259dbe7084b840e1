"""What a bench found: rows of our figure beside the peer's, as a table and as JSON."""

import json
import os
import platform
import shlex
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

NOT_INSTALLED = "peer not installed"
HEADINGS = ("measure", "unit", "ours", "peer", "ratio", "bar", "runs", "spread", "")


@dataclass(frozen=True, slots=True)
class Row:
    """One measure. `ours` and `peer` are medians over `runs`; `ratio` is ours to the peer's.

    `spread` is the distance between the quartiles of our runs as a share of their median; None of one run.
    `bar` is the highest ratio allowed, or where `bar_on` is "ours" the highest figure; with `is_least` it is the
    lowest. An aim has no bar.
    """

    measure: str
    unit: str
    ours: float | None
    peer: float | None = None
    runs: int = 1
    spread: float | None = None
    bar: float | None = None
    bar_on: str = "ratio"
    note: str = ""
    is_least: bool = False

    @property
    def ratio(self) -> float | None:
        return self.ours / self.peer if self.ours is not None and self.peer else None

    @property
    def holds(self) -> bool | None:
        """Return whether the bar holds; None where there is none or nothing to hold it against."""
        judged = self.ratio if self.bar_on == "ratio" else self.ours
        if self.bar is None or judged is None:
            return None
        return judged >= self.bar if self.is_least else judged <= self.bar

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "ratio": self.ratio, "holds": self.holds}


def quartile_spread(values: Sequence[float]) -> float | None:
    if len(values) < 2 or not (middle := statistics.median(values)):
        return None
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / middle


def compared(
    measure: str,
    unit: str,
    ours: Sequence[float],
    peer: Sequence[float] | None,
    bar: float | None = None,
    note: str = "",
) -> Row:
    """Return the row of two lists of runs; `peer` is None where it is not installed."""
    other = statistics.median(peer) if peer else None
    said = note or ("" if peer else NOT_INSTALLED)
    return Row(measure, unit, statistics.median(ours), other, len(ours), quartile_spread(ours), bar, note=said)


@dataclass(slots=True)
class Report:
    """The rows of one bench with what a reader needs to judge and repeat them."""

    name: str
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)
    load_before: tuple[float, float, float] = field(default_factory=os.getloadavg)

    def add(self, row: Row) -> None:
        self.rows.append(row)

    def as_json(self) -> dict[str, Any]:
        return {
            "bench": self.name,
            "command": command(),
            "cores": os.cpu_count(),
            "load_average": {"before": self.load_before, "after": os.getloadavg()},
            "versions": {"python": platform.python_version(), **self.versions},
            "rows": [row.as_json() for row in self.rows],
            "notes": self.notes,
        }

    def text(self) -> str:
        loads = (f"{load:.1f}" for load in (self.load_before[0], os.getloadavg()[0]))
        head = [
            f"bench {self.name}, load average {' to '.join(loads)} on {os.cpu_count()} cores",
            ", ".join(f"{name} {version}" for name, version in self.versions.items()),
            f"repeat with: {command()}",
        ]
        return "\n".join([*head, "", *table(self.rows), "", *self.notes])


def command() -> str:
    return shlex.join(["bin/bench", *sys.argv[1:]])


def table(rows: Sequence[Row]) -> list[str]:
    cells = [HEADINGS, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEADINGS))]
    return ["  ".join(_aligned(line, widths)).rstrip() for line in cells]


def _aligned(line: Sequence[str], widths: Sequence[int]) -> list[str]:
    # Words to the left, figures to the right.
    sides: list[Callable[[str, int], str]] = [str.ljust, str.ljust, *[str.rjust] * 6, str.ljust]
    return [side(cell, width) for side, cell, width in zip(sides, line, widths, strict=True)]


def _cells(row: Row) -> tuple[str, ...]:
    verdict = {True: "holds", False: "MISSED", None: ""}[row.holds]
    bar = "-" if row.bar is None else f"{'>= ' * row.is_least}{row.bar:g}{'x' if row.bar_on == 'ratio' else ''}"
    ratio = "-" if row.ratio is None else f"{row.ratio:.2f}x"
    spread = "-" if row.spread is None else f"{row.spread:.0%}"
    remark = ", ".join(part for part in (verdict, row.note) if part)
    return (row.measure, row.unit, figure(row.ours), figure(row.peer), ratio, bar, str(row.runs), spread, remark)


def figure(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def write_json(path: Path, reports: Sequence[Report], failures: Mapping[str, str]) -> None:
    """Write all reports: `rows` together, each with the name of its bench, and the benches by themselves."""
    benches = [report.as_json() for report in reports]
    rows = [{"bench": bench["bench"], **row} for bench in benches for row in bench["rows"]]
    path.write_text(json.dumps({"rows": rows, "benches": benches, "failed": failures}, indent=2) + "\n")
