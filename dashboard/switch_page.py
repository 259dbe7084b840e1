"""What the page of one switch shows: its proofs, who is late, and what falls on the database."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from collectors.causes import Cause
from dashboard.charts import CHARTS, Chart
from dashboard.switch_rows import StateChip
from dashboard.templatetags.units import grouped, rate
from switches import proof
from switches.models import Switch, SwitchChange
from switches.proof import Missing, Proof, Reader, Standing

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

# Instances named on the page itself; the others are behind a link.
NAMED = 20
FALLING = ("commands", "connections")
CHARTS_OF_A_SWITCH: tuple[Chart, ...] = tuple(chart for chart in CHARTS if chart.key in FALLING)
WHAT_TO_DO: dict[Missing, StrOrPromise] = {
    Missing.REPORTS: _("Ask the owners of the applications whether they stopped, or use a client that reports."),
    Missing.CACHE: _("Name its cache, so that somebody counts the commands."),
    Missing.POLLS: _("See on the page of the cache why it is not polled."),
    Missing.CLIENT_LIST: _("Allow CLIENT LIST to the user that Shardwatch signs in as."),
    Missing.ADDRESSES: _("Let the clients report their address, or name their connections (CLIENT SETNAME)."),
}
# The server answers, and does not want to tell.
REFUSALS = frozenset({Cause.NO_PERMISSION, Cause.ERROR_REPLY})
FALLBACK_CONSEQUENCE: dict[str, StrOrPromise] = {
    "open": _("Open: a reader that never heard of the switch uses the cache, even while it is off."),
    "closed": _("Closed: a reader that never heard of the switch asks the database, even while it is on."),
}


@dataclass(frozen=True)
class SwitchPage:
    """One switch as it stands at a moment; `seen_revision` is the one that the browser shows."""

    switch: Switch
    now: datetime
    seen_revision: int

    @cached_property
    def proof(self) -> Proof:
        return proof.of(self.switch, self.now)

    @property
    def chip(self) -> StateChip:
        return StateChip(self.proof.state, self.switch.percent)

    @property
    def is_outdated(self) -> bool:
        return self.seen_revision != self.switch.revision

    @cached_property
    def last_change(self) -> SwitchChange | None:
        return self.switch.changes.first()

    def count(self, standing: str) -> int:
        return len(self.proof.standing(standing))

    @property
    def applied(self) -> int:
        return self.count(Standing.APPLIED)

    @property
    def behind(self) -> int:
        return self.count(Standing.BEHIND)

    @property
    def silent(self) -> int:
        return self.count(Standing.SILENT)

    @property
    def live(self) -> int:
        return self.applied + self.behind

    @cached_property
    def named(self) -> list[Reader]:
        """Return the first instances that somebody should look at: those that lie, are late, silent or in trouble."""
        order = {Standing.BEHIND: 1, Standing.SILENT: 2, Standing.APPLIED: 3}
        uneasy = [one for one in self.proof.readers if not is_easy(one)]
        return sorted(uneasy, key=lambda one: (not one.is_still_there, order[one.standing], one.name))[:NAMED]

    @property
    def newest(self) -> float | None:
        """Return what applications sent at the newest poll, in commands per second."""
        counted = self.proof.traffic
        return counted.remaining[-1] if counted and counted.remaining else None

    @property
    def lacks(self) -> list[tuple[StrOrPromise, StrOrPromise]]:
        """Return the proofs that cannot be had, and what to do about each."""
        return [(missing.label, self._advice(missing)) for missing in self.proof.missing]

    def _advice(self, missing: Missing) -> StrOrPromise:
        if missing is Missing.CLIENT_LIST and self.proof.look_cause not in REFUSALS:
            return _("See on the page of the cache why it does not answer.")
        return WHAT_TO_DO[missing]

    @property
    def fallback_words(self) -> StrOrPromise:
        return FALLBACK_CONSEQUENCE[self.switch.fallback]

    @property
    def load_words(self) -> str:
        """Return what falls on the database while the cache is left alone; "" where nobody knows."""
        hits = self.proof.hits_per_second
        return (
            str(_("%(rate)s lookups that the cache answered in the last hour")) % {"rate": rate(hits)} if hits else ""
        )

    @property
    def applied_words(self) -> str:
        words = ngettext("of %(count)s live instance", "of %(count)s live instances", self.live)
        return words % {"count": grouped(self.live)}

    def shown(self) -> tuple[Any, ...]:
        """Return all that the living part shows, for its fingerprint."""
        told = self.proof
        seen = [(one.name, one.standing, one.address, one.version, one.connections, one.error) for one in self.named]
        figures = (self.newest, told.connections, told.looked_at, told.hits_per_second, told.missing, told.look_failure)
        return (
            self.switch.revision,
            self.seen_revision,
            told.state,
            self.applied,
            self.silent,
            self.live,
            seen,
            figures,
        )


def is_easy(reader: Reader) -> bool:
    return reader.standing == Standing.APPLIED and not reader.error and not reader.is_still_there
