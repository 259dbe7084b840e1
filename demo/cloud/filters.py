"""Filters of Cloud Monitoring, as far as one asks for a metric type: clauses joined by AND."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import grpc

from demo.cloud.faults import RefusalError

STRING = r'"(?:[^"\\]|\\.)*"'
CLAUSE = re.compile(
    rf"\s*(?P<path>[a-z_]+(?:\.[a-z_]+)*)\s*=\s*"
    rf"(?:(?P<function>one_of|starts_with)\(\s*(?P<words>{STRING}(?:\s*,\s*{STRING})*)\s*\)|(?P<word>{STRING}))\s*"
)
AND = re.compile(r"AND\b")


@dataclass(frozen=True)
class Clause:
    """A field that must be, or begin with, one of these words."""

    path: str
    words: tuple[str, ...]
    is_prefix: bool

    def suits(self, value: str) -> bool:
        return value.startswith(self.words) if self.is_prefix else value in self.words


@dataclass(frozen=True)
class Filter:
    """All clauses of a filter; each must hold."""

    clauses: tuple[Clause, ...]

    @property
    def type(self) -> str:
        """Return the one metric type. Raise RefusalError where the filter names none or several."""
        named = [clause for clause in self.clauses if clause.path == "metric.type"]
        if len(named) != 1 or named[0].is_prefix or len(named[0].words) != 1:
            raise refusal("The provided filter does not specify a single metric type.")
        return named[0].words[0]

    def suits(self, resource: str, resource_labels: Mapping[str, str], metric_labels: Mapping[str, str]) -> bool:
        fields = {"resource.type": resource}
        fields |= {f"resource.labels.{name}": value for name, value in resource_labels.items()}
        fields |= {f"metric.labels.{name}": value for name, value in metric_labels.items()}
        others = [clause for clause in self.clauses if clause.path != "metric.type"]
        return all(clause.path in fields and clause.suits(fields[clause.path]) for clause in others)

    def suits_type(self, type_: str) -> bool:
        return all(clause.suits(type_) for clause in self.clauses if clause.path == "metric.type")


def refusal(words: str) -> RefusalError:
    return RefusalError(grpc.StatusCode.INVALID_ARGUMENT, words)


def plain(path: str) -> str:
    """Return a field's path with `label` spelled `labels`, which the API takes to be the same."""
    return path.replace(".label.", ".labels.")


def parsed(text: str) -> Filter:
    """Read a filter. Raise RefusalError where it is none that is known here."""
    clauses: list[Clause] = []
    at, is_open = 0, bool(text)
    while is_open:
        found = CLAUSE.match(text, at)
        if found is None:
            raise unreadable(text)
        words = tuple(word[1:-1] for word in re.findall(STRING, found["words"] or found["word"]))
        clauses.append(Clause(plain(found["path"]), words, found["function"] == "starts_with"))
        joint = AND.match(text, found.end())
        is_open, at = joint is not None, joint.end() if joint else found.end()
    if at < len(text):
        raise unreadable(text)
    return Filter(tuple(clauses))


def unreadable(text: str) -> RefusalError:
    return refusal(f"Field filter had an invalid value: could not parse filter {text!r}.")
