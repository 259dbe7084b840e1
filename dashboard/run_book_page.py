"""What the page of a run book shows: its stages, what waits for whom, and what was done."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db.models import QuerySet
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from alerts.alert import Alert
from dashboard.preflight_words import FindingRow, row
from dashboard.switch_page import SwitchPage
from switches.models import RunBook, RunBookEntry

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

Step = RunBook.Step
What = RunBookEntry.What
STAGES: tuple[tuple[str, StrOrPromise], ...] = (
    (Step.CHECK, gettext_lazy("Look at the target")),
    (Step.DRAIN, gettext_lazy("Off: wait until all have stopped")),
    (Step.DEPLOY, gettext_lazy("Re-pointed: confirm the configuration")),
    (Step.CANARY, gettext_lazy("Let them in gradually")),
    (Step.DONE, gettext_lazy("Done")),
)
# What the button that takes the last step back does, by step.
UNDO_WORDS: dict[str, StrOrPromise] = {
    Step.DRAIN: gettext_lazy("Undo: turn it on again"),
    Step.DEPLOY: gettext_lazy("Undo: point it back"),
}


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of the way: done, now or to come."""

    key: str
    words: StrOrPromise
    state: str


@dataclass(frozen=True)
class RunBookPage:
    """One run book as it stands at a moment."""

    book: RunBook
    seen: SwitchPage

    @property
    def stages(self) -> list[Stage]:
        keys = [key for key, _words in STAGES if self.book.target_id or self.was_moved or key in SHORT]
        now = keys.index(self.book.step) if self.book.step in keys else -1
        words = dict(STAGES)
        if Step.CHECK not in keys:
            words[Step.DEPLOY] = _("Confirm")
        states = ["done" if at < now or self.book.step == Step.DONE else "now" if at == now else "" for at in range(9)]
        return [Stage(key, words[key], states[at]) for at, key in enumerate(keys)]

    @cached_property
    def was_moved(self) -> bool:
        """Return whether it began with another cache as its target, which may be deleted by now."""
        return any(entry.what in {What.CHECKED, What.REPOINTED} for entry in self.entries)

    @cached_property
    def entries(self) -> list[RunBookEntry]:
        return list(self.book.entries.all()[:200])

    @property
    def record(self) -> list[tuple[RunBookEntry, str]]:
        return [(entry, entry_words(entry)) for entry in self.entries]

    @property
    def findings(self) -> list[FindingRow]:
        return [row(finding) for finding in self.book.findings]

    @property
    def is_refused(self) -> bool:
        return any(finding["verdict"] == "failed" for finding in self.book.findings)

    @property
    def percents(self) -> list[tuple[int, str]]:
        """Return the percentages of the canary, each done, now or to come."""
        book, is_canary = self.book, self.book.step == Step.CANARY
        now = book.position if is_canary else len(book.percents) if book.step == Step.DONE else -1
        return [(one, "done" if at < now else "now" if at == now else "") for at, one in enumerate(book.percents)]

    @property
    def undo_words(self) -> StrOrPromise:
        book = self.book
        if book.step == Step.CANARY and book.position:
            return _("Undo: back to %(percent)d %%") % {"percent": book.percents[book.position - 1]}
        if book.step == Step.CANARY:
            return _("Undo: turn it off")
        return UNDO_WORDS.get(book.step, "") if book.target_id or book.step != Step.DEPLOY else ""

    @cached_property
    def rolled_back(self) -> str:
        """Return why the canary was rolled back, where that is what happened last."""
        last = self.entries[0] if self.entries else None
        return str(last.data.get("why", "")) if last and last.what == What.ROLLED_BACK else ""

    @cached_property
    def alerts(self) -> QuerySet[Alert]:
        """Return what fires at the cache that the canary is about."""
        cache = self.book.target_id or self.book.switch.cache_now_id
        return Alert.objects.firing().filter(cache=cache).select_related("rule")[:5]

    @property
    def firing_rules(self) -> list[str]:
        """Return the rules that fire, each once for however many nodes."""
        return list(dict.fromkeys(alert.rule_key for alert in self.alerts))

    def shown(self) -> tuple[Any, ...]:
        book = self.book
        firing = [alert.pk for alert in self.alerts]
        told = self.seen.shown() if book.step == Step.DRAIN else ()
        return book.pk, book.at, book.checked_at, len(self.entries), firing, self.is_late, told

    @property
    def is_late(self) -> bool:
        """Return whether the bake time is over and the next percentage still waits."""
        return self.book.step == Step.CANARY and self.seen.now > self.book.baked_at

    @property
    def baked_at(self) -> datetime:
        return self.book.baked_at


# The way of a switch that is only turned on again.
SHORT = {Step.DEPLOY, Step.CANARY, Step.DONE}


def entry_words(entry: RunBookEntry) -> str:
    """Return what was done, with its figures."""
    if entry.what == What.PERCENT:
        return _("%(percent)d %% let in") % {"percent": entry.data.get("percent", 0)}
    if entry.what == What.ROLLED_BACK:
        return _("rolled back by itself: %(why)s") % {"why": entry.data.get("why", "?")}
    return entry.get_what_display()
