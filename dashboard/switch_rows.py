"""Switches as pages show them: their states in words, what changed, and the rows of the list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.db.models import Q
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext, pgettext_lazy

from switches import proof
from switches.models import Switch, SwitchChange
from switches.proof import State

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

SHOWN = 500
# Whether an off switch took effect costs several questions each; beyond so many, its own page tells.
PROVEN = 20
STATE_WORDS: dict[str, StrOrPromise] = {
    State.ENABLED: gettext_lazy("All applications may use the cache."),
    State.CANARY: gettext_lazy("Only some of the instances may use the cache."),
    State.DRAINING: gettext_lazy("It is off, and not everybody is known to have stopped."),
    State.DISABLED: gettext_lazy("It is off: every live instance applied that, and the traffic of the cache is gone."),
    State.UNPROVEN: gettext_lazy("It is off, but it cannot be proven that everybody stopped."),
    State.REPOINTING: gettext_lazy("It is off and points at another cache since; nobody uses that one yet."),
    State.RETIRED: gettext_lazy("It is out of use for good: applications that ask for it hear that there is none."),
}
STATE_ICONS = {
    State.ENABLED: "ok",
    State.CANARY: "waiting",
    State.DRAINING: "waiting",
    State.DISABLED: "paused",
    State.UNPROVEN: "warning",
    State.REPOINTING: "paused",
    State.RETIRED: "x",
}
STATE_TONES = {State.ENABLED: "ok", State.UNPROVEN: "warning", State.CANARY: "warning"}
SHOW_WORDS: tuple[tuple[str, StrOrPromise], ...] = (
    ("", gettext_lazy("All")),
    ("off", gettext_lazy("Off")),
    ("canary", gettext_lazy("Canary")),
    ("on", pgettext_lazy("switch", "On")),
    ("overdue", gettext_lazy("Off for a week")),
    ("unused", gettext_lazy("Unused")),
    ("retired", gettext_lazy("Retired")),
)
FIELD_WORDS: dict[str, StrOrPromise] = {
    "label": gettext_lazy("name for people"),
    "cache_now": gettext_lazy("cache"),
    "cache_next": gettext_lazy("next cache"),
    "percent": gettext_lazy("percent"),
    "fallback": gettext_lazy("when nothing is known"),
    "ttl_seconds": gettext_lazy("seconds until readers ask again"),
    "owner": gettext_lazy("owner"),
    "note": gettext_lazy("note"),
    "needs_two_people": gettext_lazy("turning on needs two people"),
    "floor_per_second": gettext_lazy("commands per second that count as silence"),
    "is_repointing": gettext_lazy("re-pointing"),
    "is_retired": gettext_lazy("retired"),
}


@dataclass(frozen=True, slots=True)
class StateChip:
    """A state as pages draw it: an icon, a tone and words."""

    state: State
    percent: int
    # Whether anybody looked how far an off switch is.
    is_known: bool = True

    @property
    def icon(self) -> str:
        return STATE_ICONS[self.state]

    @property
    def tone(self) -> str:
        return STATE_TONES.get(self.state, "waiting")

    @property
    def words(self) -> str:
        if self.state == State.CANARY:
            return _("canary %(percent)d %%") % {"percent": self.percent}
        if not self.is_known:
            return pgettext("switch", "off")
        return str(self.state.label)

    @property
    def sentence(self) -> StrOrPromise:
        return STATE_WORDS[self.state]


@dataclass(frozen=True, slots=True)
class SwitchRow:
    """One line of the list."""

    switch: Switch
    state: State
    is_known: bool
    is_overdue: bool
    is_unused: bool

    @property
    def chip(self) -> StateChip:
        return StateChip(self.state, self.switch.percent, self.is_known)


def rows(switches: list[Switch], now: datetime) -> list[SwitchRow]:
    """Return the lines of the list; of the first few that are off, how far they are."""
    off = [switch.pk for switch in switches if plain_state(switch) == State.DRAINING]
    return [
        SwitchRow(
            switch,
            proof.of(switch, now).state if switch.pk in off[:PROVEN] else plain_state(switch),
            switch.pk not in off[PROVEN:],
            switch.is_overdue(now),
            switch.is_unused(now),
        )
        for switch in switches
    ]


def plain_state(switch: Switch) -> State:
    """Return the state as far as the switch alone tells it."""
    if switch.retired_at:
        return State.RETIRED
    if switch.can_use:
        return State.CANARY if switch.is_canary else State.ENABLED
    return State.REPOINTING if switch.is_repointing else State.DRAINING


@dataclass(frozen=True, slots=True)
class SwitchQuery:
    """What the list shows: words that a switch holds, and a kind of state."""

    text: str = ""
    show: str = ""
    cache: str = ""

    @classmethod
    def of(cls, given: QueryDict) -> SwitchQuery:
        text, cache = (given.get(name, "").replace("\0", "").strip()[:100] for name in ("q", "cache"))
        show = given.get("show", "")
        return cls(text, show if show in dict(SHOW_WORDS) else "", cache)

    @property
    def is_filtered(self) -> bool:
        return self != SwitchQuery()

    @property
    def url(self) -> str:
        return urlencode({"q": self.text, "show": self.show, "cache": self.cache})

    def choices(self) -> Iterator[tuple[str, StrOrPromise, bool]]:
        """Yield the address, the words and whether it is chosen, of each kind of state."""
        for show, words in SHOW_WORDS:
            yield urlencode({"q": self.text, "show": show, "cache": self.cache}), words, show == self.show

    def switches(self, now: datetime) -> list[Switch]:
        found = Switch.objects.select_related("cache_now", "cache_next")
        chosen = {
            "off": found.off(),
            "canary": found.in_use().filter(percent__gt=0, percent__lt=100),
            "on": found.in_use().filter(percent=100),
            "overdue": found.overdue(now),
            "unused": found.unused(now),
            "retired": found.exclude(retired_at=None),
        }.get(self.show, found.in_use())
        if self.text:
            fields = ("key", "label", "owner", "note", "cache_now__name")
            fits = [Q(**{f"{field}__icontains": self.text}) for field in fields]
            chosen = chosen.filter(fits[0] | fits[1] | fits[2] | fits[3] | fits[4])
        if self.cache:
            chosen = chosen.filter(Q(cache_now__name=self.cache) | Q(cache_next__name=self.cache))
        return list(chosen[: SHOWN + 1])


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """One change with what it altered, in words."""

    change: SwitchChange
    differences: list[tuple[StrOrPromise, str, str]]


def change_row(change: SwitchChange) -> ChangeRow:
    return ChangeRow(change, differences(change.before, change.after) if change.before else [])


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[tuple[StrOrPromise, str, str]]:
    """Return what differs: the field in words, and both values."""
    names = [name for name in after if before.get(name) != after[name]]
    return [(FIELD_WORDS.get(name, name), value(before.get(name)), value(after[name])) for name in names]


def value(given: Any) -> str:
    if isinstance(given, bool):
        return _("yes") if given else _("no")
    return _("none") if given in {None, ""} else str(given)
