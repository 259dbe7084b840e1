"""What people are told about an incident. Built once; a channel only formats it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Self


class Severity(StrEnum):
    """How bad it is, in the order in which messages leave."""

    CRITICAL = "critical"
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        return list(Severity).index(self)


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of a message: a name and what is so."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Message:
    """One text about an incident, for every channel. No field may hold a secret."""

    title: str
    severity: Severity
    at: datetime
    text: str = ""
    # What it is about, as the pager groups it: a cache, a node.
    source: str = "shardwatch"
    facts: tuple[Fact, ...] = ()
    link: str = ""
    runbook: str = ""
    # Signed link by which a reader acknowledges without signing in.
    acknowledge_link: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "severity": str(self.severity), "at": self.at.isoformat()}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return what `as_json` was made of."""
        facts = tuple(Fact(**fact) for fact in stored["facts"])
        at, severity = datetime.fromisoformat(stored["at"]), Severity(stored["severity"])
        return cls(**{**stored, "facts": facts, "at": at, "severity": severity})
