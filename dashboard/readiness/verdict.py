"""What a check says: a mark with its figure, or that it is not known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dashboard.readiness.inputs import Measured
from dashboard.templatetags.units import percent

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

# Our own margin: whoever is this near a published limit is told before passing it.
CLOSE = 0.9


class Mark(StrEnum):
    READY = "ready"
    CARE = "care"
    NOT_READY = "not-ready"
    UNKNOWN = "unknown"
    # The rule is not about such a cache.
    NONE = "does-not-apply"


SIGNS = {Mark.READY: "○", Mark.CARE: "△", Mark.NOT_READY: "×", Mark.UNKNOWN: "?", Mark.NONE: "–"}
MARK_WORDS = {
    Mark.READY: gettext_lazy("ready"),
    Mark.CARE: gettext_lazy("with care"),
    Mark.NOT_READY: gettext_lazy("not ready"),
    Mark.UNKNOWN: gettext_lazy("not known"),
    Mark.NONE: gettext_lazy("does not apply"),
}
WORST_FIRST = (Mark.NOT_READY, Mark.CARE, Mark.UNKNOWN, Mark.READY)


@dataclass(frozen=True, slots=True)
class Room:
    """What a smaller number of shards would hold, against what it should; in bytes."""

    shards: int
    room: float
    needed: float

    @property
    def fits(self) -> bool:
        return self.room >= self.needed


@dataclass(frozen=True, slots=True)
class Verdict:
    """A mark with its figure, the limit it is held against, and why or what to do."""

    mark: Mark
    figure: str = ""
    limit: str = ""
    sentence: str = ""
    # What it was judged by; the oldest of them tells the age.
    measured: tuple[Measured, ...] = ()
    rooms: tuple[Room, ...] = ()


def unknown(reason: StrOrPromise, limit: str = "") -> Verdict:
    return Verdict(Mark.UNKNOWN, limit=limit, sentence=str(reason))


def none(reason: StrOrPromise) -> Verdict:
    return Verdict(Mark.NONE, sentence=str(reason))


def mark_of(level: float, limit: float) -> Mark:
    """Return how a level stands to a limit that it may reach but not pass."""
    if level > limit:
        return Mark.NOT_READY
    return Mark.CARE if level > CLOSE * limit else Mark.READY


def at_most(measured: Measured | None, limit: float, fine: str, too_much: str, missing: str) -> Verdict:
    """Return the verdict on a ratio that may reach a limit but not pass it."""
    words = _("at most %(limit)s") % {"limit": percent(limit)}
    if measured is None:
        return unknown(missing, words)
    mark = mark_of(measured.value, limit)
    close = _("Within the limit, but by less than a tenth of it.")
    sentence = {Mark.READY: fine, Mark.CARE: close, Mark.NOT_READY: too_much}[mark]
    return Verdict(mark, percent(measured.value), words, sentence, (measured,))


def worst(marks: Iterable[Mark]) -> Mark:
    """Return the worst mark; what is not known is worse than ready. None of them applies: neither does the whole."""
    found = set(marks)
    return next((mark for mark in WORST_FIRST if mark in found), Mark.NONE)
