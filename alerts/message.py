"""What people are told about an incident. Built once; a channel only formats it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
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
class Words:
    """What of a message differs from language to language."""

    title: str
    text: str = ""
    facts: tuple[Fact, ...] = ()

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        return cls(stored["title"], stored["text"], facts_of(stored))


def facts_of(stored: Mapping[str, Any]) -> tuple[Fact, ...]:
    return tuple(Fact(**fact) for fact in stored["facts"])


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
    # Its words in other languages than the site's, by their code, where they differ.
    others: Mapping[str, Words] = field(default_factory=dict)

    @property
    def words(self) -> Words:
        return Words(self.title, self.text, self.facts)

    def spoken(self, language: str | None) -> Self:
        """Return the message in one language alone; in the site's where there are no words in that one."""
        words = self.others.get(language or "", self.words)
        return replace(self, title=words.title, text=words.text, facts=words.facts, others={})

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "severity": str(self.severity), "at": self.at.isoformat()}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return what `as_json` was made of."""
        at, severity = datetime.fromisoformat(stored["at"]), Severity(stored["severity"])
        # One that an older version wrote has no words in other languages.
        others = {language: Words.from_json(words) for language, words in stored.get("others", {}).items()}
        return cls(**{**stored, "facts": facts_of(stored), "at": at, "severity": severity, "others": others})
