"""Prometheus' text format, version 0.0.4."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
HELP_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n"})

Labels = Mapping[str, str]


@dataclass(slots=True)
class Family:
    """One metric with its samples; `kind` is gauge, counter or untyped."""

    name: str
    kind: str
    meaning: str
    samples: list[tuple[Labels, float]] = field(default_factory=list)

    def add(self, labels: Labels, value: float | None) -> None:
        """Add a sample; what is not known is left out, never written as zero."""
        if value is not None:
            self.samples.append((labels, float(value)))


def render(families: Iterable[Family]) -> str:
    """Return the page; families without samples are left out."""
    lines: list[str] = []
    for family in families:
        if family.samples:
            lines.append(f"# HELP {family.name} {family.meaning.translate(HELP_ESCAPES)}")
            lines.append(f"# TYPE {family.name} {family.kind}")
            lines += [f"{family.name}{_labels(labels)} {value!r}" for labels, value in family.samples]
    return "\n".join(lines) + "\n" if lines else ""


def _labels(labels: Labels) -> str:
    parts = ",".join(f'{name}="{value.translate(ESCAPES)}"' for name, value in labels.items())
    return f"{{{parts}}}" if parts else ""
