"""Which labels are meant: `cache=game-*`, `env!=dev`, `node=~10\\.0\\..*`, all of which must fit."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from math import prod

from django.utils.translation import gettext as _

SHAPE = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_.-]{0,62})\s*(=~|!~|!=|=)\s*(.*?)\s*", re.DOTALL)
LIMIT, LENGTH = 20, 300


class MatcherError(ValueError):
    """A matcher that cannot be read; the text says what to write instead."""


@dataclass(frozen=True, slots=True)
class Matcher:
    """One comparison of a label; a label that is missing counts as empty."""

    label: str
    sign: str
    value: str

    def fits(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.label, "")
        if self.sign in {"=~", "!~"}:
            return bool(_pattern(self.value).fullmatch(value)) == (self.sign == "=~")
        return fnmatchcase(value, self.value) == (self.sign == "=")

    def __str__(self) -> str:
        return f"{self.label}{self.sign}{self.value}"


@cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.DOTALL)


def parse(lines: Iterable[str]) -> tuple[Matcher, ...]:
    """Return the matchers of lines, blank ones left out. Raise MatcherError for what cannot be read.

    What is kept already is read as it is; what a person gives goes through `typed`.
    """
    found = tuple(_one(line) for line in lines if line.strip())
    if len(found) > LIMIT:
        raise MatcherError(_("Give at most %(limit)d matchers.") % {"limit": LIMIT})
    return found


def _one(line: str) -> Matcher:
    shape = SHAPE.fullmatch(line)
    if shape is None or len(line) > LENGTH:
        raise MatcherError(
            _("“%(line)s” cannot be read. Write label=value, label!=value, label=~regex or label!~regex.")
            % {"line": line.strip()[:80]}
        )
    matcher = Matcher(*shape.groups())
    if "~" in matcher.sign:
        _check_pattern(matcher.value)
    return matcher


# A group that is repeated can take for ever on a label that a stranger chose; so can many repetitions in a row.
REPEATED_GROUP = re.compile(r"\)\s*(?:[*+]|\{(?![1-4]\}))")
FEW_TIMES = re.compile(r"\)\s*\{")
REPETITION = re.compile(r"[*+?]|\{(\d*),(\d*)\}")
LONGEST, WAYS = 64, 1_000_000


def typed(lines: Iterable[str]) -> tuple[Matcher, ...]:
    """Return the matchers of lines that a person gives; raise MatcherError for what takes too long to compare, too."""
    found = parse(lines)
    for matcher in found:
        if "~" in matcher.sign:
            _check_cost(matcher.value)
    return found


def _check_pattern(text: str) -> None:
    try:
        re.compile(text)
    except re.error as error:
        raise MatcherError(
            _("“%(text)s” is no regular expression: %(error)s.") % {"text": text[:80], "error": error}
        ) from error


def _check_cost(text: str) -> None:
    """Alerts wait until all patterns were compared: one that may take long would keep everybody from being told."""
    choices = (1 + part.count("|") for part in text.split(")"))
    # Groups that are repeated a few times may stand in one another; three of them are too many for any choice.
    times = 4 ** min(len(FEW_TIMES.findall(text)), 3)
    ways = (prod(map(_ways, REPETITION.finditer(text))) * prod(choices)) ** times
    if REPEATED_GROUP.search(text) or ways > WAYS:
        raise MatcherError(
            _("“%(text)s” repeats a group, or too many things; write it more simply, or as several matchers.")
            % {"text": text[:80]}
        )


def _ways(repetition: re.Match[str]) -> int:
    """Return how many lengths a repetition may have, of a label of usual length."""
    if repetition[0] == "?":
        return 2
    least, most = repetition[1] or "0", repetition[2] or str(LONGEST)
    is_bounded = repetition[0].startswith("{") and len(least) < 5 and len(most) < 5
    return min(max(int(most) - int(least) + 1, 1), LONGEST) if is_bounded else LONGEST


def fit(matchers: Iterable[Matcher], labels: Mapping[str, str]) -> bool:
    return all(matcher.fits(labels) for matcher in matchers)
